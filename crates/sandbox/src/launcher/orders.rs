//! Launcher protocol: orders and reports over one Unix socket.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use crate::{Bounds, ConfinedProgram, MountedPath, NetworkAccess, Spawn};

/// Most bytes of an order; a socket buffers as much before it is read.
const LONGEST: usize = 100 * 1024;

/// Most descriptors that go along: standard input, and secrets.
const MOST_FILES: usize = 64;

/// The program to confine, and its sandbox profile.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(super) program: PathBuf,
    pub(super) called: Option<String>,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    /// The names of secret variables; their values come as files, before those of the secret files.
    pub(super) secret_env: Vec<String>,
    pub(super) handed: Vec<String>,
    pub(super) shown: Vec<MountedPath>,
    pub(super) hidden: Vec<PathBuf>,
    pub(super) cwd: PathBuf,
    /// Whether the program reaches hosts through a gate; otherwise it reaches none.
    pub(super) gated: bool,
    /// Whether a control group limits memory; its three files come after standard input.
    pub(super) grouped: bool,
    pub(super) bounds: Bounds,
    pub(super) spawn: Spawn,
}

/// A report of the launcher, one line each.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// A sandbox layer is not available; nothing was started.
    Unenforced(String),
    /// The program cannot be started.
    NoProgram(String),
    /// The pidfd of the first process inside comes along.
    First,
    /// The listening socket of the gate comes along.
    Door,
    /// The program was started behind these layers.
    Inside(Vec<String>),
    /// The program tried to change a path that it may not.
    Tried {
        /// The path.
        path: PathBuf,
        /// The operation, as a verb.
        wanted: String,
    },
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal.
    Killed(i32),
    /// It was killed because its processes together exceeded the memory limit.
    OutOfMemory,
}

impl Orders {
    pub(crate) fn of(confined: &ConfinedProgram, grouped: bool) -> Orders {
        Orders {
            program: confined.program.clone(),
            called: confined.called.clone(),
            args: confined.args.clone(),
            env: confined.env.clone(),
            secret_env: confined.secret_env.keys().cloned().collect(),
            handed: confined.handed.iter().map(|handed| handed.name.clone()).collect(),
            shown: confined.shown.clone(),
            hidden: confined.hidden.clone(),
            cwd: confined.cwd.clone(),
            gated: matches!(confined.network, NetworkAccess::Through(_)),
            grouped,
            bounds: confined.bounds,
            spawn: confined.spawn,
        }
    }

    /// Leaves the orders on a channel that has no reader yet, with the descriptors that go along.
    pub(crate) fn send(&self, line: &UnixStream, files: &[OwnedFd]) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        if text.len() > LONGEST {
            return Err(too_much(&format!(
                "the arguments and paths are longer than {LONGEST} bytes"
            )));
        }
        let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        let length = (text.len() as u32).to_be_bytes();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fits =
            files.len() <= MOST_FILES && control.push(SendAncillaryMessage::ScmRights(&files));
        if !fits {
            return Err(too_much(&format!("there are {MOST_FILES} secrets or more")));
        }
        sendmsg(line, &[IoSlice::new(&length)], &mut control, SendFlags::NOSIGNAL)?;
        let mut line = line;
        line.write_all(&text)
    }

    /// Receives the orders from the channel.
    pub(super) fn receive(line: &UnixStream) -> io::Result<(Orders, Vec<OwnedFd>)> {
        let mut length = [0; 4];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC;
        recvmsg(line, &mut [IoSliceMut::new(&mut length)], &mut control, flags)?;
        let given = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        });
        let files = given.flatten().collect();
        let mut text = vec![0; (u32::from_be_bytes(length) as usize).min(LONGEST)];
        let mut line = line;
        line.read_exact(&mut text)?;
        Ok((serde_json::from_slice(&text)?, files))
    }
}

fn too_much(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

impl Report {
    /// Sends a report. It is dropped if the channel has no reader, and it never blocks.
    pub(super) fn send(&self, line: BorrowedFd<'_>) {
        if let Ok(text) = self.text() {
            let _ = rustix::net::send(line, &text, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
    }

    /// Sends a report with a descriptor.
    pub(super) fn send_with(&self, line: BorrowedFd<'_>, file: BorrowedFd<'_>) -> io::Result<()> {
        let text = self.text()?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let files = [file];
        control.push(SendAncillaryMessage::ScmRights(&files));
        sendmsg(line, &[IoSlice::new(&text)], &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    fn text(&self) -> io::Result<Vec<u8>> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        Ok(text)
    }
}
