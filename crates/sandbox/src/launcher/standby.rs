//! Standby launcher: a preloaded process that confines the next program without start-up cost.
//!
//! Loading a program and creating namespaces take longer than the rest of a start. So a launcher is
//! loaded once and has the next namespaces ready before a caller asks for them.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use super::{ENTRY, LauncherInputs};

/// How long a caller waits for a launcher whose channel is full.
const PATIENCE: Duration = Duration::from_secs(2);

/// The slot of the standby launcher.
#[derive(Debug, Default)]
pub(super) struct StandbySlot(Mutex<Option<Arc<Standby>>>);

/// A launcher that waits for orders. Drop ends it, with everything that it confines.
#[derive(Debug)]
pub(crate) struct Standby {
    line: OwnedFd,
    process: Mutex<Child>,
}

impl StandbySlot {
    /// Hands an order to the standby launcher. One that is gone is replaced.
    pub(super) fn take(&self, program: &Path, given: &LauncherInputs) -> io::Result<Arc<Standby>> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(standby) = place.as_ref().filter(|standby| standby.hand(given).is_ok()) {
            return Ok(Arc::clone(standby));
        }
        let standby = Arc::new(Standby::start(program)?);
        standby.hand(given)?;
        Ok(Arc::clone(place.insert(standby)))
    }
}

impl Standby {
    fn start(program: &Path) -> io::Result<Standby> {
        let kind = SocketType::SEQPACKET;
        let (line, theirs) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        set_socket_timeout(&line, Timeout::Send, Some(PATIENCE))?;
        let mut command = Command::new(program);
        command.arg(ENTRY).env_clear();
        command.stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Standby { line, process: Mutex::new(command.spawn()?) })
    }

    /// Leaves an order on its channel. Fails if the launcher is gone.
    fn hand(&self, given: &LauncherInputs) -> io::Result<()> {
        let files = [&given.line, &given.stdout, &given.stderr].map(|file| file.as_fd());
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&files));
        sendmsg(&self.line, &[io::IoSlice::new(&[1])], &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        let process = self.process.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = process.kill();
        let _ = process.wait();
    }
}

/// Waits for an order, on the launcher's side; `None` if the channel closed.
pub(super) fn next(line: impl AsFd) -> io::Result<Option<LauncherInputs>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC;
    recvmsg(line, &mut [io::IoSliceMut::new(&mut byte)], &mut control, flags)?;
    let given = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let mut files = given.flatten();
    Ok(match (files.next(), files.next(), files.next()) {
        (Some(line), Some(stdout), Some(stderr)) => Some(LauncherInputs { line, stdout, stderr }),
        _ => None,
    })
}
