//! `fs.write`: creates, replaces or appends to a file of the workspace.

mod put;
mod scene;

use std::fs::File;

use haft_driver::{Attempt, Failure, Output, TargetGuard};
use haft_model::{Code, Stop};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use serde_json::Value;

use super::place::{WorkspacePath, rule_of};
use super::refusal::PathRefusal;
use super::root::{DirectoryEntry, Root, Spot};
use super::shown::unwrapped;
use super::{blocking, text, unsent, while_running, wrong};
use crate::watch::Watch;

/// The validated input of a call.
pub(super) struct WriteInput {
    place: WorkspacePath,
    bytes: Vec<u8>,
    how: How,
}

/// What a write does with a file that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Replaces its contents atomically.
    Replace,
    /// Refuses the write.
    Create,
    /// Appends to it.
    Append,
}

impl WriteInput {
    pub(super) fn of(input: &Value) -> Result<WriteInput, Stop> {
        let place = WorkspacePath::of(input)?;
        if place.is_folder() {
            return Err(wrong("path", "names a folder, and a file is needed"));
        }
        if rule_of(&place.names).is_some() {
            return Err(governs(&place));
        }
        let content = text(input, "content")?;
        let bytes = match choice(input, "encoding", "utf-8")? {
            "utf-8" => content.as_bytes().to_vec(),
            "base64" => unwrapped(content).ok_or_else(|| wrong("content", "is not base64"))?,
            _ => return Err(wrong("encoding", "is neither `utf-8` nor `base64`")),
        };
        let how = match choice(input, "mode", "replace")? {
            "replace" => How::Replace,
            "create" => How::Create,
            "append" => How::Append,
            _ => return Err(wrong("mode", "is none of `replace`, `create` and `append`")),
        };
        Ok(WriteInput { place, bytes, how })
    }

    /// Refuses a path that the settings assign to Haft's state, before an approver is asked.
    /// Symlinks are resolved when the file is written.
    pub(super) fn refuse_state(&self, root: &Root) -> Result<(), Stop> {
        if root.is_state(&self.place) { Err(governs(&self.place)) } else { Ok(()) }
    }
}

fn governs(place: &WorkspacePath) -> Stop {
    let Stop { message, .. } = PathRefusal::Rules.about(place);
    Stop::new(Code::SandboxViolation, message).at("/path")
}

fn choice<'a>(input: &'a Value, name: &str, otherwise: &'static str) -> Result<&'a str, Stop> {
    if input.get(name).is_none() { Ok(otherwise) } else { text(input, name) }
}

/// A write that is fully prepared and has changed nothing.
struct PreparedWrite {
    asked: WriteInput,
    /// Where the file is or will be.
    at: DirectoryEntry,
    /// The missing parent folders to create.
    between: Vec<String>,
    /// The file that exists, open for writing.
    existing: Option<File>,
    /// The folder of `at`, opened so that it can be synced to disk.
    settling: OwnedFd,
}

pub(super) async fn run(root: &Root, attempt: &Attempt<'_>) -> Result<Output, Failure> {
    let asked = WriteInput::of(&attempt.input).map_err(while_running).map_err(unsent)?;
    let (root, watch, guard) = (root.clone(), Watch::of(attempt), attempt.guard.clone());
    let prepared = blocking(move || prepare(&root, asked, &guard)).await.and_then(|done| done);
    let prepared = prepared.map_err(unsent)?;
    watch.check().map_err(unsent)?;
    let clearance = attempt.link.submit().await?;
    let carry_out = move || clearance.check().and_then(|()| prepared.carry_out(&watch));
    let done = blocking(carry_out).await;
    done.map_err(|stop| Failure::new(stop, haft_model::EffectState::Unknown))?
}

fn prepare(root: &Root, asked: WriteInput, guard: &TargetGuard) -> Result<PreparedWrite, Stop> {
    let refused = |refusal: PathRefusal| refusal.about(&asked.place);
    let (at, between, existing) = match root.find_guarded(&asked.place, guard)? {
        Spot::Folder(_) => return Err(refused(PathRefusal::IsFolder)),
        Spot::Missing(at, between) => (at, between, None),
        Spot::Entry(at) => {
            if asked.how == How::Create {
                return Err(refused(Errno::EXIST.into()));
            }
            let file = open_existing(&at.folder, &at.name).map_err(refused)?;
            if asked.how == How::Append {
                refuse_other_names(&file).map_err(refused)?;
            }
            (at, Vec::new(), Some(file))
        }
    };
    root.refuse_governing(&at).map_err(refused)?;
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let settling = rustix::fs::openat(&at.folder, ".", flags, Mode::empty())
        .map_err(|errno| refused(errno.into()))?;
    Ok(PreparedWrite { asked, at, between, existing, settling })
}

/// Refuses to append to a file with several hard links, because one of its names may be a rule. A
/// replaced file gets its own inode, and the other names keep theirs.
fn refuse_other_names(file: &File) -> Result<(), PathRefusal> {
    if rustix::fs::fstat(file)?.st_nlink > 1 { Err(PathRefusal::HardLinked) } else { Ok(()) }
}

/// Opens a file that exists, also before a replacement: a file that may not be written is not
/// replaced.
fn open_existing(folder: impl AsFd, name: &str) -> Result<File, PathRefusal> {
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    let opened = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        // A pipe without a reader, or a socket.
        Err(Errno::NXIO) => return Err(PathRefusal::IsOther),
        opened => opened?,
    };
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
    if kind == FileType::RegularFile { Ok(File::from(opened)) } else { Err(PathRefusal::IsOther) }
}
