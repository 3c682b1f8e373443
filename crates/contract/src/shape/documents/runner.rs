//! `runner` block (AIP-17): the shape of the process that a body runs in, and its typed value.

use serde::Deserialize;

use crate::shape::Strangers::Refused;
use crate::shape::Takes::{Formed, Integer, List, Map, Word};
use crate::shape::form::FILLED;
use crate::shape::{MovedField, Shape, optional};

/// The whole block.
pub static RUNNER: Shape = Shape {
    title: "the runner",
    strangers: Refused("R030"),
    fields: &[
        optional(
            "engine",
            "R001",
            Word(&["subprocess", "sandbox", "in-process"]),
            "Where the process runs.",
        )
        .or("\"subprocess\""),
        optional("image", "R002", Formed(&FILLED), "What the sandbox starts from."),
        optional("needs", "R003", Map(&NEEDS), "What the body depends on.").recorded(),
        optional("limits", "R004", Map(&LIMITS), "How much it may use."),
    ],
    moved: &[elsewhere("env"), elsewhere("fs"), elsewhere("network"), elsewhere("secrets")],
};

const fn elsewhere(name: &'static str) -> MovedField {
    MovedField {
        name,
        code: "R031",
        help: "a runner only says how the process runs; write it beside `runner`",
    }
}

static NEEDS: Shape = Shape {
    title: "`needs`",
    strangers: Refused(""),
    fields: &[
        optional("language", "", Word(&["node", "python", "multi"]), "The language."),
        optional("native", "", List(0, &Formed(&FILLED)), "Packages of the system.").or("[]"),
        optional("npm", "", List(0, &Formed(&FILLED)), "Packages of npm.").or("[]"),
        optional("pip", "", List(0, &Formed(&FILLED)), "Packages of pip.").or("[]"),
    ],
    moved: &[],
};

/// `limits` of a runner or a sandbox.
pub static LIMITS: Shape = Shape {
    title: "`limits`",
    strangers: Refused(""),
    fields: &[
        optional("memory_mb", "", Integer(1, i64::MAX), "Memory, in MiB."),
        optional("timeout_ms", "", Integer(1, i64::MAX), "Time on the clock, in milliseconds.")
            .recorded(),
        optional("cpu_ms", "", Integer(1, i64::MAX), "Time on the processor, in milliseconds."),
    ],
    moved: &[],
};

/// The runner of a driver.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum RunnerField {
    /// The name or path of a runner that another file holds.
    Elsewhere(String),
    /// The block itself.
    Block(RunnerBlock),
}

/// The process that a body runs in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RunnerBlock {
    /// Where the process runs; `subprocess` by default.
    pub engine: Option<String>,
    /// The image that a sandbox starts from.
    pub image: Option<String>,
    /// The most that the process may use.
    pub limits: RunnerLimits,
}

/// The most that a process may use.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RunnerLimits {
    /// Memory in MiB.
    pub memory_mb: Option<u64>,
    /// Processor time in milliseconds.
    pub cpu_ms: Option<u64>,
}
