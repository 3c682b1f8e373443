//! What a write has made so far, and how it is taken back.

use haft_model::EffectState;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// What was made on the way to a file that is not in place yet. Dropped, it is taken back.
pub(super) struct Scene<'a> {
    start: BorrowedFd<'a>,
    /// The folders on the way, each with its name in the one before it if it was made here.
    folders: Vec<(Option<String>, OwnedFd)>,
    /// A file of ours in the last folder.
    file: Option<String>,
}

impl<'a> Scene<'a> {
    /// Nothing made yet, beginning at a folder.
    pub(super) fn new(start: &'a OwnedFd) -> Scene<'a> {
        Scene { start: start.as_fd(), folders: Vec::new(), file: None }
    }

    /// The folder that was reached.
    pub(super) fn folder(&self) -> BorrowedFd<'_> {
        self.folders.last().map_or(self.start, |(_, folder)| folder.as_fd())
    }

    /// Makes a folder in the last one and goes there. One that somebody else made meanwhile will do,
    /// and is not ours to take back.
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
                // What cannot be entered cannot be taken back later.
                if let Some(made) = made {
                    let _ = rustix::fs::unlinkat(self.folder(), made, AtFlags::REMOVEDIR);
                }
                Err(errno)
            }
        }
    }

    /// Notes that a file was made in the last folder.
    pub(super) fn made(&mut self, name: String) {
        self.file = Some(name);
    }

    /// The file of ours, if there is one.
    pub(super) fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Everything is where it belongs; nothing is to be taken back.
    pub(super) fn keep(&mut self) {
        self.file = None;
        self.folders.clear();
    }

    /// Waits until the names of everything that was made are on the disk.
    pub(super) fn settle(&self, start: &OwnedFd) -> Result<(), Errno> {
        self.folders.iter().rev().try_for_each(|(_, folder)| rustix::fs::fsync(folder))?;
        rustix::fs::fsync(start)
    }

    /// Takes everything back, and says whether anything is left.
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
