//! What a lock covers: one name, everything below a path, or everything that begins alike.

/// The part of the world that one lock is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Area {
    /// The name as far as it is fixed, with its path in the plainest spelling.
    fixed: String,
    /// Whether anything may follow.
    open: bool,
}

impl Area {
    /// Reads a name such as `file:src/main.rs` or `workspace:*`.
    pub(super) fn of(name: &str) -> Area {
        let (scheme, path) = match name.split_once(':') {
            Some((scheme, path)) => (format!("{scheme}:"), path),
            None => (String::new(), name),
        };
        let (path, open) = match path.split_once('*') {
            Some((path, _)) => (path, true),
            None => (path, false),
        };
        let plain = plain(path);
        // A star may stand in the middle of a name: `a/*` is what is in `a`, `a*` is `ab` too.
        let inside = open && path.ends_with('/') && !plain.is_empty();
        let open = open || plain.is_empty();
        Area { fixed: format!("{scheme}{plain}{}", if inside { "/" } else { "" }), open }
    }

    /// Whether both are about something in common.
    pub(super) fn overlaps(&self, other: &Area) -> bool {
        match (self.open, other.open) {
            (false, false) => self.holds(other) || other.holds(self),
            (true, true) => {
                self.fixed.starts_with(&other.fixed) || other.fixed.starts_with(&self.fixed)
            }
            (true, false) => self.reaches(other),
            (false, true) => other.reaches(self),
        }
    }

    /// Whether the other is the same path or one below it.
    fn holds(&self, other: &Area) -> bool {
        let rest = other.fixed.strip_prefix(&self.fixed);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether something that begins like this is the other, or is below it, or above it.
    fn reaches(&self, fixed: &Area) -> bool {
        fixed.fixed.starts_with(&self.fixed) || fixed.holds(self)
    }
}

/// A path without empty steps, steps to itself, and steps back.
fn plain(path: &str) -> String {
    let mut steps = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    steps.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_covers_what_is_below_it_and_nothing_beside_it() {
        let cases = [
            ("file:a", "file:a", true),
            ("file:a", "file:a/b", true),
            ("file:a", "file:ab", false),
            ("file:a", "file:b", false),
            ("file:a/b", "file:a/c", false),
            ("file:a", "note:a", false),
            ("file:./a//b/", "file:a/b", true),
            ("file:a/../b", "file:b", true),
            ("workspace:*", "workspace:src/a", true),
            ("workspace:*", "workspace:*", true),
            ("workspace:*", "file:a", false),
            ("workspace:", "workspace:a", true),
            ("file:src/*", "file:src/a", true),
            ("file:src/*", "file:src", true),
            ("file:src/*", "file:srcs", false),
            ("file:src/**", "file:lib/a", false),
            ("file:s*", "file:src/a", true),
            ("file:src/a*", "file:src", true),
            ("file:src/*", "file:src/deep/*", true),
            ("tool:note.show@1", "tool:note.show@2", false),
        ];
        for (one, other, expected) in cases {
            let (left, right) = (Area::of(one), Area::of(other));
            assert_eq!(
                (left.overlaps(&right), right.overlaps(&left)),
                (expected, expected),
                "{one} {other}"
            );
        }
    }
}
