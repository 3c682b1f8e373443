//! The values that a workspace keeps itself: one file, closed with a key that lies elsewhere.
//!
//! A change is written whole, beside the old file and then over it, by one writer at a time. What
//! is opened is never written anywhere else.

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

/// A file of values, closed with a key.
#[derive(Clone, Debug)]
pub struct Strongbox {
    file: PathBuf,
    key: KeyPlace,
}

/// The right to change a strongbox. Nobody else has it meanwhile, in any process.
pub struct StoreTransaction<'a> {
    strongbox: &'a Strongbox,
    contents: Contents,
    /// Locked until it is closed.
    _lock: File,
}

impl Strongbox {
    /// The strongbox in a file. Neither has to be there.
    pub fn new(file: PathBuf, key: KeyPlace) -> Strongbox {
        Strongbox { file, key }
    }

    /// Where it lies.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The value of a secret for one holder; for nobody in particular where none is named.
    pub fn value(&self, slug: &str, holder: Option<&str>) -> Result<Option<Secret>, Stop> {
        Ok(self.contents()?.value(slug, holder))
    }

    /// Who has a value of which secret, and since when.
    pub fn holders(&self) -> Result<Vec<Holder>, Stop> {
        Ok(self.contents()?.holders())
    }

    /// Waits until nobody else changes it. The key is made where there is none and nothing is kept.
    pub fn change(&self) -> Result<StoreTransaction<'_>, Stop> {
        let lock = self.locked("lock").map_err(|fault| unwritable(&self.file, &fault))?;
        let contents = match self.closed()? {
            Some(closed) => Contents::open(&closed, &self.key.load()?, &self.file)?,
            None => Contents::default(),
        };
        Ok(StoreTransaction { strongbox: self, contents, _lock: lock })
    }

    /// Keeps others from renewing what is here until the lock is dropped.
    pub(super) fn lock_out(&self) -> Result<File, Stop> {
        self.locked("renewing").map_err(|fault| unwritable(&self.file, &fault))
    }

    fn contents(&self) -> Result<Contents, Stop> {
        match self.closed()? {
            Some(closed) => Contents::open(&closed, &self.key.load()?, &self.file),
            None => Ok(Contents::default()),
        }
    }

    /// The file as it lies there; none where nothing was ever kept.
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
    /// The value that is there now.
    pub fn value(&self, slug: &str, holder: Option<&str>) -> Option<Secret> {
        self.contents.value(slug, holder)
    }

    /// Keeps a value, in place of the one that was there.
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

    /// Forgets a value; whether there was one.
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
