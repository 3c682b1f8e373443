//! The launcher: our own program, started again, that puts another one inside.
//!
//! It stays as long as somebody may need it and has one thread. For each program it makes a copy of
//! itself that is the first process of its own world, one ahead of the need, and it never sees what
//! that copy is ordered to do. The copy takes one order, builds what there is to see, gives up every
//! right, starts the program and ends as soon as the line to whoever asked for it does. With it ends
//! everything that was started inside, because the kernel sees to that.

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

/// The argument that makes it the first process behind walls that bubblewrap built.
pub(crate) const WITHIN: &str = "__sandbox-within";

/// Whether this program can be started again as a launcher.
static READY: AtomicBool = AtomicBool::new(false);

/// A program that is able to confine others. Its clones share one process of it, which is started
/// when it is needed first and ends with the last of them and of what they confine.
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

    /// Has an order carried out that waits on a line: by the process that stands by, or a new one.
    pub(crate) fn take(&self, given: &LauncherInputs) -> io::Result<Arc<Standby>> {
        self.place.take(&self.program, given)
    }
}

/// What a launcher is given with an order: the line that the order waits on, and what the program
/// says goes to.
#[derive(Debug)]
pub(crate) struct LauncherInputs {
    pub(crate) line: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Has to be the first thing in `main`, before any thread is started.
///
/// Where the program was started as a launcher, this does not return. Everywhere else it returns at
/// once, and from then on the program may confine others.
pub fn launcher() {
    match std::env::args_os().nth(1) {
        Some(word) if word == OsStr::new(ENTRY) => std::process::exit(outside::run()),
        Some(word) if word == OsStr::new(WITHIN) => std::process::exit(bubblewrap::run()),
        Some(_) | None => READY.store(true, Ordering::Release),
    }
}

/// A fault of the kernel's, with what was being done.
fn doing(what: &str) -> impl Fn(io::Error) -> Report {
    let what = what.to_owned();
    move |fault| Report::Unenforced(format!("{what}: {fault}"))
}
