//! Writing `haft.lock`, when somebody accepts.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::Lock;
use haft_model::ToolKey;

use super::side::LOCK;
use super::upstream;
use crate::{Error, Workspace};

const NAME: &str = "haft.lock";

impl Workspace {
    /// Accepts contracts as they are now: all majors of an id, one `id@major`, or everything.
    ///
    /// Over a damaged lock only everything can be accepted: writing one entry would drop the others.
    pub fn accept(&self, name: Option<&str>) -> Result<Vec<ToolKey>, Error> {
        if name.is_some() && self.lock.value.damaged {
            return Err(Error::DamagedLock);
        }
        let wanted = name.map(ToolKey::split);
        let mut lock = Lock { damaged: false, ..self.newest_lock() };
        let mut accepted = Vec::new();
        let mut given = None;
        for entry in self.snapshot().entries() {
            let key = entry.contract.key();
            let meant = match wanted {
                None => true,
                Some((id, major)) => key.id.as_str() == id && major.is_none_or(|m| m == key.major),
            };
            if meant && entry.is_given() {
                given = Some(key);
            } else if meant {
                let invalid =
                    entry.block.as_ref().filter(|block| block.reason == "contract_invalid");
                if let (Some(block), Some(_)) = (invalid, name) {
                    return Err(Error::Invalid { reason: block.message.clone() });
                }
                if invalid.is_some() {
                    continue;
                }
                lock.tools.insert(key.to_string(), Arc::new(entry.acceptance()));
                upstream::of(entry).for_each(|id| lock.accept_upstream(&id));
                accepted.push(key.clone());
            }
        }
        if let (Some(name), true) = (name, accepted.is_empty()) {
            return Err(match given {
                Some(key) => Error::Given { name: key.to_string() },
                None => Error::NoTool { name: name.to_owned() },
            });
        }
        write(self.root(), &lock)?;
        Ok(accepted)
    }

    /// Records contracts and drivers that nobody has seen before: they are accepted at first sight.
    pub fn accept_unseen(&self) -> Result<usize, Error> {
        if self.lock.value.damaged {
            return Ok(0);
        }
        let mut lock = self.newest_lock();
        let mut unseen = 0;
        for entry in self.snapshot().entries().filter(|entry| entry.block.is_none()) {
            let new = entry.is_new().then(|| entry.acceptance());
            if let Some(accepted) = new.or_else(|| entry.acceptance_with_new_drivers()) {
                lock.tools.insert(entry.contract.key().to_string(), Arc::new(accepted));
                unseen += 1;
            }
        }
        if unseen > 0 {
            write(self.root(), &lock)?;
        }
        Ok(unseen)
    }

    /// The lock as it was read, with what calls have seen of servers since.
    fn newest_lock(&self) -> Lock {
        let mut lock = Lock::clone(&self.lock.value);
        if let Ok(newest) = LOCK.load(self.root(), None) {
            lock.upstream = newest.value.upstream.clone();
        }
        lock
    }
}

/// Writes beside and renames, so that a crash leaves the old lock or the new one.
pub(super) fn write(root: &Path, lock: &Lock) -> Result<(), Error> {
    let path = root.join(NAME);
    let beside = root.join(format!("{NAME}.{}", std::process::id()));
    let write = |beside: &PathBuf| -> std::io::Result<()> {
        let mut file = fs::File::create(beside)?;
        file.write_all(lock.write().as_bytes())?;
        file.sync_all()?;
        fs::rename(beside, &path)
    };
    write(&beside).map_err(|cause| {
        let _ = fs::remove_file(&beside);
        Error::Unwritable { path: path.clone(), cause }
    })
}
