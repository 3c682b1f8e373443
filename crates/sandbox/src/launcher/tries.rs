//! Violation reports: notes each refused change of a path, which the kernel refuses in any case.
//!
//! The kernel notifies us of each call that changes a path, before it makes the call. We read the
//! path, note it if it is not writable, and always let the kernel continue. So nothing depends on
//! memory that the program may have changed since.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path, PathBuf};

use libc::{c_long, seccomp_notif};

use super::{Orders, Report, kernel, syscalls};
use crate::gate::MOST_TRIED;
use crate::{Access, MountedPath};

/// Most bytes of a path that a kernel accepts.
const LONGEST: usize = 4096;

/// The refused changes of a running program.
pub(super) struct Tries {
    asked: Option<OwnedFd>,
    places: Vec<MountedPath>,
    noted: BTreeSet<(PathBuf, &'static str)>,
}

/// A call that changes a path: its number, and its relevant arguments.
struct PathChange {
    call: c_long,
    wanted: SyscallIntent,
    path: usize,
    /// The argument with the folder descriptor; without one, the path is relative to the working
    /// directory.
    folder: Option<usize>,
}

/// What the call intends, and so when it fails anyway, which is nothing to note.
#[derive(Clone, Copy)]
enum SyscallIntent {
    /// Opens the path, with the flags in this argument.
    Open(usize),
    /// Opens the path, with flags in memory at this argument.
    OpenAt(usize),
    /// Creates a path that does not exist.
    Make,
    /// Puts a file at the path, whether or not it exists.
    Put,
    /// Alters what exists.
    Alter(&'static str),
}

impl Tries {
    /// Starts noting the changes of this process and its descendants. On a kernel without
    /// notifications nothing is noted; the kernel refuses all the same.
    pub(super) fn of(orders: &Orders) -> Tries {
        let calls: Vec<_> = changes().map(|change| (change.call, change.flags())).collect();
        let filter = syscalls::asking(&calls).ok();
        let asked = filter.and_then(|filter| kernel::asked_by(&filter).ok());
        Tries { asked, places: places(orders), noted: BTreeSet::new() }
    }

    /// The descriptor of the notifications.
    pub(super) fn asked(&self) -> Option<BorrowedFd<'_>> {
        self.asked.as_ref().map(|asked| asked.as_fd())
    }

    /// Answers one notification, and returns what there is to note.
    pub(super) fn look(&mut self) -> Option<Report> {
        let asked = self.asked.as_ref()?;
        let call = kernel::question(asked).ok()?;
        let found = if self.noted.len() < MOST_TRIED { self.refused(&call) } else { None };
        kernel::go_on(asked, &call);
        let (path, wanted) = found?;
        let new = self.noted.insert((path.clone(), wanted));
        new.then(|| Report::Tried { path, wanted: wanted.to_owned() })
    }

    fn refused(&self, call: &seccomp_notif) -> Option<(PathBuf, &'static str)> {
        let number = c_long::from(call.data.nr);
        let changes = changes().filter(|change| change.call == number);
        changes.into_iter().find_map(|change| self.weighed(&change, call))
    }

    fn weighed(
        &self,
        change: &PathChange,
        call: &seccomp_notif,
    ) -> Option<(PathBuf, &'static str)> {
        let path = named(change, call)?;
        let ours = ["/dev", "/proc/self", "/proc/thread-self"];
        if ours.iter().any(|ours| path.starts_with(ours)) {
            return None;
        }
        let flags = match change.wanted {
            SyscallIntent::Open(flags) => *call.data.args.get(flags)?,
            SyscallIntent::OpenAt(flags) => opened(call, *call.data.args.get(flags)?)?,
            SyscallIntent::Make | SyscallIntent::Put | SyscallIntent::Alter(_) => 0,
        };
        let exists = path.symlink_metadata().is_ok();
        let has = |flag: i32| flags & (flag as u64) != 0;
        let writes = has(libc::O_WRONLY) || has(libc::O_RDWR) || has(libc::O_TRUNC);
        let (wanted, path) = match (change.wanted, exists) {
            (SyscallIntent::Open(_) | SyscallIntent::OpenAt(_), true) if writes => {
                ("write", followed(&path))
            }
            (SyscallIntent::Open(_) | SyscallIntent::OpenAt(_), false) if has(libc::O_CREAT) => {
                ("create", beside(&path))
            }
            (SyscallIntent::Make, false) | (SyscallIntent::Put, _) => ("create", beside(&path)),
            (SyscallIntent::Alter(wanted), true) => (wanted, beside(&path)),
            _ => return None,
        };
        (!self.is_writable(&path)).then_some((path, wanted))
    }

    /// The innermost place of a path decides.
    fn is_writable(&self, path: &Path) -> bool {
        let near = self.places.iter().filter(|place| path.starts_with(&place.path));
        let nearest = near.max_by_key(|place| place.path.components().count());
        nearest.is_some_and(|place| place.access == Access::Write)
    }
}

impl PathChange {
    /// The argument whose flags make the call a change.
    fn flags(&self) -> Option<u8> {
        match self.wanted {
            SyscallIntent::Open(flags) => u8::try_from(flags).ok(),
            SyscallIntent::OpenAt(_)
            | SyscallIntent::Make
            | SyscallIntent::Put
            | SyscallIntent::Alter(_) => None,
        }
    }
}

/// The writable places, and the read-only ones inside them.
fn places(orders: &Orders) -> Vec<MountedPath> {
    let private = MountedPath { path: PathBuf::from("/tmp"), access: Access::Write };
    let shown = orders.shown.iter().cloned();
    let hidden = orders.hidden.iter().cloned();
    let hidden = hidden.map(|path| MountedPath { path, access: Access::Read });
    std::iter::once(private).chain(shown).chain(hidden).collect()
}

/// The path that a call names, made absolute.
fn named(change: &PathChange, call: &seccomp_notif) -> Option<PathBuf> {
    let path = text(call.pid, *call.data.args.get(change.path)?)?;
    if path.is_absolute() {
        return Some(plain(&path));
    }
    let folder = change.folder.and_then(|folder| call.data.args.get(folder));
    let base = match folder.map(|folder| *folder as i32) {
        None | Some(libc::AT_FDCWD) => format!("/proc/{}/cwd", call.pid),
        Some(folder) => format!("/proc/{}/fd/{folder}", call.pid),
    };
    Some(plain(&fs::read_link(base).ok()?.join(path)))
}

/// A zero-terminated text in the memory of another process.
fn text(process: u32, at: u64) -> Option<PathBuf> {
    let memory = fs::File::open(format!("/proc/{process}/mem")).ok()?;
    let mut bytes = vec![0; LONGEST];
    // The next page may not be mapped.
    let page = 4096 - (at as usize % 4096);
    let mut length = memory.read_at(bytes.get_mut(..page)?, at).ok()?;
    if !bytes.get(..length)?.contains(&0) {
        length += memory.read_at(bytes.get_mut(length..)?, at + length as u64).ok()?;
    }
    let read = bytes.get(..length)?;
    let end = read.iter().position(|byte| *byte == 0)?;
    let path = String::from_utf8_lossy(read.get(..end)?).into_owned();
    (!path.is_empty()).then(|| PathBuf::from(path))
}

/// The flags of an `openat2` call.
fn opened(call: &seccomp_notif, at: u64) -> Option<u64> {
    let memory = fs::File::open(format!("/proc/{}/mem", call.pid)).ok()?;
    let mut flags = [0; 8];
    memory.read_exact_at(&mut flags, at).ok()?;
    Some(u64::from_ne_bytes(flags))
}

/// Normalizes dots lexically; symlinks are resolved afterwards.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::from("/"), |mut whole, part| {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::Normal(name) => whole.push(name),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
        whole
    })
}

/// The path with every symlink resolved.
fn followed(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| beside(path))
}

/// The path with its folder resolved, but not its last name.
fn beside(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

fn changes() -> impl Iterator<Item = PathChange> {
    CHANGES.iter().chain(OLDER).map(|(call, wanted, path, folder)| PathChange {
        call: *call,
        wanted: *wanted,
        path: *path,
        folder: *folder,
    })
}

type PathChangeRow = (c_long, SyscallIntent, usize, Option<usize>);

#[rustfmt::skip]
const CHANGES: &[PathChangeRow] = &[
    (libc::SYS_openat, SyscallIntent::Open(2), 1, Some(0)),
    (libc::SYS_openat2, SyscallIntent::OpenAt(2), 1, Some(0)),
    (libc::SYS_mkdirat, SyscallIntent::Make, 1, Some(0)),
    (libc::SYS_mknodat, SyscallIntent::Make, 1, Some(0)),
    (libc::SYS_symlinkat, SyscallIntent::Make, 2, Some(1)),
    (libc::SYS_linkat, SyscallIntent::Make, 3, Some(2)),
    (libc::SYS_unlinkat, SyscallIntent::Alter("remove"), 1, Some(0)),
    (libc::SYS_renameat, SyscallIntent::Alter("move"), 1, Some(0)),
    (libc::SYS_renameat, SyscallIntent::Put, 3, Some(2)),
    (libc::SYS_renameat2, SyscallIntent::Alter("move"), 1, Some(0)),
    (libc::SYS_renameat2, SyscallIntent::Put, 3, Some(2)),
    (libc::SYS_truncate, SyscallIntent::Alter("write"), 0, None),
    (libc::SYS_fchmodat, SyscallIntent::Alter("change"), 1, Some(0)),
    (libc::SYS_fchownat, SyscallIntent::Alter("change"), 1, Some(0)),
];

/// Calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OLDER: &[PathChangeRow] = &[
    (libc::SYS_open, SyscallIntent::Open(1), 0, None),
    (libc::SYS_creat, SyscallIntent::Put, 0, None),
    (libc::SYS_mkdir, SyscallIntent::Make, 0, None),
    (libc::SYS_mknod, SyscallIntent::Make, 0, None),
    (libc::SYS_symlink, SyscallIntent::Make, 1, None),
    (libc::SYS_link, SyscallIntent::Make, 1, None),
    (libc::SYS_unlink, SyscallIntent::Alter("remove"), 0, None),
    (libc::SYS_rmdir, SyscallIntent::Alter("remove"), 0, None),
    (libc::SYS_rename, SyscallIntent::Alter("move"), 0, None),
    (libc::SYS_rename, SyscallIntent::Put, 1, None),
    (libc::SYS_chmod, SyscallIntent::Alter("change"), 0, None),
    (libc::SYS_chown, SyscallIntent::Alter("change"), 0, None),
    (libc::SYS_lchown, SyscallIntent::Alter("change"), 0, None),
];

/// Calls that newer architectures do not have.
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[PathChangeRow] = &[];
