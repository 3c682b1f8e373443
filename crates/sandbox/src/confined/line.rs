//! Launcher channel: receives the reports of a launcher until it exits.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Signal, pidfd_send_signal};
use tokio::io::Interest;
use tokio::net::{TcpListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::running::ExitReport;
use super::{ExitKind, NetworkAccess, RefusedAccess, StartRefusal};
use crate::gate::{TrafficBook, serve};
use crate::launcher::Report;

/// Most bytes of all reports together.
const LONGEST: usize = 256 * 1024;

/// Poll interval for a process that exits without a report.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// The task that receives reports, also while no caller waits, and that serves the program's gate
/// as long as the channel is open.
#[derive(Debug)]
pub(super) struct Listening {
    task: JoinHandle<Result<ExitReport, StartRefusal>>,
    first: First,
}

/// The pidfd of the first process inside, once it has reported.
type First = Arc<OnceLock<OwnedFd>>;

impl Listening {
    pub(super) fn to(line: net::UnixStream, network: NetworkAccess) -> io::Result<Listening> {
        line.set_nonblocking(true)?;
        let line = UnixStream::from_std(line)?;
        let first = First::default();
        Ok(Listening { task: tokio::spawn(listened(line, network, Arc::clone(&first))), first })
    }

    /// Waits until the channel ends. Must not be called again after it returned.
    pub(super) async fn told(&mut self) -> Result<ExitReport, StartRefusal> {
        let told = (&mut self.task).await;
        told.unwrap_or_else(|fault| Err(StartRefusal::Broken(fault.to_string())))
    }

    /// Kills the first process inside, if it exists.
    pub(super) fn kill(&self) {
        if let Some(first) = self.first.get() {
            let _ = pidfd_send_signal(first, Signal::KILL);
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listened(
    line: UnixStream,
    network: NetworkAccess,
    first: First,
) -> Result<ExitReport, StartRefusal> {
    let tally = TrafficBook::default();
    let mut serving = JoinSet::new();
    let mut text = Vec::new();
    // A broken channel counts as ended.
    while let Ok((1.., file)) = next(&line, &mut text).await {
        if text.len() > LONGEST {
            return Err(StartRefusal::Broken(format!("it told more than {LONGEST} bytes")));
        }
        // A descriptor comes with the report that was read last.
        let Some(file) = file else { continue };
        match (reports(&text).next_back().transpose()?, &network) {
            (Some(Report::First), _) => drop(first.set(file)),
            (Some(Report::Door), NetworkAccess::Through(gate)) => {
                let door = open(file).map_err(super::start::broken)?;
                serving.spawn(serve(Arc::new(gate.clone()), door, tally.clone()));
            }
            _ => return Err(StartRefusal::Broken("it handed over something unknown".to_owned())),
        }
    }
    let mut told = told(&text)?;
    if told.end.is_none() {
        gone(&first).await;
    }
    told.tried.extend(tally.tried());
    told.reached = tally.reached();
    Ok(told)
}

/// Receives what is there: bytes, and a descriptor that came along.
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

/// The gate's listener: the launcher binds it inside the sandbox, and this process serves it.
fn open(door: OwnedFd) -> io::Result<TcpListener> {
    let door = std::net::TcpListener::from(door);
    door.set_nonblocking(true)?;
    TcpListener::from_std(door)
}

/// Waits until the first process inside, which was killed before its report, is gone with all
/// others. Polling is enough for so rare a case.
async fn gone(first: &First) {
    let Some(first) = first.get() else { return };
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    while let Ok(0) = poll(&mut [PollFd::new(first, PollFlags::IN)], Some(&now)) {
        sleep(BETWEEN_LOOKS).await;
    }
}

fn reports(text: &[u8]) -> impl DoubleEndedIterator<Item = Result<Report, StartRefusal>> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| {
        serde_json::from_slice(line).map_err(|fault| StartRefusal::Broken(fault.to_string()))
    })
}

/// Folds the reports into the exit.
fn told(text: &[u8]) -> Result<ExitReport, StartRefusal> {
    let mut told = ExitReport::default();
    for report in reports(text) {
        match report? {
            Report::Unenforced(why) => return Err(StartRefusal::Unenforced(why)),
            Report::NoProgram(why) => return Err(StartRefusal::Program(why)),
            Report::First | Report::Door => {}
            Report::Inside(enforced) => told.layers = enforced,
            Report::Tried { path, wanted } => told.tried.push(RefusedAccess::Path { path, wanted }),
            Report::Exited(code) => told.end = Some(ExitKind::Exited(code)),
            Report::OutOfMemory => told.end = Some(ExitKind::OutOfMemory),
            Report::Killed(signal) => told.end = Some(ExitKind::Killed(signal)),
        }
    }
    Ok(told)
}
