//! One program that runs inside, from its start to its end.

mod gather;
mod line;
mod running;
pub(crate) mod secrets;
mod start;

use std::collections::BTreeMap;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_model::Secret;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::{Gate, HostTraffic, Launcher, Protection, violation};
use gather::{OutputHead, give};

pub use running::{Feed, ProgramOutput, Running};

/// How long everything may take to be gone once it was told to be.
const GRACE: Duration = Duration::from_secs(2);

/// Where bubblewrap is, where it is.
const BUBBLEWRAP: [&str; 2] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"];

/// A program, and everything that it gets to see of this machine.
#[derive(Clone, Debug, Default)]
pub struct ConfinedProgram {
    /// The program: a path, or a name that is looked up in the system's folders.
    pub program: PathBuf,
    /// The name that it is told it was called by (`argv[0]`), where that is not its path.
    pub called: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// What it reads on standard input. Whoever [`Confined::start`]s it writes that themselves.
    pub stdin: Vec<u8>,
    /// The terminal that it reads and writes instead of pipes. It is not one that others can type at.
    pub terminal: Option<Arc<OwnedFd>>,
    /// Its environment, beside `PATH`, `LANG`, `HOME` and `TMPDIR`.
    pub env: BTreeMap<String, String>,
    /// The part of its environment that nobody else gets to see.
    pub secret_env: BTreeMap<String, Secret>,
    /// Secrets that it reads from a file.
    pub handed: Vec<SecretFile>,
    /// What it sees beside the system's own programs and libraries.
    pub shown: Vec<MountedPath>,
    /// What it does not see of that.
    pub hidden: Vec<PathBuf>,
    /// What it may not create of that: nothing can cover what does not exist, so a run that makes it
    /// is a violation.
    pub denied: Vec<PathBuf>,
    /// Where it starts; below something that is shown.
    pub cwd: PathBuf,
    /// Whom it can reach.
    pub network: NetworkAccess,
    /// How much it may use.
    pub bounds: Bounds,
    /// What it may start.
    pub spawn: Spawn,
    /// What governs where it may write. [`Confined::guarded`] takes it; without that it is not started.
    pub protection: Option<Protection>,
}

/// A secret as a file that is on no disk. It is read-only, and gone with the program.
#[derive(Clone, Debug)]
pub struct SecretFile {
    /// The variable that holds the file's path.
    pub name: String,
    /// What the file holds.
    pub value: Secret,
}

/// A file or folder that a confined program sees, where it is on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MountedPath {
    /// Where it is.
    pub path: PathBuf,
    /// What may be done with it.
    pub access: Access,
}

/// What a confined program may do with what it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Look at it and run it.
    Read,
    /// Change it as well.
    Write,
}

/// Whom a confined program can reach.
#[derive(Clone, Debug, Default)]
pub enum NetworkAccess {
    /// Nobody, not even this machine.
    #[default]
    None,
    /// Whom the gate lets through, by a proxy that the usual variables name.
    Through(Gate),
}

/// What a confined program may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spawn {
    /// Whatever it sees.
    #[default]
    Anything,
    /// No process at all; only threads.
    Nothing,
}

/// How much a confined program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bounds {
    /// Seconds of processor time, for each process.
    pub cpu_seconds: u64,
    /// Bytes of memory, for each process.
    pub memory: u64,
    /// Bytes of memory for all processes together, with what lies in the private `/tmp`; `u64::MAX`
    /// is any number. Where there are no control groups ([`TotalMemory`](crate::TotalMemory)), only each process is limited.
    pub total_memory: u64,
    /// Open files, for each process.
    pub files: u64,
    /// Processes and threads at once. Some kernels do not count below 301.
    pub processes: u64,
    /// The largest file that it may write, and all that fits into its private `/tmp`.
    pub file_size: u64,
    /// How many files and folders fit into its private `/tmp`.
    pub inodes: u64,
    /// Bytes that are kept of each of its outputs.
    pub output: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            cpu_seconds: 60,
            memory: 2 << 30,
            total_memory: (2 << 30) + (256 << 20),
            files: 1024,
            processes: 512,
            file_size: 256 << 20,
            inodes: 1 << 16,
            output: 1 << 20,
        }
    }
}

/// What stands between a program and this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Walls {
    /// A launcher puts the program inside.
    By(Launcher),
    /// bubblewrap, the program at this path, makes the namespaces and what there is to see in them,
    /// and the launcher does the rest. For machines that let nobody else make namespaces.
    Bubblewrap(PathBuf, Launcher),
    /// Nobody can, so nothing runs.
    Missing,
    /// Nothing, because the workspace says so: time and outputs are bounded, and nothing else is.
    Off,
}

impl Walls {
    /// The best that this machine allows: a launcher's own, or else bubblewrap's, if it is there.
    pub fn here(launcher: Option<Launcher>) -> Walls {
        let Some(launcher) = launcher else { return Walls::Missing };
        let bubblewrap = BUBBLEWRAP.map(PathBuf::from).into_iter().find(|path| path.exists());
        match bubblewrap.filter(|_| crate::launcher::are_namespaces_closed()) {
            Some(bubblewrap) => Walls::Bubblewrap(bubblewrap, launcher),
            None => Walls::By(launcher),
        }
    }
}

/// A program that ran, and all its descendants are gone.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramExit {
    /// How it ended.
    pub end: ExitKind,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
    /// Whether it said more than was kept.
    pub truncated: bool,
    /// What stood between it and this machine, layer by layer.
    pub layers: Vec<String>,
    /// What it wanted and was refused; of many, the first.
    pub tried: Vec<RefusedAccess>,
    /// Whom it reached through the gate.
    pub reached: Vec<HostTraffic>,
}

/// Something that a confined program wanted and was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusedAccess {
    /// To reach somebody.
    Host {
        /// Whom.
        host: String,
        /// At which port.
        port: u16,
        /// Why not.
        why: String,
    },
    /// To change something.
    Path {
        /// What.
        path: PathBuf,
        /// What it wanted to do with it, as a verb.
        wanted: String,
    },
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// By Haft, because its processes together took more memory than they may.
    OutOfMemory,
    /// Time ran out.
    OutOfTime,
    /// Somebody called it off.
    CalledOff,
}

/// Why a program was not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartRefusal {
    /// There is no launcher.
    #[error(
        "nothing can be confined: this program does not call `haft::launcher()` first in its `main`, and names no launcher"
    )]
    NoLauncher,
    /// Something of what keeps a program inside is not to be had here.
    #[error("the sandbox cannot be enforced here: {0}")]
    Unenforced(String),
    /// The program cannot be started.
    #[error("{0}")]
    Program(String),
    /// It would write what governs, or it did.
    #[error("{0}")]
    Violation(String),
    /// The launcher itself failed.
    #[error("the launcher broke: {0}")]
    Broken(String),
}

impl StartRefusal {
    /// Of a launcher that did not say how it went, whose last words to people are these.
    fn wordless(last: String) -> StartRefusal {
        match last.strip_prefix("bwrap: ") {
            Some(why) => StartRefusal::Unenforced(format!("bubblewrap builds no walls: {why}")),
            None => StartRefusal::Broken(last),
        }
    }
}

impl ConfinedProgram {
    /// Runs the program until it ends, time runs out or somebody calls it off. Whichever it is,
    /// nothing that it started is left when this returns, nor when it is dropped. What governs and
    /// appeared meanwhile is moved to quarantine, and then the run is a violation.
    pub async fn run(
        self,
        walls: &Walls,
        deadline: Instant,
        cancel: impl Future<Output = ()>,
    ) -> Result<ProgramExit, StartRefusal> {
        let (confined, custody) = self.guarded(walls).await?;
        let root = confined.cwd.clone();
        let ended = confined.run_inside(walls, deadline, cancel).await;
        match violation(&custody.conclude().await, &root) {
            Some(words) => Err(StartRefusal::Violation(words)),
            None => ended,
        }
    }

    async fn run_inside(
        mut self,
        walls: &Walls,
        deadline: Instant,
        cancel: impl Future<Output = ()>,
    ) -> Result<ProgramExit, StartRefusal> {
        let given = std::mem::take(&mut self.stdin);
        let (mut out, mut err) =
            (OutputHead::new(self.bounds.output), OutputHead::new(self.bounds.output));
        let Running { stdin, stdout, stderr, mut stop, mut rest } = self.start(walls)?;
        let (by, told) = {
            let all = async {
                tokio::join!(rest.told(), out.hear(stdout), err.hear(stderr), give(stdin, given)).0
            };
            let mut all = pin!(all);
            let by = tokio::select! {
                told = &mut all => Err(told),
                () = tokio::time::sleep_until(deadline.into()) => Ok(ExitKind::OutOfTime),
                () = cancel => Ok(ExitKind::CalledOff),
            };
            match by {
                Err(told) => (None, Some(told)),
                Ok(by) => {
                    stop.now();
                    (Some(by), timeout(GRACE, all).await.ok())
                }
            }
        };
        stop.spent();
        let told = told.transpose()?.unwrap_or_default();
        let end = by.or(told.end).ok_or_else(|| StartRefusal::wordless(err.last_line()))?;
        let truncated = out.is_cut() || err.is_cut();
        Ok(ProgramExit { truncated, stdout: out.bytes(), stderr: err.bytes(), ..told.ended(end) })
    }
}
