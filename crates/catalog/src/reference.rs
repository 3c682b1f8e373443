//! References between manifests: an id, `id@major`, or the path of a file.

use haft_contract::beside;

/// What a reference may mean, most exact first: the path as it is, relative to the file that holds
/// it, and under the dotted folder that the workspace uses (`./tools/x` for `.tools/x`).
pub(crate) fn paths(reference: &str, holder: &str, file_name: &str) -> Vec<String> {
    let mut candidates = Vec::new();
    let trimmed = reference.trim_start_matches("./");
    let beside = beside(holder, reference);
    for candidate in
        [Some(trimmed.to_owned()), beside, Some(format!(".{trimmed}"))].into_iter().flatten()
    {
        let full = if candidate.ends_with(".md") {
            candidate
        } else {
            format!("{}/{file_name}", candidate.trim_end_matches('/'))
        };
        candidates.push(full);
    }
    candidates
}

/// Whether a reference is a path and not a name.
pub(crate) fn is_path(reference: &str) -> bool {
    reference.starts_with("./") || reference.starts_with("../") || reference.ends_with(".md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_resolves_as_is_beside_manifest_and_dotted_folder() {
        assert_eq!(
            paths("./tools/x/TOOL.md", ".drivers/d/DRIVER.md", "TOOL.md"),
            ["tools/x/TOOL.md", ".drivers/d/tools/x/TOOL.md", ".tools/x/TOOL.md"]
        );
        assert_eq!(
            paths("../../.tools/x", ".drivers/d/DRIVER.md", "TOOL.md").get(1).unwrap(),
            ".tools/x/TOOL.md"
        );
    }
}
