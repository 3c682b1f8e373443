//! What governs: the paths that decide what programs, editors and Haft itself do next.
//!
//! One table says it for the loader, the builtin tools, the sandbox and imports, so that nothing is
//! read as a rule by one of them and taken for an ordinary file by another.

mod spelling;
mod table;
#[cfg(test)]
mod tests;

use spelling::{is_candidate, is_same};
use table::{ANYWHERE, HOME, WORKSPACE};

/// The folder of Haft itself, which no tool sees.
pub const STATE_FOLDER: &str = ".haft";

/// The settings of a workspace.
pub const SETTINGS_FILE: &str = "haft.toml";

/// What people accepted of a workspace's contracts.
pub const LOCK_FILE: &str = "haft.lock";

/// The folders of a workspace that hold manifests.
pub const MANIFEST_FOLDERS: [&str; 7] =
    [".tools", ".drivers", ".actions", ".policy", ".cli", ".secrets", ".governance"];

/// Manifests that lie at the root of a workspace.
pub const MANIFEST_FILES: [&str; 3] = ["GOVERNANCE.md", "SECRETS.md", "AUTH.md"];

/// The `mutates` entry of a contract that may change the configuration of version control.
pub const GIT_CONFIG: &str = "git:config";

/// One row of the table: what governs, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Governing {
    /// Its names from its base, with `*` for one of them and `**` for any number.
    pub pattern: &'static str,
    /// What it is.
    pub kind: GoverningKind,
    /// How much of it governs.
    pub extent: Extent,
    /// What it would let a program do that may write it.
    pub reason: &'static str,
}

/// What a governing path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GoverningKind {
    /// A manifest, or a folder of them.
    Manifest,
    /// The settings of a workspace.
    Settings,
    /// What people accepted.
    Lock,
    /// What Haft keeps for itself.
    State,
    /// The configuration and the hooks of version control.
    VersionControl,
    /// What sets up an environment when a folder is entered.
    Environment,
    /// What an editor executes.
    Editor,
    /// What a continuous integration executes, or a hook of a commit.
    Pipeline,
    /// The configuration of a client of Haft or of other MCP servers.
    Client,
    /// What a shell or a session executes when it starts.
    Startup,
    /// Keys and the configuration of those who use them.
    Credentials,
    /// A file that a hook or a driver executes.
    Program,
}

/// How much of a governing path governs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// It and everything below it.
    Whole,
    /// Only that it is there, or that it is a file: what a folder holds has rows of its own.
    Entry,
}

/// What a path is written from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// The root of a workspace.
    Workspace,
    /// The home of a person.
    Home,
    /// Any other folder, of which only what governs at every depth is known.
    Folder,
}

/// Everything that governs from a base, beside what governs at every depth.
pub fn rows(base: Base) -> &'static [Governing] {
    match base {
        Base::Workspace => WORKSPACE,
        Base::Home => HOME,
        Base::Folder => &[],
    }
}

/// The row that a path is governed by, given by its names from a base. Names are compared as the
/// most lenient file system would, so a spelling can only protect too much.
pub fn governing(base: Base, names: &[&str]) -> Option<&'static Governing> {
    let from_base = rows(base).iter().find(|row| row.holds(names));
    from_base.or_else(|| {
        let starts = names.iter().enumerate().filter(|(_, name)| is_candidate(name));
        let mut tails = starts.filter_map(|(start, _)| names.get(start..));
        tails.find_map(|tail| ANYWHERE.iter().find(|row| row.holds(tail)))
    })
}

/// Whether anything below a folder could govern by where it lies, and not by its own name alone.
pub fn leads_to_governing(base: Base, names: &[&str]) -> bool {
    rows(base).iter().any(|row| row.begins(names))
        || names.iter().enumerate().any(|(start, name)| {
            let tail = names.get(start..).unwrap_or_default();
            is_candidate(name) && ANYWHERE.iter().any(|row| row.begins(tail))
        })
}

/// Whether a name is that of Haft's own folder, in any spelling.
pub fn is_state_folder(name: &str) -> bool {
    is_same(STATE_FOLDER, name)
}

/// Whether a name could govern wherever it stands. Most names cannot, and this is cheap to ask.
pub fn could_govern_anywhere(name: &str) -> bool {
    is_candidate(name)
}

impl Governing {
    /// Whether names lead to it, or below it where all of it governs.
    fn holds(&self, names: &[&str]) -> bool {
        matches(&mut self.pattern.split('/'), names, |rest| match self.extent {
            Extent::Whole => true,
            Extent::Entry => rest.is_empty(),
        })
    }

    /// Whether names are the beginning of a way to it.
    fn begins(&self, names: &[&str]) -> bool {
        let mut pattern = self.pattern.split('/');
        for name in names {
            match pattern.next() {
                Some("**") => return true,
                Some(step) if is_same(step, name) => {}
                Some(_) | None => return false,
            }
        }
        pattern.next().is_some()
    }
}

/// Whether names go along a pattern to its end; what is left of them is for the caller to judge.
fn matches<'p, P: Iterator<Item = &'p str> + Clone>(
    pattern: &mut P,
    names: &[&str],
    rest: impl Fn(&[&str]) -> bool + Copy,
) -> bool {
    let Some(step) = pattern.next() else { return rest(names) };
    if step == "**" {
        return (0..=names.len()).any(|start| {
            names.get(start..).is_some_and(|tail| matches(&mut pattern.clone(), tail, rest))
        });
    }
    names
        .split_first()
        .is_some_and(|(name, tail)| is_same(step, name) && matches(pattern, tail, rest))
}
