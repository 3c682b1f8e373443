//! The launcher: our own program, started again, that puts another one inside.
//!
//! It is two processes of one thread each, of which the second is a copy of the first. The outer one makes the namespaces and waits. The inner
//! one is the first process of its own world: it builds what there is to see, gives up every right,
//! starts the program and ends as soon as the line to whoever asked for it does. With it ends
//! everything that was started inside, because the kernel sees to that.

mod bubblewrap;
mod inside;
mod kernel;
mod orders;
mod outside;
mod rights;
mod syscalls;
mod system;
mod tree;
mod tries;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use bubblewrap::wrapped;
pub use inside::PROGRAMS;
pub(crate) use inside::{environment, unstartable};
pub(crate) use orders::{Orders, Report};
pub(crate) use outside::are_namespaces_closed;

/// The argument that makes our program a launcher.
pub(crate) const ENTRY: &str = "__sandbox";

/// The argument that makes it the first process behind walls that bubblewrap built.
pub(crate) const WITHIN: &str = "__sandbox-within";

/// Whether this program can be started again as a launcher.
static READY: AtomicBool = AtomicBool::new(false);

/// A program that is able to confine others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher(PathBuf);

impl Launcher {
    /// This very program, if its `main` begins with [`launcher`].
    pub fn own() -> Option<Launcher> {
        READY.load(Ordering::Acquire).then(|| Launcher(PathBuf::from("/proc/self/exe")))
    }

    /// Another program whose `main` begins with [`launcher`], such as `haft-sandbox`.
    pub fn at(program: impl Into<PathBuf>) -> Launcher {
        Launcher(program.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
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
