//! Kernel calls that need `unsafe`.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::Pid;
use rustix::thread::UnshareFlags;
use seccompiler::sock_filter;

/// Leaves the parent's namespaces. Fails in a process with a second thread.
#[expect(unsafe_code, reason = "only one of its flags, which is not used here, is dangerous")]
pub(super) fn leave(namespaces: UnshareFlags) -> io::Result<()> {
    let namespaces = namespaces.difference(UnshareFlags::FILES);
    // SAFETY: only unsharing the descriptor table is dangerous, and that flag was removed.
    Ok(unsafe { rustix::thread::unshare_unsafe(namespaces) }?)
}

/// Closes every descriptor but the first three. Only for a process that has opened nothing yet.
#[expect(unsafe_code, reason = "no safe function closes what is not owned")]
pub(super) fn close_inherited() -> io::Result<()> {
    // SAFETY: the launcher runs first in `main` and has opened nothing, so no descriptor that this
    // process owns is closed.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Forks into new namespaces: `None` in the child, the child's PID in the parent.
#[expect(unsafe_code, reason = "in a process with threads the second one could do almost nothing")]
pub(super) fn copied_into(namespaces: UnshareFlags) -> io::Result<Option<Pid>> {
    let flags = i64::from(namespaces.bits()) | i64::from(libc::SIGCHLD);
    // SAFETY: a launcher has one thread, so no lock is held by a thread that is missing in the
    // child. Without a stack of its own and with no memory shared this is a fork.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(Pid::from_raw(child as i32)),
    }
}

/// Chooses whether the kernel reaps the children of this process, or a caller waits for them.
#[expect(unsafe_code, reason = "there is no safe function for it")]
pub(super) fn forget_children(forget: bool) -> io::Result<()> {
    let how = if forget { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: neither is a function of ours, so nothing runs when the signal comes.
    match unsafe { libc::signal(libc::SIGCHLD, how) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Whether a change applies to the mounts below as well.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Only,
    Below,
}

/// Removes rights from a mount: `libc::MOUNT_ATTR_*`.
#[expect(unsafe_code, reason = "there is no safe function for it yet")]
pub(super) fn restrict(mount: impl AsFd, rights: u64, reach: Reach) -> io::Result<()> {
    let attributes =
        libc::mount_attr { attr_set: rights, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if reach == Reach::Below { libc::AT_RECURSIVE } else { 0 };
    let path: &CStr = c"";
    // SAFETY: the path ends in a zero, the structure has the size that is given, and both live
    // until the call returns.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Runs a function in the child between fork and exec.
#[expect(
    unsafe_code,
    reason = "between the two only what takes no locks is sound, if there are threads"
)]
pub(super) fn before(
    command: &mut Command,
    last: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: a launcher has one thread, so no lock is held by a thread that is missing in the
    // child.
    unsafe { command.pre_exec(last) };
}

/// Brings the loopback interface up in a new network namespace.
#[expect(unsafe_code, reason = "there is no safe function for it")]
pub(super) fn raise_loopback() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketType, socket};
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let mut name = [0; libc::IFNAMSIZ];
    for (letter, given) in name.iter_mut().zip(b"lo") {
        *letter = (*given).cast_signed();
    }
    let up = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    let ifr_ifru = libc::__c_anonymous_ifr_ifru { ifru_flags: up };
    let wish = libc::ifreq { ifr_name: name, ifr_ifru };
    // SAFETY: the structure is the one that this request takes, its name ends in a zero, and it
    // lives until the call returns.
    let done = unsafe { libc::ioctl(any.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const wish) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`: wakes the caller on the CPU that answered.
const ANSWERED_AT_ONCE: u64 = 1;

/// Installs a seccomp filter, and returns the descriptor that receives its notifications.
#[expect(unsafe_code, reason = "there is no safe function for it")]
pub(super) fn asked_by(filter: &[sock_filter]) -> io::Result<OwnedFd> {
    let length = u16::try_from(filter.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_ptr().cast_mut().cast() };
    let wished = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // Kernels before 5.19 interrupt a pending call on any signal.
    for flags in [wished | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, wished] {
        let mode = libc::SECCOMP_SET_MODE_FILTER;
        // SAFETY: the program points to as many instructions as it says, of the same layout, and
        // the kernel copies them.
        let file = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) };
        if file >= 0 {
            let file = file as i32;
            // SAFETY: the request takes a number. Kernels before 6.6 do not know it, and are
            // slower.
            unsafe { libc::ioctl(file, libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, ANSWERED_AT_ONCE) };
            // SAFETY: the kernel has just created this descriptor for us.
            return Ok(unsafe { OwnedFd::from_raw_fd(file) });
        }
    }
    Err(io::Error::last_os_error())
}

/// Receives a system call that a process is about to make.
#[expect(unsafe_code, reason = "there is no safe function for it")]
pub(super) fn question(asked: impl AsFd) -> io::Result<libc::seccomp_notif> {
    // SAFETY: all zeroes is what the kernel wants this structure of numbers to be.
    let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    let wish = libc::SECCOMP_IOCTL_NOTIF_RECV;
    // SAFETY: the structure is the one that this request fills in.
    let done = unsafe { libc::ioctl(asked.as_fd().as_raw_fd(), wish, &raw mut call) };
    if done == 0 { Ok(call) } else { Err(io::Error::last_os_error()) }
}

/// Lets the kernel continue a system call, and refuse it itself if need be.
#[expect(unsafe_code, reason = "there is no safe function for it")]
pub(super) fn go_on(asked: impl AsFd, call: &libc::seccomp_notif) {
    let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
    let mut answer = libc::seccomp_notif_resp { id: call.id, val: 0, error: 0, flags };
    let wish = libc::SECCOMP_IOCTL_NOTIF_SEND;
    // SAFETY: the structure is the one that this request takes. A process that is gone needs no
    // answer.
    unsafe { libc::ioctl(asked.as_fd().as_raw_fd(), wish, &raw mut answer) };
}

/// Lets a program that is started from here inherit descriptors.
#[expect(unsafe_code, reason = "between the two only what takes no locks is sound")]
pub(super) fn keep(command: &mut Command, files: Vec<OwnedFd>) {
    let kept = move || {
        for file in &files {
            rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty())?;
        }
        Ok(())
    };
    // SAFETY: each step is one system call, and takes neither memory nor a lock.
    unsafe { command.pre_exec(kept) };
}
