//! A place in the workspace as a caller writes it: checked by its letters alone.

use haft_model::{Code, Stop};
use serde_json::Value;

use super::{text, wrong};

/// The folder of Haft itself, which no tool sees.
pub(super) const HOUSE: &str = ".haft";

/// What the workspace is governed by; a tool must not rewrite the rules it runs under.
const RULES: [&str; 8] = [
    "haft.lock",
    "haft.toml",
    ".tools",
    ".drivers",
    ".policy",
    ".actions",
    ".hooks",
    "governance.md",
];

/// A path from the workspace's root that does not leave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// As the caller wrote it; messages repeat this and nothing else.
    pub(super) written: String,
    /// The names on the way, `.` and `..` worked out.
    pub(crate) names: Vec<String>,
}

impl Place {
    /// The place that an input's `path` names.
    pub(super) fn of(input: &Value) -> Result<Place, Stop> {
        Place::at(text(input, "path")?)
    }

    /// The place that a path names.
    pub(crate) fn at(written: &str) -> Result<Place, Stop> {
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
        Ok(Place { written: written.to_owned(), names })
    }

    /// Whether it can only be a folder, because it ends as one.
    pub(super) fn is_folder(&self) -> bool {
        let last = self.written.rsplit('/').next();
        self.names.is_empty() || matches!(last, Some("" | "." | ".."))
    }

    /// The place below it, as a caller would write it.
    pub(super) fn below(&self, rest: &str) -> String {
        match self.names.join("/") {
            names if names.is_empty() => rest.to_owned(),
            names if rest.is_empty() => names,
            names => format!("{names}/{rest}"),
        }
    }
}

/// Whether a file of this name belongs to Haft itself, at any depth and in any case.
pub(super) fn is_house(name: &str) -> bool {
    name.eq_ignore_ascii_case(HOUSE)
}

/// Whether the names lead to something that the workspace is governed by.
pub(super) fn is_rule<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
    let first = names.next().unwrap_or_default();
    RULES.iter().any(|rule| first.eq_ignore_ascii_case(rule))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(path: &str) -> Result<String, String> {
        let place = Place::of(&json!({"path": path}));
        place.map(|place| place.names.join("/")).map_err(|stop| stop.message)
    }

    #[test]
    fn a_place_is_written_from_the_root_and_stays_below_it() {
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
    fn the_house_and_the_rules_are_known_in_any_case() {
        assert!(is_house(".haft") && is_house(".HAFT") && !is_house("haft"));
        for rule in RULES {
            assert!(is_rule([rule.to_uppercase().as_str(), "x"].into_iter()), "{rule}");
            assert!(!is_rule(["x", rule].into_iter()), "{rule}");
        }
    }
}
