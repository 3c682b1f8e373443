//! Rollback of a write: records the folders and the file that it created, and removes them.

use haft_model::EffectState;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// What a write created before its file is in place. Drop rolls it back.
pub(super) struct Scene<'a> {
    start: BorrowedFd<'a>,
    /// The folders on the way; each has its name if this write created it.
    folders: Vec<(Option<String>, OwnedFd)>,
    /// The temporary file in the last folder.
    file: Option<String>,
}

impl<'a> Scene<'a> {
    /// Starts at a folder, with nothing created.
    pub(super) fn new(start: &'a OwnedFd) -> Scene<'a> {
        Scene { start: start.as_fd(), folders: Vec::new(), file: None }
    }

    /// The innermost folder reached so far.
    pub(super) fn folder(&self) -> BorrowedFd<'_> {
        self.folders.last().map_or(self.start, |(_, folder)| folder.as_fd())
    }

    /// Creates a folder in the last one and enters it. A folder that another process created
    /// meanwhile will do, and the rollback leaves it.
    pub(super) fn enter(&mut self, name: &str) -> Result<(), Errno> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = match rustix::fs::mkdirat(self.folder(), name, Mode::from_raw_mode(0o777)) {
            Ok(()) => Some(name.to_owned()),
            Err(Errno::EXIST) => None,
            Err(errno) => return Err(errno),
        };
        match rustix::fs::openat(self.folder(), name, flags, Mode::empty()) {
            Ok(folder) => {
                self.folders.push((made, folder));
                Ok(())
            }
            Err(errno) => {
                // A folder that cannot be entered cannot be rolled back later.
                if let Some(made) = made {
                    let _ = rustix::fs::unlinkat(self.folder(), made, AtFlags::REMOVEDIR);
                }
                Err(errno)
            }
        }
    }

    /// Records that a file was created in the last folder.
    pub(super) fn made(&mut self, name: String) {
        self.file = Some(name);
    }

    /// The temporary file, if there is one.
    pub(super) fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Commits: nothing is rolled back any more.
    pub(super) fn keep(&mut self) {
        self.file = None;
        self.folders.clear();
    }

    /// Syncs every created directory entry to disk.
    pub(super) fn settle(&self, start: &OwnedFd) -> Result<(), Errno> {
        self.folders.iter().rev().try_for_each(|(_, folder)| rustix::fs::fsync(folder))?;
        rustix::fs::fsync(start)
    }

    /// Rolls everything back, and reports whether anything is left.
    pub(super) fn take_back(&mut self) -> EffectState {
        let mut gone = true;
        if let Some(name) = self.file.take() {
            gone &= rustix::fs::unlinkat(self.folder(), name, AtFlags::empty()).is_ok();
        }
        while let Some((name, _)) = self.folders.pop() {
            if let Some(name) = name {
                gone &= rustix::fs::unlinkat(self.folder(), name, AtFlags::REMOVEDIR).is_ok();
            }
        }
        if gone { EffectState::NotCommitted } else { EffectState::PartiallyCommitted }
    }
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        self.take_back();
    }
}
