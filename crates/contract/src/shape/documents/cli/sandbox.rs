//! `sandbox` block of a program (AIP-29): its shape, and the typed value that the sandbox profile
//! is derived from.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::shape::Strangers::{Kept, Refused};
use crate::shape::Takes::{Flag, Formed, List, Map, Names, Text};
use crate::shape::documents::driver::{NETWORK, NetworkBlock};
use crate::shape::form::FILLED;
use crate::shape::{Shape, optional, required};

pub(super) static SANDBOX: Shape = Shape {
    title: "`sandbox`",
    strangers: Refused(""),
    fields: &[
        required("network", "", Map(&NETWORK), "Hosts it may reach."),
        required("fs", "", Map(&FILES), "Files it may touch."),
        required("exec", "", Map(&EXEC), "Programs it may start."),
        required("env", "", Map(&ENVIRONMENT), "Environment variables it sees."),
        optional("tty", "", Map(&TTY), "Whether it needs a terminal."),
    ],
    moved: &[],
};

pub(super) static KIND_SANDBOX: Shape = Shape {
    title: "`sandbox`",
    strangers: Refused(""),
    fields: &[
        optional("network", "", Map(&NETWORK), "Hosts it may reach."),
        optional("fs", "", Map(&FILES), "Files it may touch."),
        optional("exec", "", Map(&EXEC), "Programs it may start."),
        optional("env", "", Map(&ENVIRONMENT), "Environment variables it sees."),
        optional("tty", "", Map(&TTY), "Whether it needs a terminal."),
    ],
    moved: &[],
};

/// The block of a driver of another kind, which may hold fields of its own.
pub static DRIVER_SANDBOX: Shape =
    Shape { title: "`sandbox`", strangers: Kept, fields: KIND_SANDBOX.fields, moved: &[] };

static FILES: Shape = Shape {
    title: "`sandbox.fs`",
    strangers: Refused(""),
    fields: &[
        optional("read", "", List(0, &Formed(&FILLED)), "What it may read."),
        optional("write", "", List(0, &Formed(&FILLED)), "What it may write."),
        optional("deny", "", List(0, &Formed(&FILLED)), "What it may not touch in any case."),
    ],
    moved: &[],
};

static EXEC: Shape = Shape {
    title: "`sandbox.exec`",
    strangers: Refused(""),
    fields: &[
        required("allow", "", Flag, "Whether it may start others."),
        optional("spawn", "", List(0, &Formed(&FILLED)), "Which ones.").recorded(),
    ],
    moved: &[],
};

static ENVIRONMENT: Shape = Shape {
    title: "`sandbox.env`",
    strangers: Refused(""),
    fields: &[
        optional("pass", "", List(0, &Formed(&FILLED)), "Variables passed on."),
        optional("set", "", Names(None, &Text(0, usize::MAX)), "Variables set."),
    ],
    moved: &[],
};

static TTY: Shape = Shape {
    title: "`sandbox.tty`",
    strangers: Refused(""),
    fields: &[optional("required", "", Flag, "Whether it needs a terminal.")],
    moved: &[],
};

/// What a program may touch.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SandboxBlock {
    /// Its hosts; the driver's `network` where absent.
    pub network: Option<NetworkBlock>,
    /// Its files.
    pub fs: SandboxFiles,
    /// Whether it may start programs; it may where absent.
    pub exec: Option<SandboxExec>,
    /// Its environment.
    pub env: SandboxEnvironment,
    /// Its terminal.
    pub tty: Tty,
}

/// The files that a program may touch, as patterns.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SandboxFiles {
    /// Readable paths; the workspace where absent.
    pub read: Option<Vec<String>>,
    /// Writable paths; those that the contract lets change where absent.
    pub write: Option<Vec<String>>,
    /// Paths that stay hidden in any case.
    pub deny: Vec<String>,
}

/// Whether a program may start others.
#[derive(Clone, Debug, Deserialize)]
pub struct SandboxExec {
    /// Whether it may.
    pub allow: bool,
}

/// The environment of a program.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SandboxEnvironment {
    /// Variables that are passed on from Haft's environment.
    pub pass: Vec<String>,
    /// Variables that are set.
    pub set: BTreeMap<String, String>,
}

/// The terminal of a program.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Tty {
    /// Whether it needs one; a call has none.
    pub required: bool,
}
