//! Launcher: our own program, started again, that confines another one.
//!
//! It runs as long as it may be needed and has one thread. For each program it forks a copy of
//! itself that is the first process of new namespaces, one ahead of the need, and it never sees the
//! orders of that copy. The copy takes one order, builds the file system, gives up every privilege,
//! starts the program and exits as soon as the channel to its caller closes. The kernel then kills
//! every process that was started inside.

mod bubblewrap;
mod entered;
mod inside;
mod kernel;
mod orders;
mod outside;
mod rights;
mod standby;
mod syscalls;
mod system;
mod tree;
mod tries;

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use bubblewrap::wrapped;
pub use inside::PROGRAMS;
pub(crate) use inside::{environment, unstartable};
pub(crate) use orders::{Orders, Report};
pub(crate) use outside::are_namespaces_closed;
pub(crate) use standby::Standby;
use standby::StandbySlot;

/// The argument that makes our program a launcher.
pub(crate) const ENTRY: &str = "__sandbox";

/// The argument that makes it the first process inside bubblewrap's namespaces.
pub(crate) const WITHIN: &str = "__sandbox-within";

/// Whether this program can be started again as a launcher.
static READY: AtomicBool = AtomicBool::new(false);

/// A program that can confine others. Its clones share one process of it, which starts on first use
/// and ends with the last of them and of the programs that they confine.
#[derive(Clone, Debug)]
pub struct Launcher {
    program: PathBuf,
    place: Arc<StandbySlot>,
}

impl PartialEq for Launcher {
    fn eq(&self, other: &Launcher) -> bool {
        self.program == other.program
    }
}

impl Eq for Launcher {}

impl Launcher {
    /// This very program, if its `main` begins with [`launcher`].
    pub fn own() -> Option<Launcher> {
        READY.load(Ordering::Acquire).then(|| Launcher::at("/proc/self/exe"))
    }

    /// Another program whose `main` begins with [`launcher`], such as `haft-sandbox`.
    pub fn at(program: impl Into<PathBuf>) -> Launcher {
        Launcher { program: program.into(), place: Arc::default() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.program
    }

    /// Hands over an order that waits on a channel: to the standby process, or to a new one.
    pub(crate) fn take(&self, given: &LauncherInputs) -> io::Result<Arc<Standby>> {
        self.place.take(&self.program, given)
    }
}

/// The descriptors that go with an order: the channel that holds the order, and the program's
/// outputs.
#[derive(Debug)]
pub(crate) struct LauncherInputs {
    pub(crate) line: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Must be the first statement in `main`, before any thread is started.
///
/// In a process that was started as a launcher, this does not return. Everywhere else it returns at
/// once, and from then on the program may confine others.
pub fn launcher() {
    match std::env::args_os().nth(1) {
        Some(word) if word == OsStr::new(ENTRY) => std::process::exit(outside::run()),
        Some(word) if word == OsStr::new(WITHIN) => std::process::exit(bubblewrap::run()),
        Some(_) | None => READY.store(true, Ordering::Release),
    }
}

/// A kernel fault, with the operation that failed.
fn doing(what: &str) -> impl Fn(io::Error) -> Report {
    let what = what.to_owned();
    move |fault| Report::Unenforced(format!("{what}: {fault}"))
}
