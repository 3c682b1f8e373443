//! What a launcher is told and what it tells, over one socket.

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

/// What fits into a socket before anybody reads it, with room to spare.
const LONGEST: usize = 100 * 1024;

/// Files that go along: standard input, and secrets.
const MOST_FILES: usize = 64;

/// Whom to put inside, and what they get to see.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(super) program: PathBuf,
    pub(super) called: Option<String>,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    /// The names of secrets; their values come as files, first these and then those.
    pub(super) secret_env: Vec<String>,
    pub(super) handed: Vec<String>,
    pub(super) shown: Vec<MountedPath>,
    pub(super) hidden: Vec<PathBuf>,
    pub(super) cwd: PathBuf,
    /// Whether hosts are reached through a gate; otherwise none are.
    pub(super) gated: bool,
    /// Whether there is a group that limits memory; its three files come after standard input.
    pub(super) grouped: bool,
    pub(super) bounds: Bounds,
    pub(super) spawn: Spawn,
}

/// What became of it, one line each.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// Something that keeps programs inside is not to be had; nothing was started.
    Unenforced(String),
    /// The program cannot be started.
    NoProgram(String),
    /// The first process inside comes along: a file that stands for it.
    First,
    /// The door of the gate comes along: a socket that listens.
    Door,
    /// It was started behind these layers.
    Inside(Vec<String>),
    /// It wanted to change something that it may not.
    Tried {
        /// What.
        path: PathBuf,
        /// What it wanted to do with it.
        wanted: String,
    },
    /// It ended with this code.
    Exited(i32),
    /// It was ended by this signal.
    Killed(i32),
    /// It was ended because all its processes together took more memory than they may.
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

    /// Leaves the orders on a line that nobody reads yet, with the files that go along.
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

    /// Takes the orders from the line.
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
    /// Says it. Where nobody listens any more there is nobody to tell, and nobody is waited for.
    pub(super) fn send(&self, line: BorrowedFd<'_>) {
        if let Ok(text) = self.text() {
            let _ = rustix::net::send(line, &text, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
    }

    /// Says it and hands something over with it.
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
