//! Lock area: one name, a path with everything below it, or every name with a common prefix.

/// Resource range that one lock covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Area {
    /// Fixed part of the name, with a normalized path.
    fixed: String,
    /// The lock is a prefix lock: any suffix may follow.
    open: bool,
}

impl Area {
    /// Parses a lock name such as `file:src/main.rs` or `workspace:*`.
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
        // A star may end a path segment: `a/*` covers what is in `a`, `a*` covers `ab` too.
        let inside = open && path.ends_with('/') && !plain.is_empty();
        let open = open || plain.is_empty();
        Area { fixed: format!("{scheme}{plain}{}", if inside { "/" } else { "" }), open }
    }

    /// The fixed part of the name.
    pub(super) fn fixed(&self) -> &str {
        &self.fixed
    }

    /// Returns true if any suffix may follow the fixed part.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Returns true if this area and the area given by its parts overlap.
    pub(super) fn overlaps(&self, fixed: &str, open: bool) -> bool {
        match (self.open, open) {
            (false, false) => holds(&self.fixed, fixed) || holds(fixed, &self.fixed),
            (true, true) => self.fixed.starts_with(fixed) || fixed.starts_with(&self.fixed),
            (true, false) => reaches(&self.fixed, fixed),
            (false, true) => reaches(fixed, &self.fixed),
        }
    }
}

/// Returns true if `other` is `path` or lies below it.
fn holds(path: &str, other: &str) -> bool {
    let rest = other.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns true if a name with this prefix can equal the path, lie below it or lie above it.
fn reaches(beginning: &str, path: &str) -> bool {
    path.starts_with(beginning) || holds(path, beginning)
}

/// Normalizes a path: drops empty and `.` segments, resolves `..`.
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
