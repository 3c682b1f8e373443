//! Path policy check: the guard checks the path of a file after every symlink is resolved.

use std::fs::File;
use std::path::PathBuf;

use haft_driver::{PathTarget, TargetGuard, WritablePath};
use haft_model::Stop;
use rustix::io::Errno;
use serde_json::Value;

use super::place::WorkspacePath;
use super::refusal::PathRefusal;
use super::root::{Root, Spot, open_entry};
use crate::sandbox_opening::state_targets;

impl Root {
    /// The resolved path of a place, for the policy.
    pub(crate) fn target(&self, place: &WorkspacePath) -> PathTarget {
        match self.find(place) {
            Ok(spot) => PathTarget::Resolved(spot.trail().join("/")),
            Err(_) => PathTarget::Unresolved,
        }
    }

    /// The targets of a driver's own state, as its manifest states it.
    pub(crate) fn state_targets(&self, stated: &[String]) -> Vec<WritablePath> {
        let root = std::fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let home = (self.variable)("HOME").map(PathBuf::from);
        state_targets(stated, &root, home.as_deref()).collect()
    }

    /// Resolves a place and checks it against the guard, so that the checked file is the used file.
    pub(super) fn find_guarded(
        &self,
        place: &WorkspacePath,
        guard: &TargetGuard,
    ) -> Result<Spot, Stop> {
        let spot = self.find(place).map_err(|refusal| refusal.about(place))?;
        if !guard.is_empty() {
            guard.named_path(&spot.trail().join("/"))?;
        }
        Ok(spot)
    }

    /// Opens for reading the very file that the guard checked.
    pub(crate) fn open_guarded(
        &self,
        place: &WorkspacePath,
        guard: &TargetGuard,
    ) -> Result<(File, u64), Stop> {
        let refused = |refusal: PathRefusal| refusal.about(place);
        if guard.is_empty() {
            return self.open_file(place).map_err(refused);
        }
        match self.find_guarded(place, guard)? {
            Spot::Folder(_) => Err(refused(PathRefusal::IsFolder)),
            Spot::Missing(..) => Err(refused(Errno::NOENT.into())),
            Spot::Entry(entry) => open_entry(&entry.folder, &entry.name).map_err(refused),
        }
    }
}

/// The prefix for paths below a folder.
pub(super) fn below(trail: &[String]) -> String {
    trail.iter().map(|name| format!("{name}/")).collect()
}

/// Adds to a result how many entries the policy withholds, if any.
pub(super) fn count_withheld(answer: &mut Value, withheld: u64) {
    if let Some(fields) = answer.as_object_mut().filter(|_| withheld > 0) {
        fields.insert("withheld".to_owned(), withheld.into());
    }
}
