//! The line to a launcher, from our end: everything that it tells until it is gone.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net;
use std::sync::Arc;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::Interest;
use tokio::net::{TcpListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};

use super::running::Told;
use super::{End, Network, Refused, Tried};
use crate::gate::{Tally, serve};
use crate::launcher::Report;

/// How much the launcher may have to say.
const LONGEST: usize = 256 * 1024;

/// Somebody who listens to the line, whether or not anybody asks what was heard, and who serves the
/// program's gate as long as there is a line.
#[derive(Debug)]
pub(super) struct Listening(JoinHandle<Result<Told, Refused>>);

impl Listening {
    pub(super) fn to(line: net::UnixStream, network: Network) -> io::Result<Listening> {
        line.set_nonblocking(true)?;
        let line = UnixStream::from_std(line)?;
        Ok(Listening(tokio::spawn(listened(line, network))))
    }

    /// Waits until the line ends. Must not be asked again once it answered.
    pub(super) async fn told(&mut self) -> Result<Told, Refused> {
        let told = (&mut self.0).await;
        told.unwrap_or_else(|fault| Err(Refused::Broken(fault.to_string())))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn listened(line: UnixStream, network: Network) -> Result<Told, Refused> {
    let tally = Tally::default();
    let mut serving = JoinSet::new();
    let mut text = Vec::new();
    // A line that breaks has ended.
    while let Ok((1.., door)) = next(&line, &mut text).await {
        if text.len() > LONGEST {
            return Err(Refused::Broken(format!("it told more than {LONGEST} bytes")));
        }
        if let (Some(door), Network::Through(gate)) = (door, &network) {
            let door = open(door).map_err(super::start::broken)?;
            serving.spawn(serve(Arc::new(gate.clone()), door, tally.clone()));
        }
    }
    let mut told = told(&text)?;
    told.tried.extend(tally.tried());
    told.reached = tally.reached();
    Ok(told)
}

/// Takes what is there from the line: bytes, and a file that came along.
async fn next(line: &UnixStream, text: &mut Vec<u8>) -> io::Result<(usize, Option<OwnedFd>)> {
    loop {
        line.readable().await?;
        let taken = line.try_io(Interest::READABLE, || {
            let mut piece = [0; 4096];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut slices = [IoSliceMut::new(&mut piece)];
            let flags = RecvFlags::CMSG_CLOEXEC;
            let length = recvmsg(line.as_fd(), &mut slices, &mut control, flags)?.bytes;
            text.extend(piece.iter().take(length));
            Ok((length, control.drain().find_map(first)))
        });
        match taken {
            Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => {}
            taken => return taken,
        }
    }
}

fn first(message: RecvAncillaryMessage<'_>) -> Option<OwnedFd> {
    match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    }
}

/// The door of the gate: it was made inside, where it leads to, and is answered here.
fn open(door: OwnedFd) -> io::Result<TcpListener> {
    let door = std::net::TcpListener::from(door);
    door.set_nonblocking(true)?;
    TcpListener::from_std(door)
}

/// What the reports come to.
fn told(reports: &[u8]) -> Result<Told, Refused> {
    let mut told = Told::default();
    for report in reports.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice(report) {
            Ok(Report::Unenforced(why)) => return Err(Refused::Unenforced(why)),
            Ok(Report::NoProgram(why)) => return Err(Refused::Program(why)),
            Ok(Report::Door) => {}
            Ok(Report::Inside(enforced)) => told.layers = enforced,
            Ok(Report::Tried { path, wanted }) => told.tried.push(Tried::Path { path, wanted }),
            Ok(Report::Exited(code)) => told.end = Some(End::Exited(code)),
            Ok(Report::Killed(signal)) => told.end = Some(End::Killed(signal)),
            Err(fault) => return Err(Refused::Broken(fault.to_string())),
        }
    }
    Ok(told)
}
