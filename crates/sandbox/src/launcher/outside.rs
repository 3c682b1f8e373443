//! The outer process: it makes the namespaces, starts the inner one and waits for it.

use std::fs;
use std::io;

use rustix::process::{WaitOptions, getegid, geteuid, setsid, waitpid};
use rustix::thread::UnshareFlags;

use super::inside::{self, Builder};
use super::{Report, doing, kernel};

/// Does the outer part and gives the exit code.
pub(super) fn run() -> i32 {
    match confine() {
        Ok(code) => code,
        Err(report) => {
            report.send(rustix::stdio::stdin());
            1
        }
    }
}

fn confine() -> Result<i32, Report> {
    kernel::close_inherited().map_err(doing("inherited files could not be closed"))?;
    // Away from the terminal, so that nothing can be typed into it from inside.
    let _ = setsid();
    namespaces()?;
    let lost = doing("the first process inside was lost");
    match kernel::fork().map_err(doing("the first process inside could not be started"))? {
        None => Ok(inside::run(Builder::Us)),
        Some(inner) => match waitpid(Some(inner), WaitOptions::empty()) {
            Ok(Some((_, status))) => Ok(status.exit_status().unwrap_or(1)),
            Ok(None) => Ok(1),
            Err(fault) => Err(lost(fault.into())),
        },
    }
}

/// A world of our own: users, mounts, processes, network, messages, names.
fn namespaces() -> Result<(), Report> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let wanted = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    kernel::leave(wanted).map_err(no_namespaces)?;
    let written = fs::write("/proc/self/setgroups", "deny")
        .and_then(|()| fs::write("/proc/self/uid_map", format!("0 {user} 1")))
        .and_then(|()| fs::write("/proc/self/gid_map", format!("0 {group} 1")));
    written.map_err(no_namespaces)
}

fn no_namespaces(fault: io::Error) -> Report {
    let why = match fault.raw_os_error() {
        Some(libc::EINVAL) => "the launcher is not the first thing in `main`, so there are threads",
        Some(libc::ENOSPC) => "`user.max_user_namespaces` allows no more user namespaces",
        _ => "user namespaces have to be allowed for ordinary users on this machine",
    };
    Report::Unenforced(format!("no namespaces: {fault}; {why}"))
}

/// Whether this machine says that an ordinary user makes no namespaces. Where it says nothing, trying
/// tells.
pub(crate) fn are_namespaces_closed() -> bool {
    let says =
        |file: &str, word: &str| fs::read_to_string(file).is_ok_and(|said| said.trim() == word);
    says("/proc/sys/user/max_user_namespaces", "0")
        || !geteuid().is_root()
            && (says("/proc/sys/kernel/unprivileged_userns_clone", "0")
                || says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"))
}
