//! One program that runs inside, from its start to its end.

mod gather;
mod start;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::Launcher;
use gather::Gathered;

/// How long everything may take to be gone once it was told to be.
const GRACE: Duration = Duration::from_secs(2);

/// A program, and everything that it gets to see of this machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Confined {
    /// The program: a path, or a name that is looked up in the system's folders.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// What it reads on standard input.
    pub stdin: Vec<u8>,
    /// Its environment, beside `PATH`, `LANG`, `HOME` and `TMPDIR`.
    pub env: BTreeMap<String, String>,
    /// What it sees beside the system's own programs and libraries.
    pub shown: Vec<Shown>,
    /// What it does not see of that.
    pub hidden: Vec<PathBuf>,
    /// Where it starts; below something that is shown.
    pub cwd: PathBuf,
    /// Whom it can reach.
    pub network: Network,
    /// How much it may use.
    pub bounds: Bounds,
}

/// A file or folder that a confined program sees, where it is on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// Where it is.
    pub path: PathBuf,
    /// What may be done with it.
    pub access: Access,
}

/// What a confined program may do with what it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Look at it and run it.
    Read,
    /// Change it as well.
    Write,
}

/// Whom a confined program can reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nobody, not even this machine.
    #[default]
    None,
}

/// How much a confined program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Seconds of processor time, for each process.
    pub cpu_seconds: u64,
    /// Bytes of memory, for each process.
    pub memory: u64,
    /// Open files, for each process.
    pub files: u64,
    /// Processes and threads at once. Some kernels do not count below 301.
    pub processes: u64,
    /// The largest file that it may write, and all that fits into its private `/tmp`.
    pub file_size: u64,
    /// Bytes that are kept of each of its outputs.
    pub output: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            cpu_seconds: 60,
            memory: 2 << 30,
            files: 1024,
            processes: 512,
            file_size: 256 << 20,
            output: 1 << 20,
        }
    }
}

/// What stands between a program and this machine.
#[derive(Clone, Debug)]
pub enum Walls {
    /// A launcher puts the program inside.
    By(Launcher),
    /// Nobody can, so nothing runs.
    Missing,
    /// Nothing, because the workspace says so: time and outputs are bounded, and nothing else is.
    Off,
}

/// A program that ran, and all its descendants are gone.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// How it ended.
    pub end: End,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
    /// Whether it said more than was kept.
    pub truncated: bool,
    /// What stood between it and this machine, layer by layer.
    pub layers: Vec<String>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// Time ran out.
    OutOfTime,
    /// Somebody called it off.
    CalledOff,
}

/// Why a program was not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
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
    /// The launcher itself failed.
    #[error("the launcher broke: {0}")]
    Broken(String),
}

impl Confined {
    /// Runs the program until it ends, time runs out or somebody calls it off. Whichever it is,
    /// nothing that it started is left when this returns, nor when it is dropped.
    pub async fn run(
        self,
        walls: &Walls,
        deadline: Instant,
        cancel: impl Future<Output = ()>,
    ) -> Result<Ended, Refused> {
        let started = start::start(self, walls)?;
        let mut stop = started.stop;
        let mut whole = std::pin::pin!(started.gathering);
        let end = tokio::select! {
            gathered = &mut whole => {
                stop.spent();
                return gathered?.ended(None);
            }
            () = tokio::time::sleep_until(deadline.into()) => End::OutOfTime,
            () = cancel => End::CalledOff,
        };
        stop.now();
        match timeout(GRACE, whole).await {
            Ok(gathered) => gathered?.ended(Some(end)),
            Err(_) => Gathered::nothing().ended(Some(end)),
        }
    }
}
