//! Store file check: detects that the store's path names another file than the open one.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Device and inode number.
type Inode = (u64, u64);

/// The open database and its write-ahead log.
#[derive(Debug)]
pub(super) struct StoreFile {
    database: NamedFile,
    /// SQLite creates it with the first transaction, so its inode is known only after that.
    log: NamedFile,
}

/// A path, and the inode that it first named.
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

    /// Fails where the file was deleted, moved or replaced: SQLite would go on writing into one
    /// that is lost with this process.
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
        // Remote callers read this message, and the rest of the path is not theirs to know.
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

/// Without inode numbers, only a missing file is noticed.
#[cfg(not(unix))]
fn inode(path: &Path) -> std::io::Result<Option<Inode>> {
    match fs::metadata(path) {
        Ok(_) => Ok(Some((0, 0))),
        Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(fault),
    }
}
