//! Encrypted store: keeps a workspace's secrets in one file; the key is stored apart from it.
//!
//! INVARIANT: a change replaces the file atomically, under a lock across processes. Plaintext is
//! written nowhere else.

mod contents;
mod key;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use haft_model::{Code, Secret, Stop, Timestamp};

use contents::Contents;
pub use contents::Holder;
pub use key::KeyPlace;

/// A file of secrets, encrypted with a key.
#[derive(Clone, Debug)]
pub struct Strongbox {
    file: PathBuf,
    key: KeyPlace,
}

/// Exclusive access to the store across processes, until it is dropped.
pub struct StoreTransaction<'a> {
    strongbox: &'a Strongbox,
    contents: Contents,
    /// The file lock, held until it is closed.
    _lock: File,
}

impl Strongbox {
    /// The store in a file. Neither the file nor the key has to exist.
    pub fn new(file: PathBuf, key: KeyPlace) -> Strongbox {
        Strongbox { file, key }
    }

    /// The path of the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The value of a secret for a holder; `None` for the shared value.
    pub fn value(&self, slug: &str, holder: Option<&str>) -> Result<Option<Secret>, Stop> {
        Ok(self.contents()?.value(slug, holder))
    }

    /// The holders of all values, without the values.
    pub fn holders(&self) -> Result<Vec<Holder>, Stop> {
        Ok(self.contents()?.holders())
    }

    /// Waits for the lock and reads the contents. Saving creates the key where there is none.
    pub fn change(&self) -> Result<StoreTransaction<'_>, Stop> {
        let lock = self.locked("lock").map_err(|fault| unwritable(&self.file, &fault))?;
        let contents = match self.closed()? {
            Some(closed) => Contents::open(&closed, &self.key.load()?, &self.file)?,
            None => Contents::default(),
        };
        Ok(StoreTransaction { strongbox: self, contents, _lock: lock })
    }

    /// Locks token refresh across processes until the lock is dropped.
    pub(super) fn lock_out(&self) -> Result<File, Stop> {
        self.locked("renewing").map_err(|fault| unwritable(&self.file, &fault))
    }

    fn contents(&self) -> Result<Contents, Stop> {
        match self.closed()? {
            Some(closed) => Contents::open(&closed, &self.key.load()?, &self.file),
            None => Ok(Contents::default()),
        }
    }

    /// The encrypted file; `None` where nothing was ever stored.
    fn closed(&self) -> Result<Option<String>, Stop> {
        match fs::read_to_string(&self.file) {
            Ok(closed) => Ok(Some(closed)),
            Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(None),
            Err(fault) => {
                let words = format!("`{}` cannot be read: {fault}", self.file.display());
                Err(Stop::new(Code::SetupRequired, words))
            }
        }
    }

    fn locked(&self, extension: &str) -> io::Result<File> {
        if let Some(folder) = self.file.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut options = OpenOptions::new();
        let path = self.file.with_extension(extension);
        let lock = options.create(true).truncate(false).write(true).mode(0o600).open(path)?;
        lock.lock()?;
        Ok(lock)
    }
}

impl StoreTransaction<'_> {
    /// The current value of a secret for a holder.
    pub fn value(&self, slug: &str, holder: Option<&str>) -> Option<Secret> {
        self.contents.value(slug, holder)
    }

    /// Stores a value, in place of the old one.
    pub fn put(
        mut self,
        slug: &str,
        holder: Option<&str>,
        value: Secret,
        now: Timestamp,
    ) -> Result<(), Stop> {
        self.contents.put(slug, holder, value, now);
        self.save()
    }

    /// Deletes a value; returns whether there was one.
    pub fn remove(mut self, slug: &str, holder: Option<&str>) -> Result<bool, Stop> {
        let there = self.contents.remove(slug, holder);
        if there {
            self.save()?;
        }
        Ok(there)
    }

    fn save(&self) -> Result<(), Stop> {
        let file = &self.strongbox.file;
        let key = self.strongbox.key.load_or_make()?;
        let written = self.contents.close(&key).and_then(|closed| {
            haft_seal::replace(file, closed.as_bytes())?;
            haft_seal::sync_folder(file)
        });
        written.map_err(|fault| unwritable(file, &fault))
    }
}

fn unwritable(file: &Path, fault: &io::Error) -> Stop {
    let words = format!("`{}` cannot be written: {fault}", file.display());
    Stop::new(Code::SetupRequired, words)
}
