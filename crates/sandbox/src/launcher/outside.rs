//! Outer launcher process: creates namespaces one ahead of the need, and never sees their orders.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{getegid, geteuid, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin};
use rustix::thread::UnshareFlags;

use super::inside::{self, Builder};
use super::{LauncherInputs, Report, doing, kernel, standby};

/// The new namespaces, except for mounts: users, PIDs, network, IPC, host name, control groups. The
/// mount namespace is created when the order comes, because the mounts may have changed by then.
const WORLD: UnshareFlags = UnshareFlags::NEWUSER
    .union(UnshareFlags::NEWPID)
    .union(UnshareFlags::NEWNET)
    .union(UnshareFlags::NEWIPC)
    .union(UnshareFlags::NEWUTS)
    .union(UnshareFlags::NEWCGROUP);

/// What became of the prepared namespaces.
enum Then {
    /// Their order was taken, or they are gone: new ones are needed.
    Next,
    /// The channel of orders closed.
    Over,
    /// This is the process inside, and it exits with this code.
    Ended(i32),
}

/// Prepares namespaces until the channel of orders closes, and returns the exit code.
pub(super) fn run() -> i32 {
    let able = able();
    loop {
        match able.as_ref().map_err(Report::clone).and_then(|()| ahead()) {
            Ok(Then::Next) => {}
            Ok(Then::Over) => return 0,
            Ok(Then::Ended(code)) => return code,
            // The next caller gets the reason.
            Err(report) => match standby::next(stdin()) {
                Ok(Some(given)) => report.send(given.line.as_fd()),
                Ok(None) | Err(_) => return 1,
            },
        }
    }
}

fn able() -> Result<(), Report> {
    kernel::close_inherited().map_err(doing("inherited files could not be closed"))?;
    kernel::forget_children(true).map_err(doing("processes could not be forgotten"))?;
    // Detached from the terminal, whose keys would kill it and everything inside.
    let _ = setsid();
    let threads = fs::read_dir("/proc/self/task").map_err(no_namespaces)?.count();
    match threads {
        1 => Ok(()),
        _ => Err(no_namespaces(io::Error::from_raw_os_error(libc::EINVAL))),
    }
}

/// Prepares namespaces, and waits until their first process has taken an order.
fn ahead() -> Result<Then, Report> {
    let maps = [("uid_map", geteuid().as_raw()), ("gid_map", getegid().as_raw())];
    let (taken, waits) = pipe_with(PipeFlags::CLOEXEC)
        .map_err(|fault| doing("a world could not be waited for")(fault.into()))?;
    match kernel::copied_into(WORLD).map_err(no_namespaces)? {
        None => {
            drop(taken);
            Ok(Then::Ended(first(maps, waits)))
        }
        Some(_) => {
            drop(waits);
            Ok(until(&taken))
        }
    }
}

fn until(taken: &OwnedFd) -> Then {
    loop {
        let line = stdin();
        let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        let mut files = [PollFd::new(&line, gone), PollFd::new(taken, PollFlags::HUP)];
        match poll(&mut files, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Then::Over,
        }
        let [line, taken] = files.map(|file| !file.revents().is_empty());
        match (line, taken) {
            (true, _) => return Then::Over,
            (false, true) => return Then::Next,
            (false, false) => {}
        }
    }
}

/// The first process of its namespaces: it waits for an order and carries it out.
fn first(maps: [(&str, u32); 2], waits: OwnedFd) -> i32 {
    let made = settled(maps);
    let Ok(Some(given)) = standby::next(stdin()) else { return 1 };
    // From here on it has no descriptor on which it could receive another order.
    if taken(given).is_err() {
        return 1;
    }
    drop(waits);
    inside::run(Builder::Us, made)
}

/// Replaces the launcher's standard descriptors by those of the order.
fn taken(given: LauncherInputs) -> rustix::io::Result<()> {
    dup2_stdin(&given.line)?;
    dup2_stdout(&given.stdout)?;
    dup2_stderr(&given.stderr)
}

/// Sets the new namespaces up: this process is root in them, and no other user is mapped.
fn settled(maps: [(&str, u32); 2]) -> Result<(), Report> {
    inside::tied()?;
    kernel::forget_children(false).map_err(doing("its processes could not be waited for"))?;
    // Detached from the terminal, so that no process inside can type into it.
    let _ = setsid();
    fs::write("/proc/self/setgroups", "deny").map_err(no_namespaces)?;
    for (map, own) in maps {
        fs::write(format!("/proc/self/{map}"), format!("0 {own} 1")).map_err(no_namespaces)?;
    }
    Ok(())
}

fn no_namespaces(fault: io::Error) -> Report {
    let why = match fault.raw_os_error() {
        Some(libc::EINVAL) => "the launcher is not the first thing in `main`, so there are threads",
        Some(libc::ENOSPC) => "`user.max_user_namespaces` allows no more user namespaces",
        _ => "user namespaces have to be allowed for ordinary users on this machine",
    };
    Report::Unenforced(format!("no namespaces: {fault}; {why}"))
}

/// Whether this machine denies namespaces to an ordinary user. Where it does not say, only trying
/// tells.
pub(crate) fn are_namespaces_closed() -> bool {
    let says =
        |file: &str, word: &str| fs::read_to_string(file).is_ok_and(|said| said.trim() == word);
    says("/proc/sys/user/max_user_namespaces", "0")
        || !geteuid().is_root()
            && (says("/proc/sys/kernel/unprivileged_userns_clone", "0")
                || says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"))
}
