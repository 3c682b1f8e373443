//! A program that is under way: what is said to it, what it says, and how it is ended.

use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::time::timeout;

use super::line::Listening;
use super::{ExitKind, GRACE, ProgramExit, RefusedAccess, StartRefusal};
use crate::HostTraffic;
use crate::group::Group;
use crate::launcher::Standby;

/// What is known of a launcher that did not say how it went.
pub(super) const WORDLESS: &str = "it ended without a word";

/// What a program reads. Dropping it is the end of what there is to read.
pub type Feed = pipe::Sender;

/// What a program says. Whoever takes it out of a [`Running`] leaves one that is at its end.
#[derive(Debug, Default)]
pub struct ProgramOutput(pub(super) Option<pipe::Receiver>);

impl AsyncRead for ProgramOutput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Some(pipe) => Pin::new(pipe).poll_read(context, buffer),
            None => Poll::Ready(Ok(())),
        }
    }
}

/// A program that is under way. Dropping it ends everything that it started.
#[derive(Debug)]
pub struct Running {
    /// Its standard input.
    pub stdin: Option<Feed>,
    /// Its standard output. Somebody has to read it, or the program waits for that.
    pub stdout: ProgramOutput,
    /// Its standard error, of which the same is true.
    pub stderr: ProgramOutput,
    pub(super) stop: Stop,
    pub(super) rest: Rest,
}

impl Running {
    /// Ends it and everything that it started.
    pub fn stop(&mut self) {
        self.stop.now();
    }

    /// Waits until it and everything that it started are gone. Whoever stops waiting may ask again.
    /// What it said is not in the answer: the caller read it.
    pub async fn ended(&mut self) -> Result<ProgramExit, StartRefusal> {
        let stopped = self.stop.used;
        let told = match stopped {
            true => self.rest.told_in_time().await?,
            false => self.rest.told().await?,
        };
        self.stop.spent();
        let end = match told.end {
            // Whoever ended it knows better than the process does.
            None | Some(ExitKind::Killed(9)) if stopped => ExitKind::CalledOff,
            Some(end) => end,
            None => return Err(StartRefusal::Broken(WORDLESS.to_owned())),
        };
        Ok(told.ended(end))
    }
}

/// What ends a process and everything that it started, at the latest when it is dropped.
#[derive(Debug)]
pub(super) struct Stop {
    how: Option<How>,
    used: bool,
}

#[derive(Debug)]
pub(super) enum How {
    /// The first process inside ends when the line to it does, and the kernel ends the others.
    Line(UnixStream),
    Group(Option<u32>),
}

impl Stop {
    pub(super) fn by(how: How) -> Stop {
        Stop { how: Some(how), used: false }
    }

    pub(super) fn now(&mut self) {
        let Some(how) = self.how.take() else { return };
        self.used = true;
        match how {
            // Only our half: the other one tells when everything is gone.
            How::Line(line) => drop(line.shutdown(Shutdown::Write)),
            How::Group(leader) => end_group(leader),
        }
    }

    /// There is nothing left to end.
    pub(super) fn spent(&mut self) {
        self.how = None;
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.now();
    }
}

/// Ends a process group; one that is gone is gone.
fn end_group(leader: Option<u32>) {
    let leader = leader.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(leader) = leader {
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// What is still to come of a process: its end, and what the launcher tells of it.
#[derive(Debug)]
pub(super) struct Rest {
    process: Option<Process>,
    listening: Option<Listening>,
    told: Option<Result<ExitReport, StartRefusal>>,
    /// What limits its memory, which is of no use once everything is gone.
    _group: Option<Group>,
    /// Files that a program without walls reads where they are: with us.
    _held: Vec<OwnedFd>,
}

/// The process that has to be gone in the end.
#[derive(Debug)]
pub(super) enum Process {
    /// One that we started: the program itself, or a launcher of its own.
    Child(Child),
    /// The first process inside, which the launcher that stands by started; without that it ends.
    Inside { _by: Arc<Standby> },
}

/// What is known of a program that is gone.
#[derive(Clone, Debug, Default)]
pub(super) struct ExitReport {
    pub(super) end: Option<ExitKind>,
    pub(super) layers: Vec<String>,
    pub(super) tried: Vec<RefusedAccess>,
    pub(super) reached: Vec<HostTraffic>,
}

impl Rest {
    pub(super) fn new(process: Process, listening: Option<Listening>, held: Vec<OwnedFd>) -> Rest {
        Rest { process: Some(process), listening, told: None, _group: None, _held: held }
    }

    /// The same with a group that is removed with it.
    pub(super) fn within(self, group: Option<Group>) -> Rest {
        Rest { _group: group, ..self }
    }

    /// The same for what was told to end. Where that takes too long, the first process inside is
    /// killed, or the launcher, and the kernel ends whatever is inside with it.
    pub(super) async fn told_in_time(&mut self) -> Result<ExitReport, StartRefusal> {
        match timeout(GRACE, self.told()).await {
            Ok(told) => told,
            Err(_) => {
                self.bury();
                Ok(ExitReport::default())
            }
        }
    }

    async fn unconfined(&mut self) -> Result<ExitReport, StartRefusal> {
        let Some(Process::Child(child)) = &mut self.process else {
            return Ok(ExitReport::default());
        };
        let group = child.id();
        let status = child.wait().await.map_err(super::start::broken)?;
        end_group(group);
        let layers = vec!["none".to_owned()];
        Ok(ExitReport { end: Some(end_of(status)), layers, ..ExitReport::default() })
    }

    /// Waits until everything is gone. May be dropped and asked again.
    pub(super) async fn told(&mut self) -> Result<ExitReport, StartRefusal> {
        if let Some(told) = &self.told {
            return told.clone();
        }
        let told = match &mut self.listening {
            Some(listening) => {
                let told = listening.told().await;
                self.bury();
                told
            }
            None => self.unconfined().await,
        };
        self.told.insert(told).clone()
    }

    /// Lets go of the process, which is gone or about to be. The line ends after the last process of
    /// the program. What the kernel then does with its namespaces can take longer than the program
    /// did, and concerns nobody who waits for that.
    fn bury(&mut self) {
        match self.process.take() {
            Some(Process::Child(mut launcher)) => {
                let _ = launcher.start_kill();
                tokio::spawn(async move { launcher.wait().await });
            }
            Some(Process::Inside { .. }) => {
                if let Some(listening) = &self.listening {
                    listening.kill();
                }
            }
            None => {}
        }
    }
}

impl ExitReport {
    pub(super) fn ended(self, end: ExitKind) -> ProgramExit {
        let ExitReport { layers, tried, reached, .. } = self;
        let (stdout, stderr) = (Vec::new(), Vec::new());
        ProgramExit { end, stdout, stderr, truncated: false, layers, tried, reached }
    }
}

fn end_of(status: ExitStatus) -> ExitKind {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitKind::Exited(code),
        (None, signal) => ExitKind::Killed(signal.unwrap_or_default()),
    }
}
