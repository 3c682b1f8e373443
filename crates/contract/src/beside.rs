//! Relative paths: resolves the path by which one manifest names another.

/// Resolves a path written in a file against the workspace's root; `None` when it leaves the
/// workspace.
pub fn beside(file: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop()?;
            }
            name => steps.push(name),
        }
    }
    Some(steps.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_resolves_from_its_manifest_and_stays_inside_workspace() {
        let holder = ".drivers/d/DRIVER.md";
        for (path, expected) in [
            ("./SECRETS.md", Some(".drivers/d/SECRETS.md")),
            ("../../.tools//x/TOOL.md", Some(".tools/x/TOOL.md")),
            ("../../../etc/passwd", None),
            ("a/../../../../b", None),
            ("/etc/passwd", None),
        ] {
            assert_eq!(beside(holder, path).as_deref(), expected, "{path}");
        }
        assert_eq!(beside("GOVERNANCE.md", "./x").as_deref(), Some("x"));
    }
}
