//! Confined program: its sandbox profile, its run and its exit.

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

/// How long all processes may take to exit after they are killed.
const GRACE: Duration = Duration::from_secs(2);

/// Where bubblewrap may be installed.
const BUBBLEWRAP: [&str; 2] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"];

/// A program, and everything that it sees of this machine.
#[derive(Clone, Debug, Default)]
pub struct ConfinedProgram {
    /// A path, or a name that is looked up in the system's folders.
    pub program: PathBuf,
    /// Its `argv[0]`, if that is not its path.
    pub called: Option<String>,
    /// Its arguments, without `argv[0]`.
    pub args: Vec<String>,
    /// Its standard input. A caller of [`ConfinedProgram::start`] writes it to [`Running::stdin`]
    /// instead.
    pub stdin: Vec<u8>,
    /// A terminal in place of the pipes; no other process can type at it.
    pub terminal: Option<Arc<OwnedFd>>,
    /// Its environment, in addition to `PATH`, `LANG`, `HOME` and `TMPDIR`.
    pub env: BTreeMap<String, String>,
    /// Environment variables that hold secrets; no other process sees them.
    pub secret_env: BTreeMap<String, Secret>,
    /// Secrets that it reads from a file.
    pub handed: Vec<SecretFile>,
    /// The paths that it sees, in addition to the system's programs and libraries.
    pub shown: Vec<MountedPath>,
    /// The paths below those that are hidden from it.
    pub hidden: Vec<PathBuf>,
    /// The paths below those that it may not create: a mount cannot cover what does not exist, so a
    /// run that creates one is a violation.
    pub denied: Vec<PathBuf>,
    /// Its working directory, below a path that it sees.
    pub cwd: PathBuf,
    /// The hosts that it can reach.
    pub network: NetworkAccess,
    /// Its resource limits.
    pub bounds: Bounds,
    /// Whether it may start processes.
    pub spawn: Spawn,
    /// The files that govern where it may write. [`ConfinedProgram::guarded`] takes it; a program
    /// that still has it and may write is not started.
    pub protection: Option<Protection>,
}

/// A secret as a read-only file in memory, which ends with the program.
#[derive(Clone, Debug)]
pub struct SecretFile {
    /// The environment variable that holds the file's path.
    pub name: String,
    /// The content of the file.
    pub value: Secret,
}

/// A file or folder that a confined program sees, at its own path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MountedPath {
    /// The path on this machine.
    pub path: PathBuf,
    /// What the program may do with it.
    pub access: Access,
}

/// The access of a confined program to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reads and executes.
    Read,
    /// Writes as well.
    Write,
}

/// The hosts that a confined program can reach.
#[derive(Clone, Debug, Default)]
pub enum NetworkAccess {
    /// No host, not even this machine.
    #[default]
    None,
    /// The hosts on the gate's egress allowlist, through a proxy that the usual variables name.
    Through(Gate),
}

/// Whether a confined program may start processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spawn {
    /// It may start any program that it sees.
    #[default]
    Anything,
    /// It may start no process, only threads.
    Nothing,
}

/// Resource limits of a confined program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bounds {
    /// CPU seconds of each process.
    pub cpu_seconds: u64,
    /// Bytes of memory of each process.
    pub memory: u64,
    /// Bytes of memory of all processes together, including the private `/tmp`; `u64::MAX` means no
    /// limit. Without control groups ([`TotalMemory`](crate::TotalMemory)) only each process is
    /// limited.
    pub total_memory: u64,
    /// Open files of each process.
    pub files: u64,
    /// Processes and threads at once. Some kernels enforce no limit below 301.
    pub processes: u64,
    /// Bytes of the largest file that it may write, and of its private `/tmp`.
    pub file_size: u64,
    /// Files and folders in its private `/tmp`.
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

/// The sandbox implementation between a program and this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Walls {
    /// The launcher confines the program.
    By(Launcher),
    /// bubblewrap, at this path, creates the namespaces and mounts, and the launcher does the rest.
    /// For machines that let only bubblewrap create namespaces.
    Bubblewrap(PathBuf, Launcher),
    /// No launcher is available, so nothing runs.
    Missing,
    /// No sandbox, because the workspace says so: only time and outputs are limited.
    Off,
}

impl Walls {
    /// The best that this machine allows: the launcher alone, else bubblewrap if it is installed.
    pub fn here(launcher: Option<Launcher>) -> Walls {
        let Some(launcher) = launcher else { return Walls::Missing };
        let bubblewrap = BUBBLEWRAP.map(PathBuf::from).into_iter().find(|path| path.exists());
        match bubblewrap.filter(|_| crate::launcher::are_namespaces_closed()) {
            Some(bubblewrap) => Walls::Bubblewrap(bubblewrap, launcher),
            None => Walls::By(launcher),
        }
    }
}

/// The exit of a program, after all its descendants are gone.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramExit {
    /// How it ended.
    pub end: ExitKind,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
    /// Whether an output exceeded its limit.
    pub truncated: bool,
    /// The sandbox layers that were in force.
    pub layers: Vec<String>,
    /// The accesses that the sandbox refused, up to a limit.
    pub tried: Vec<RefusedAccess>,
    /// The hosts that it reached through the gate.
    pub reached: Vec<HostTraffic>,
}

/// An access that the sandbox refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusedAccess {
    /// A connection to a host.
    Host {
        /// The host name or address.
        host: String,
        /// The port.
        port: u16,
        /// Why it was refused.
        why: String,
    },
    /// A change of a path.
    Path {
        /// The path.
        path: PathBuf,
        /// The refused operation, as a verb.
        wanted: String,
    },
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal.
    Killed(i32),
    /// Haft killed it, because its processes together exceeded the memory limit.
    OutOfMemory,
    /// Its timeout expired.
    OutOfTime,
    /// The caller cancelled it.
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
    /// A sandbox layer is not available on this machine.
    #[error("the sandbox cannot be enforced here: {0}")]
    Unenforced(String),
    /// The program cannot be started.
    #[error("{0}")]
    Program(String),
    /// It would write files that govern, or it did.
    #[error("{0}")]
    Violation(String),
    /// The launcher itself failed.
    #[error("the launcher broke: {0}")]
    Broken(String),
}

impl StartRefusal {
    /// The refusal for a launcher that sent no report, from the last line of its stderr.
    fn wordless(last: String) -> StartRefusal {
        match last.strip_prefix("bwrap: ") {
            Some(why) => StartRefusal::Unenforced(format!("bubblewrap builds no walls: {why}")),
            None => StartRefusal::Broken(last),
        }
    }
}

impl ConfinedProgram {
    /// Runs the program until it exits, its timeout expires or the caller cancels. No process of it
    /// is left when this returns or is dropped. Files that govern and appeared meanwhile are moved
    /// to quarantine, and then the run is a violation.
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
