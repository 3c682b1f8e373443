//! Lock writer: writes `haft.lock` when a person accepts. Nothing else writes it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use haft_catalog::CatalogEntry;
use haft_contract::Lock;
use haft_model::ToolKey;

use super::side::LOCK_FILE;
use super::upstream;
use crate::{Error, Workspace};

impl Workspace {
    /// Accepts contracts as they are now: all majors of an id, one `id@major`, or everything, which is
    /// every contract and what governs them.
    ///
    /// Over a damaged lock only everything can be accepted: writing one entry would drop the others.
    pub fn accept(&self, name: Option<&str>) -> Result<Vec<ToolKey>, Error> {
        if name.is_some() && self.lock.value.damaged {
            return Err(Error::DamagedLock);
        }
        let wanted = name.map(ToolKey::split);
        let mut lock = Lock { damaged: false, ..Lock::clone(&self.lock.value) };
        let mut accepted = Vec::new();
        let mut given = None;
        for entry in self.snapshot().entries() {
            let key = entry.contract.key();
            let is_selected = match wanted {
                None => true,
                Some((id, major)) => key.id.as_str() == id && major.is_none_or(|m| m == key.major),
            };
            if is_selected && is_program_only(entry) {
                given = Some(key);
            } else if is_selected {
                let invalid =
                    entry.block.as_ref().filter(|block| block.reason == "contract_invalid");
                if let (Some(block), Some(_)) = (invalid, name) {
                    return Err(Error::Invalid { reason: block.message.clone() });
                }
                if invalid.is_some() {
                    continue;
                }
                lock.tools.insert(key.to_string(), Arc::new(entry.acceptance()));
                upstream::accept(self.root(), entry, &mut lock);
                accepted.push(key.clone());
            }
        }
        if let (Some(name), true) = (name, accepted.is_empty()) {
            return Err(match given {
                Some(key) => Error::Given { name: key.to_string() },
                None => Error::NoTool { name: name.to_owned() },
            });
        }
        if name.is_none() {
            self.put_governing(&mut lock);
        }
        write(self.root(), &lock)?;
        Ok(accepted)
    }

    /// Accepts the new contracts, the new drivers and the governing files among some files, given from
    /// the workspace's root: for a command that a person ran to write them. What was accepted before stays as it was, and what
    /// else is new in the workspace stays new. Over a damaged lock nothing is accepted.
    pub fn accept_written(&self, files: &[&str]) -> Result<Vec<ToolKey>, Error> {
        if self.lock.value.damaged {
            return Ok(Vec::new());
        }
        let mut lock = Lock::clone(&self.lock.value);
        let mut accepted = Vec::new();
        let invalid = |entry: &CatalogEntry| {
            entry.block.as_ref().is_some_and(|block| block.reason == "contract_invalid")
        };
        for entry in self.snapshot().entries().filter(|entry| !invalid(entry)) {
            if let Some(entire) = entry.acceptance_of_files(|file| files.contains(&file)) {
                let key = entry.contract.key();
                lock.tools.insert(key.to_string(), Arc::new(entire));
                accepted.push(key.clone());
            }
        }
        self.put_written(files, &mut lock);
        if lock != *self.lock.value {
            write(self.root(), &lock)?;
        }
        Ok(accepted)
    }
}

/// Whether the contract and every driver of it come with the program, so that there is nothing to
/// accept.
fn is_program_only(entry: &CatalogEntry) -> bool {
    entry.is_given() && entry.bindings.iter().all(|binding| binding.given)
}

/// Writes a file of Haft's own beside and renames, so that a crash leaves the old one or the new one.
pub(super) fn write_own(path: &Path, lock: &Lock) -> Result<(), Error> {
    let beside = path.with_extension(format!("lock.{}", std::process::id()));
    let written = fs::write(&beside, lock.write()).and_then(|()| fs::rename(&beside, path));
    written.map_err(|cause| {
        let _ = fs::remove_file(&beside);
        Error::Unwritable { path: path.to_owned(), cause }
    })
}

/// Writes the lock of a workspace, so that no program that runs meanwhile gets to write it.
pub(super) fn write(workspace: &Path, lock: &Lock) -> Result<(), Error> {
    let written = haft_sandbox::write_rule(workspace, LOCK_FILE, lock.write().as_bytes());
    written.map_err(|cause| Error::Unwritable { path: workspace.join(LOCK_FILE), cause })
}
