//! Where programs run: the workspace, and what stands between them and this machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use haft_sandbox::{AddressGuard, Protection, Walls};
use serde_json::Value;

/// The folder in which programs of a workspace run.
#[derive(Clone, Debug)]
pub struct WorkingFolder {
    /// The workspace.
    pub root: PathBuf,
    /// What of it no program sees.
    pub hidden: Vec<PathBuf>,
    /// Files of it that hooks and drivers execute, which no program writes.
    pub programs: Vec<PathBuf>,
    /// What stands between a program and this machine.
    pub walls: Walls,
    /// Which addresses stay closed, whatever is declared.
    pub guard: AddressGuard,
    /// The environment of Haft itself, of which programs get what they declare.
    pub variable: fn(&str) -> Option<String>,
    /// Those variables of it that hold secrets of the workspace, which only its vault gives out.
    pub secrets: BTreeSet<String>,
}

impl WorkingFolder {
    /// Whether programs of both see the same and may do the same.
    pub fn is(&self, other: &WorkingFolder) -> bool {
        let WorkingFolder { root, hidden, programs, walls, guard, variable: _, secrets } = self;
        let same = (root, hidden, programs) == (&other.root, &other.hidden, &other.programs);
        same && (walls, guard, secrets) == (&other.walls, &other.guard, &other.secrets)
    }

    /// The workspace by its real name, since a sandbox shows places and not links.
    pub(crate) fn real_root(&self) -> io::Result<PathBuf> {
        fs::canonicalize(&self.root)
    }

    /// What a program here is known by, which says so where nothing confines it.
    pub(crate) fn told(&self, mut native: Value) -> Value {
        if let (Walls::Off, Some(fields)) = (&self.walls, native.as_object_mut()) {
            fields.insert("unconfined".to_owned(), Value::Bool(true));
        }
        native
    }

    /// What of a folder no program sees.
    pub(crate) fn hidden_in(&self, root: &Path) -> Vec<PathBuf> {
        self.hidden.iter().map(|path| root.join(path)).collect()
    }

    /// What governs in a folder, with the programs that its rules name.
    pub(crate) fn protection(&self, root: &Path) -> Protection {
        let programs = self.programs.iter().map(|path| root.join(path)).collect();
        Protection::of(root, self.variable).with_programs(programs)
    }

    /// Where a program is: a name is looked up among the system's, a path begins at the workspace.
    pub(crate) fn program(&self, root: &Path, program: &str) -> PathBuf {
        if !program.contains('/') {
            return PathBuf::from(program);
        }
        let path = root.join(program);
        fs::canonicalize(&path).unwrap_or(path)
    }
}
