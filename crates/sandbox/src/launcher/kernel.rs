//! The things that only `unsafe` can ask of the kernel.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::thread::UnshareFlags;

/// Leaves the namespaces of whoever started us. Fails where there is a second thread.
#[expect(unsafe_code, reason = "only one of its flags, which is not used here, is dangerous")]
pub(super) fn leave(namespaces: UnshareFlags) -> io::Result<()> {
    let namespaces = namespaces.difference(UnshareFlags::FILES);
    // SAFETY: what can go wrong is a table of files that is shared no more, and that flag was
    // taken out.
    Ok(unsafe { rustix::thread::unshare_unsafe(namespaces) }?)
}

/// Nothing but the first three files goes on into another program.
#[expect(unsafe_code, reason = "no safe function closes what is not owned")]
pub(super) fn keep_files_to_ourselves() -> io::Result<()> {
    let flag = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: the call takes three numbers and closes nothing; it only marks files to be closed by
    // the next program.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, flag) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether a change goes for what is mounted below as well.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Only,
    Below,
}

/// Takes rights away from a mount: `libc::MOUNT_ATTR_*`.
#[expect(unsafe_code, reason = "there is no safe function for it yet")]
pub(super) fn restrict(mount: impl AsFd, rights: u64, reach: Reach) -> io::Result<()> {
    let attributes =
        libc::mount_attr { attr_set: rights, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if reach == Reach::Below { libc::AT_RECURSIVE } else { 0 };
    let path: &CStr = c"";
    // SAFETY: the path ends in a zero, the structure is of the size that is given, and both live
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

/// Does something in the new process before it becomes another program.
#[expect(
    unsafe_code,
    reason = "between the two only what takes no locks is sound, if there are threads"
)]
pub(super) fn before(
    command: &mut Command,
    last: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: a launcher has one thread, so that no lock is held by somebody who is not there.
    unsafe { command.pre_exec(last) };
}
