//! Shape of the `runner` block (AIP-17): the process that a body runs in.

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
        optional("needs", "R003", Map(&NEEDS), "What the body depends on."),
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
        optional("timeout_ms", "", Integer(1, i64::MAX), "Time on the clock, in milliseconds."),
        optional("cpu_ms", "", Integer(1, i64::MAX), "Time on the processor, in milliseconds."),
    ],
    moved: &[],
};
