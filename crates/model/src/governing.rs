//! Protected paths: the files that decide what programs, editors and Haft itself do next.
//!
//! The loader, the builtin tools, the sandbox and imports share one table, so none of them reads as
//! a rule what another takes for an ordinary file.

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

/// Accepted contracts of a workspace.
pub const LOCK_FILE: &str = "haft.lock";

/// The folders of a workspace that hold manifests.
pub const MANIFEST_FOLDERS: [&str; 7] =
    [".tools", ".drivers", ".actions", ".policy", ".cli", ".secrets", ".governance"];

/// Manifests that lie at the root of a workspace.
pub const MANIFEST_FILES: [&str; 3] = ["GOVERNANCE.md", "SECRETS.md", "AUTH.md"];

/// The `mutates` entry of a contract that may change the configuration of version control.
pub const GIT_CONFIG: &str = "git:config";

/// One row of the table: a protected path, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Governing {
    /// Its path from the base, with `*` for one segment and `**` for any number.
    pub pattern: &'static str,
    /// Kind of the path.
    pub kind: GoverningKind,
    /// How much of it is protected.
    pub extent: Extent,
    /// What write access to it would let a program do.
    pub reason: &'static str,
}

/// Kind of a protected path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GoverningKind {
    /// A manifest, or a folder of them.
    Manifest,
    /// The settings of a workspace.
    Settings,
    /// Accepted contracts.
    Lock,
    /// Haft's own state.
    State,
    /// Configuration and hooks of version control.
    VersionControl,
    /// A file that sets up an environment when a folder is entered.
    Environment,
    /// A file that an editor executes.
    Editor,
    /// A file that continuous integration or a commit hook executes.
    Pipeline,
    /// Configuration of an MCP client.
    Client,
    /// A file that a shell or a session executes at startup.
    Startup,
    /// Keys, and the configuration of programs that use them.
    Credentials,
    /// A file that a hook or a driver executes.
    Program,
}

/// How much of a path is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// It and everything below it.
    Whole,
    /// Only the entry itself: what a folder holds has rows of its own.
    Entry,
}

/// Base that a path is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// The root of a workspace.
    Workspace,
    /// A person's home folder.
    Home,
    /// Any other folder, where only the rows for every depth apply.
    Folder,
}

/// The rows of a base, without those for every depth.
pub fn rows(base: Base) -> &'static [Governing] {
    match base {
        Base::Workspace => WORKSPACE,
        Base::Home => HOME,
        Base::Folder => &[],
    }
}

/// The row that protects a path, given by its names from a base. Names compare as on the most
/// lenient file system, so a spelling can only protect too much.
pub fn governing(base: Base, names: &[&str]) -> Option<&'static Governing> {
    let from_base = rows(base).iter().find(|row| row.holds(names));
    from_base.or_else(|| {
        let starts = names.iter().enumerate().filter(|(_, name)| is_candidate(name));
        let mut tails = starts.filter_map(|(start, _)| names.get(start..));
        tails.find_map(|tail| ANYWHERE.iter().find(|row| row.holds(tail)))
    })
}

/// Whether a path below a folder could be protected by its location, and not by its own name alone.
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

/// Whether a name could be protected at any depth. Most names cannot, and this check is cheap.
pub fn could_govern_anywhere(name: &str) -> bool {
    is_candidate(name)
}

impl Governing {
    /// Whether names match the row, or a path below it where all of it is protected.
    fn holds(&self, names: &[&str]) -> bool {
        matches(&mut self.pattern.split('/'), names, |rest| match self.extent {
            Extent::Whole => true,
            Extent::Entry => rest.is_empty(),
        })
    }

    /// Whether names are a prefix of a path to it.
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

/// Whether names match a pattern to its end; the caller judges the remaining names.
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
