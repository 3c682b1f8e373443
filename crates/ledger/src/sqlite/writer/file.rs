//! The file that a store was opened as, and whether its path still names it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A device and a file on it.
type Inode = (u64, u64);

/// The database that this process writes to, and its log of changes.
#[derive(Debug)]
pub(super) struct StoreFile {
    database: NamedFile,
    /// SQLite makes it with the first transaction, so it is known only after that.
    log: NamedFile,
}

/// A path, and what it named when that was first seen.
#[derive(Debug)]
struct NamedFile {
    path: PathBuf,
    inode: Option<Inode>,
}

impl StoreFile {
    /// The file behind a path that was opened just now.
    pub(super) fn opened(path: &Path) -> Result<StoreFile, String> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let mut opened = StoreFile {
            database: NamedFile { path: path.to_owned(), inode: None },
            log: NamedFile { path: log.into(), inode: None },
        };
        opened.check()?;
        Ok(opened)
    }

    /// Refuses where the file was deleted, moved away or replaced: SQLite would go on writing into
    /// one that is lost with this process.
    pub(super) fn check(&mut self) -> Result<(), String> {
        self.database.check()?;
        self.log.check()
    }
}

impl NamedFile {
    fn check(&mut self) -> Result<(), String> {
        let now = inode(&self.path).map_err(|fault| self.says(&fault.to_string()))?;
        match (self.inode, now) {
            (None, now) => {
                self.inode = now;
                Ok(())
            }
            (Some(_), None) => Err(self.says("it was deleted or moved away while it was in use")),
            (Some(before), Some(now)) if before != now => {
                Err(self.says("another file was put in its place while it was in use"))
            }
            (Some(_), Some(_)) => Ok(()),
        }
    }

    fn says(&self, what: &str) -> String {
        // Callers from elsewhere hear of it, and have no business with the rest of the path.
        let name = self.path.file_name().unwrap_or_default().display();
        format!("`{name}`: {what}; put it back and start again")
    }
}

#[cfg(unix)]
fn inode(path: &Path) -> std::io::Result<Option<Inode>> {
    use std::os::unix::fs::MetadataExt as _;
    match fs::metadata(path) {
        Ok(about) => Ok(Some((about.dev(), about.ino()))),
        Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Where files have no numbers, only a missing one is noticed.
#[cfg(not(unix))]
fn inode(path: &Path) -> std::io::Result<Option<Inode>> {
    match fs::metadata(path) {
        Ok(_) => Ok(Some((0, 0))),
        Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(fault),
    }
}
