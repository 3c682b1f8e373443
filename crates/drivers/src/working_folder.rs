//! Working folder: the workspace that programs run in, and the sandbox around them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use haft_sandbox::{AddressGuard, Protection, Walls};
use serde_json::Value;

/// The folder in which programs of a workspace run.
#[derive(Clone, Debug)]
pub struct WorkingFolder {
    /// The workspace root.
    pub root: PathBuf,
    /// Paths that no program sees, relative to the root.
    pub hidden: Vec<PathBuf>,
    /// Files that hooks and drivers execute and that no program writes, relative to the root.
    pub programs: Vec<PathBuf>,
    /// The sandbox around a program.
    pub walls: Walls,
    /// The addresses that stay blocked, whatever a driver declares.
    pub guard: AddressGuard,
    /// Reads Haft's own environment, of which programs get the variables that they declare.
    pub variable: fn(&str) -> Option<String>,
    /// Variables of that environment that hold secrets of the workspace, which only its vault gives
    /// out.
    pub secrets: BTreeSet<String>,
}

impl WorkingFolder {
    /// Whether programs of both see and may do the same.
    pub fn is(&self, other: &WorkingFolder) -> bool {
        let WorkingFolder { root, hidden, programs, walls, guard, variable: _, secrets } = self;
        let same = (root, hidden, programs) == (&other.root, &other.hidden, &other.programs);
        same && (walls, guard, secrets) == (&other.walls, &other.guard, &other.secrets)
    }

    /// The workspace's real path, since a sandbox mounts paths and not symlinks.
    pub(crate) fn real_root(&self) -> io::Result<PathBuf> {
        fs::canonicalize(&self.root)
    }

    /// Adds to a native identity that nothing confines the program, where the sandbox is off.
    pub(crate) fn told(&self, mut native: Value) -> Value {
        if let (Walls::Off, Some(fields)) = (&self.walls, native.as_object_mut()) {
            fields.insert("unconfined".to_owned(), Value::Bool(true));
        }
        native
    }

    /// The paths of a folder that no program sees.
    pub(crate) fn hidden_in(&self, root: &Path) -> Vec<PathBuf> {
        self.hidden.iter().map(|path| root.join(path)).collect()
    }

    /// The files that govern in a folder, with the programs that its rules name.
    pub(crate) fn protection(&self, root: &Path) -> Protection {
        let programs = self.programs.iter().map(|path| root.join(path)).collect();
        Protection::of(root, self.variable).with_programs(programs)
    }

    /// The path of a program: a bare name is looked up in the system, a path begins at the
    /// workspace.
    pub(crate) fn program(&self, root: &Path, program: &str) -> PathBuf {
        if !program.contains('/') {
            return PathBuf::from(program);
        }
        let path = root.join(program);
        fs::canonicalize(&path).unwrap_or(path)
    }
}
