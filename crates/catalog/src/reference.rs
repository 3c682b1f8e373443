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
        if is_file(&candidate) {
            candidates.push(candidate.clone());
        }
        // A folder may be called like a file: it has the name of a tool's id.
        if candidate.rsplit('/').next() != Some(file_name) {
            candidates.push(format!("{}/{file_name}", candidate.trim_end_matches('/')));
        }
    }
    candidates
}

/// Whether a reference is a path and not a name: a tool's id may end with `.md` as well.
pub(crate) fn is_path(reference: &str) -> bool {
    let named = |file: &str| reference == file;
    reference.starts_with("./")
        || reference.starts_with("../")
        || is_file(reference) && (reference.contains('/') || named("TOOL.md") || named("ACTION.md"))
}

fn is_file(path: &str) -> bool {
    path.ends_with(".md")
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

    #[test]
    fn id_that_ends_like_a_file_is_no_path() {
        let cases = [
            ("web.md", false),
            ("web.fetch", false),
            ("TOOL.md", true),
            ("./web.md", true),
            ("../web.md/TOOL.md", true),
            ("tools/web.md", true),
        ];
        for (reference, expected) in cases {
            assert_eq!(is_path(reference), expected, "{reference}");
        }
        assert_eq!(
            paths("./tools/web.md", ".drivers/d/DRIVER.md", "TOOL.md").get(..2).unwrap(),
            ["tools/web.md", "tools/web.md/TOOL.md"]
        );
    }
}
