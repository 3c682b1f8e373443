//! Workspace path: a path as the caller writes it, normalized and checked by its text alone.

use haft_model::governing::{self, Base, Governing};
use haft_model::{Code, Stop};
use serde_json::Value;

use super::{text, wrong};

/// A path from the workspace root that does not leave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkspacePath {
    /// The path as the caller wrote it; messages repeat this and nothing else.
    pub(super) written: String,
    /// The path components, with `.` and `..` resolved.
    pub(crate) names: Vec<String>,
}

impl WorkspacePath {
    /// Parses the `path` of an input.
    pub(super) fn of(input: &Value) -> Result<WorkspacePath, Stop> {
        WorkspacePath::at(text(input, "path")?)
    }

    /// Parses a path.
    pub(crate) fn at(written: &str) -> Result<WorkspacePath, Stop> {
        if written.is_empty() {
            return Err(wrong("path", "is empty; `.` is the workspace"));
        }
        if written.contains('\0') {
            return Err(wrong("path", "holds a character that no file name can hold"));
        }
        if written.starts_with('/') {
            return Err(wrong("path", "is absolute; write it from the workspace's root"));
        }
        let mut names: Vec<String> = Vec::new();
        for name in written.split('/') {
            match name {
                "" | "." => {}
                ".." if names.pop().is_none() => {
                    return Err(wrong("path", "leaves the workspace"));
                }
                ".." => {}
                name => names.push(name.to_owned()),
            }
        }
        if names.iter().any(|name| is_house(name)) {
            let message = format!("`{written}` belongs to Haft itself");
            return Err(Stop::new(Code::SandboxViolation, message).at("/path"));
        }
        Ok(WorkspacePath { written: written.to_owned(), names })
    }

    /// Whether the path can only be a folder: it ends in `/`, `.` or `..`.
    pub(super) fn is_folder(&self) -> bool {
        let last = self.written.rsplit('/').next();
        self.names.is_empty() || matches!(last, Some("" | "." | ".."))
    }

    /// A path below this one, as a caller would write it.
    pub(super) fn below(&self, rest: &str) -> String {
        match self.names.join("/") {
            names if names.is_empty() => rest.to_owned(),
            names if rest.is_empty() => names,
            names => format!("{names}/{rest}"),
        }
    }
}

/// Whether a name is Haft's state folder, at any depth and in any case.
pub(super) fn is_house(name: &str) -> bool {
    governing::is_state_folder(name)
}

/// The rule that governs a path or one of its parent folders.
pub(super) fn rule_of(names: &[String]) -> Option<&'static Governing> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut ways = (1..=names.len()).filter_map(|end| names.get(..end));
    ways.find_map(|way| governing::governing(Base::Workspace, way))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(path: &str) -> Result<String, String> {
        let place = WorkspacePath::of(&json!({"path": path}));
        place.map(|place| place.names.join("/")).map_err(|stop| stop.message)
    }

    #[test]
    fn path_is_relative_to_root_and_stays_below_it() {
        let cases = [
            ("a/b", Ok("a/b")),
            ("./a//b/", Ok("a/b")),
            ("a/../b", Ok("b")),
            (".", Ok("")),
            ("a/..", Ok("")),
            ("..a/...", Ok("..a/...")),
            ("", Err("`path` is empty; `.` is the workspace")),
            ("/a", Err("`path` is absolute; write it from the workspace's root")),
            ("..", Err("`path` leaves the workspace")),
            ("a/../../b", Err("`path` leaves the workspace")),
            ("a\0b", Err("`path` holds a character that no file name can hold")),
        ];
        for (path, expected) in cases {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(names(path), expected, "{path:?}");
        }
    }

    #[test]
    fn state_folder_and_governing_files_match_in_any_case() {
        assert!(is_house(".haft") && is_house(".HAFT") && !is_house("haft"));
        let names = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        for row in governing::rows(Base::Workspace) {
            let path = row.pattern.replace('*', "a").to_uppercase();
            assert!(rule_of(&names(&format!("{path}/x"))).is_some(), "{path}");
            assert!(rule_of(&names(&format!("x/{path}"))).is_none(), "{path}");
        }
        assert!(rule_of(&names("x/.git/index")).is_some());
        assert!(rule_of(&names("x/.gitignore")).is_none());
    }
}
