//! Atomic file write: a temporary file and a rename, begun after the submission is recorded.

use std::fs::File;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_driver::{Failure, Output};
use haft_model::{Code, Digest, EffectState};
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use serde_json::json;

use super::scene::Scene;
use super::{How, PreparedWrite, open_existing};
use crate::builtin::refusal::PathRefusal;
use crate::builtin::running;
use crate::watch::Watch;

/// Bytes written between two cancellation checks.
const PIECE: usize = 1024 * 1024;

/// How many names for the temporary file are tried.
const TRIES: usize = 16;

/// Makes temporary names unique within this process.
static COUNT: AtomicU64 = AtomicU64::new(0);

const NEW: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Whether the file existed before the write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    There,
    Absent,
}

impl PreparedWrite {
    /// Writes the file, and reports the effect state.
    pub(super) fn carry_out(self, watch: &Watch) -> Result<Output, Failure> {
        match self.asked.how {
            How::Replace | How::Create => self.put(watch),
            How::Append => self.append(watch),
        }
    }

    /// Writes a temporary file in the same folder, then renames it into place.
    fn put(&self, watch: &Watch) -> Result<Output, Failure> {
        let mut scene = Scene::new(&self.at.folder);
        let placed = self.place(&mut scene, watch);
        if let Err(failed) = placed {
            return Err(self.failed(failed, &mut scene));
        }
        let settled = scene.settle(&self.settling);
        scene.keep();
        settled.map_err(|errno| self.unsettled(errno))?;
        let before = if self.existing.is_some() { Before::There } else { Before::Absent };
        Ok(self.output(self.asked.bytes.len() as u64, before))
    }

    fn place(&self, scene: &mut Scene<'_>, watch: &Watch) -> Result<(), PutFailure> {
        self.between.iter().try_for_each(|name| scene.enter(name))?;
        let mut file = self.beside(scene)?;
        for piece in self.asked.bytes.chunks(PIECE) {
            watch.check().map_err(PutFailure::Stopped)?;
            file.write_all(piece).map_err(PathRefusal::from)?;
        }
        if let Some(existing) = &self.existing {
            let mode = rustix::fs::fstat(existing)?.st_mode & 0o777;
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        rustix::fs::fsync(&file)?;
        watch.check().map_err(PutFailure::Stopped)?;
        self.rename(scene)
    }

    /// Creates the temporary file in the same folder. One that replaces a file has mode 0600 until
    /// it takes over that file's permissions.
    fn beside(&self, scene: &mut Scene<'_>) -> Result<File, PutFailure> {
        let mode = if self.existing.is_some() { 0o600 } else { 0o666 };
        for _ in 0..TRIES {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".haft-write-{}-{count}", std::process::id());
            match rustix::fs::openat(scene.folder(), &name, NEW, Mode::from_raw_mode(mode)) {
                Err(Errno::EXIST) => {}
                opened => {
                    let file = File::from(opened?);
                    scene.made(name);
                    return Ok(file);
                }
            }
        }
        Err(Errno::EXIST.into())
    }

    fn rename(&self, scene: &mut Scene<'_>) -> Result<(), PutFailure> {
        let Some(from) = scene.file().map(str::to_owned) else { return Err(Errno::NOENT.into()) };
        let (folder, to) = (scene.folder(), &self.at.name);
        match self.asked.how {
            How::Replace | How::Append => rustix::fs::renameat(folder, from, folder, to)?,
            How::Create => rename_new(folder, &from, to)?,
        }
        Ok(())
    }

    /// Appends in one write, so that concurrent appends do not interleave.
    fn append(&self, watch: &Watch) -> Result<Output, Failure> {
        let mut scene = Scene::new(&self.at.folder);
        let stopped = watch.check().map_err(PutFailure::Stopped);
        let opened = stopped.and_then(|()| self.open_end(&mut scene));
        let (mut file, before) = opened.map_err(|failed| self.failed(failed, &mut scene))?;
        let wanted = self.asked.bytes.len();
        match file.write(&self.asked.bytes) {
            Ok(written) if written == wanted => {}
            Ok(written) => {
                scene.keep();
                let why =
                    format!("`{}` took {written} of {wanted} bytes", self.asked.place.written);
                let stop = running(Code::EffectPartial, why).at("/path");
                return Err(Failure::new(stop, EffectState::PartiallyCommitted));
            }
            Err(fault) => return Err(self.failed(PathRefusal::from(fault).into(), &mut scene)),
        }
        let settled = rustix::fs::fsync(&file).and_then(|()| scene.settle(&self.settling));
        scene.keep();
        settled.map_err(|errno| self.unsettled(errno))?;
        let size = file.metadata().map_or(wanted as u64, |metadata| metadata.len());
        Ok(self.output(size, before))
    }

    /// Opens the file to append to, or creates it.
    fn open_end(&self, scene: &mut Scene<'_>) -> Result<(File, Before), PutFailure> {
        if let Some(existing) = &self.existing {
            let again = existing.try_clone().map_err(PathRefusal::from)?;
            return Ok((again, Before::There));
        }
        self.between.iter().try_for_each(|name| scene.enter(name))?;
        let flags = NEW | OFlags::APPEND;
        let mode = Mode::from_raw_mode(0o666);
        match rustix::fs::openat(scene.folder(), &self.at.name, flags, mode) {
            // Another process created the file first; append to that one.
            Err(Errno::EXIST) => Ok((open_existing(scene.folder(), &self.at.name)?, Before::There)),
            opened => {
                let file = File::from(opened?);
                scene.made(self.at.name.clone());
                Ok((file, Before::Absent))
            }
        }
    }

    fn output(&self, size: u64, before: Before) -> Output {
        Output::committed(json!({
            "path": self.asked.place.written,
            "size": size,
            "created": before == Before::Absent,
            "digest": Digest::of_bytes(&self.asked.bytes),
        }))
    }

    /// A failure before the rename: everything that was created is rolled back.
    fn failed(&self, failed: PutFailure, scene: &mut Scene<'_>) -> Failure {
        let stop = match failed {
            PutFailure::Stopped(stop) => stop,
            PutFailure::Refused(refusal) => refusal.about(&self.asked.place),
        };
        Failure::new(stop, scene.take_back())
    }

    /// The file is in place, but the sync to disk failed.
    fn unsettled(&self, errno: Errno) -> Failure {
        let stop = PathRefusal::from(errno).about(&self.asked.place);
        Failure::new(stop, EffectState::Unknown)
    }
}

/// Why a file did not reach its place.
enum PutFailure {
    Stopped(haft_model::Stop),
    Refused(PathRefusal),
}

impl From<PathRefusal> for PutFailure {
    fn from(refusal: PathRefusal) -> PutFailure {
        PutFailure::Refused(refusal)
    }
}

impl From<Errno> for PutFailure {
    fn from(errno: Errno) -> PutFailure {
        PutFailure::Refused(errno.into())
    }
}

/// Renames a file without replacing another.
fn rename_new(folder: impl AsFd, from: &str, to: &str) -> Result<(), Errno> {
    let folder = folder.as_fd();
    match rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        // Not every file system supports `RENAME_NOREPLACE`; a hard link is as safe.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            rustix::fs::linkat(folder, from, folder, to, AtFlags::empty())?;
            // If this fails, the rollback tries again.
            rustix::fs::unlinkat(folder, from, AtFlags::empty())
        }
        done => done,
    }
}
