//! Running program: its pipes, its termination and its exit.

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

/// The reason of a launcher that ended without a report.
pub(super) const WORDLESS: &str = "it ended without a word";

/// The standard input of a program. Drop closes it.
pub type Feed = pipe::Sender;

/// An output of a program. Taking it out of a [`Running`] leaves one that is at its end.
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

/// A program in progress. Drop kills every process that it started.
#[derive(Debug)]
pub struct Running {
    /// Its standard input.
    pub stdin: Option<Feed>,
    /// Its standard output. The caller must read it, or the program blocks.
    pub stdout: ProgramOutput,
    /// Its standard error. The caller must read it, or the program blocks.
    pub stderr: ProgramOutput,
    pub(super) stop: Stop,
    pub(super) rest: Rest,
}

impl Running {
    /// Kills it and every process that it started.
    pub fn stop(&mut self) {
        self.stop.now();
    }

    /// Waits until it and every process that it started are gone. Safe to cancel and call again.
    /// The outputs are not in the answer: the caller read them.
    pub async fn ended(&mut self) -> Result<ProgramExit, StartRefusal> {
        let stopped = self.stop.used;
        let told = match stopped {
            true => self.rest.told_in_time().await?,
            false => self.rest.told().await?,
        };
        self.stop.spent();
        let end = match told.end {
            // After a stop, SIGKILL means that the caller cancelled.
            None | Some(ExitKind::Killed(9)) if stopped => ExitKind::CalledOff,
            Some(end) => end,
            None => return Err(StartRefusal::Broken(WORDLESS.to_owned())),
        };
        Ok(told.ended(end))
    }
}

/// Kills a process and everything that it started, at the latest on drop.
#[derive(Debug)]
pub(super) struct Stop {
    how: Option<How>,
    used: bool,
}

#[derive(Debug)]
pub(super) enum How {
    /// The first process inside exits when its channel closes, and the kernel kills the others.
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
            // Only our half: the other half reports when everything is gone.
            How::Line(line) => drop(line.shutdown(Shutdown::Write)),
            How::Group(leader) => end_group(leader),
        }
    }

    /// Disarms the stop: nothing is left to kill.
    pub(super) fn spent(&mut self) {
        self.how = None;
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.now();
    }
}

/// Kills a process group, if it still exists.
fn end_group(leader: Option<u32>) {
    let leader = leader.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(leader) = leader {
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// The end of a process that is still to come, with the launcher's report.
#[derive(Debug)]
pub(super) struct Rest {
    process: Option<Process>,
    listening: Option<Listening>,
    told: Option<Result<ExitReport, StartRefusal>>,
    /// The control group that limits its memory, removed with it.
    _group: Option<Group>,
    /// Secret files that a program without a sandbox reads through this process.
    _held: Vec<OwnedFd>,
}

/// The process whose exit is awaited.
#[derive(Debug)]
pub(super) enum Process {
    /// A child of this process: the program itself, or a launcher of its own.
    Child(Child),
    /// The first process inside, a child of the standby launcher; dropping that ends it.
    Inside { _by: Arc<Standby> },
}

/// What the launcher reported of a program that is gone.
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

    /// Adds a control group that is removed with it.
    pub(super) fn within(self, group: Option<Group>) -> Rest {
        Rest { _group: group, ..self }
    }

    /// Waits after a kill. After the grace period the first process inside, or the launcher, is
    /// killed, and the kernel ends everything inside with it.
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

    /// Waits until everything is gone. Safe to cancel and call again.
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

    /// Lets go of a process that is gone or about to be. The channel closes after the last process
    /// of the program. The kernel's removal of its namespaces can take longer than the program did,
    /// and no caller waits for that.
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
