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

    /// The part of the name that is fixed.
    pub(super) fn fixed(&self) -> &str {
        &self.fixed
    }

    /// Whether anything may follow the fixed part.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Whether this and another one, given by its parts, are about something in common.
    pub(super) fn overlaps(&self, fixed: &str, open: bool) -> bool {
        match (self.open, open) {
            (false, false) => holds(&self.fixed, fixed) || holds(fixed, &self.fixed),
            (true, true) => self.fixed.starts_with(fixed) || fixed.starts_with(&self.fixed),
            (true, false) => reaches(&self.fixed, fixed),
            (false, true) => reaches(fixed, &self.fixed),
        }
    }
}

/// Whether the other is the same path or one below it.
fn holds(path: &str, other: &str) -> bool {
    let rest = other.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether something that begins like this is the path, or is below it, or above it.
fn reaches(beginning: &str, path: &str) -> bool {
    path.starts_with(beginning) || holds(path, beginning)
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
