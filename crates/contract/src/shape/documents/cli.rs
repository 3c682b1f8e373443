//! Shapes of `CLI.md` bundles and `kind: cli` (AIP-29).

mod kind;
mod sandbox;
mod setup;

use crate::shape::Strangers::Refused;
use crate::shape::Takes::{
    Either, Flag, Formed, Integer, Kinds, List, Map, Names, Object, Set, Text, Word,
};
use crate::shape::documents::driver::{AUTH_STATE, INSTALL, MACHINE, VERSION_CHECK};
use crate::shape::form::{self, CLI_ID, FILLED, SHORT_TAG, TextFormat, VERSION};
use crate::shape::{Shape, optional, required};
use haft_notation::Pattern;
use kind::OUTPUT;
use sandbox::SANDBOX;
use setup::STEPS;

pub use kind::{CliEntry, CliFields, CliOutput, ENTRY, KIND, OutputFormat, OutputStream};
pub use sandbox::{
    DRIVER_SANDBOX, SandboxBlock, SandboxEnvironment, SandboxExec, SandboxFiles, Tty,
};
pub use setup::{Persist, SetupEntry, SkipIf};

/// A program's name or path: one token.
static BIN: TextFormat = TextFormat {
    what: "the name of a program",
    pattern: Some(Pattern::new(r"^[A-Za-z0-9._\-/]+$")),
    length: (1, usize::MAX),
    also: |_| None,
    help: "write one word without spaces; arguments go into `bin_args`",
};

static EXPIRY_SIGN: TextFormat = TextFormat {
    what: "a sign of expiry",
    pattern: Some(Pattern::new(r"^exit_code:\d+$")),
    length: (1, usize::MAX),
    also: |_| None,
    help: "write `exit_code:N`",
};

/// A whole bundle.
pub static CLI: Shape = Shape {
    title: "CLI.md",
    strangers: Refused("C030"),
    fields: &[
        required("name", "C001", Text(1, 80), "The bundle's name for people."),
        required("id", "C002", Formed(&CLI_ID), "The bundle's id, without dots."),
        required("description", "C003", Text(1, 2000), "What the program is."),
        required("version", "C004", Formed(&VERSION), "The bundle's semantic version."),
        required("bin", "C005", Formed(&BIN), "The program."),
        optional("bin_args", "C006", List(0, &Text(0, usize::MAX)), "Arguments before all others."),
        required("install", "C007", List(1, &Map(&INSTALL)), "Ways to install it, tried in order."),
        required("version_check", "C008", Map(&VERSION_CHECK), "How to learn its version."),
        optional("auth", "C009", Map(&AUTH), "How to log in."),
        optional(
            "setup",
            "C010",
            List(0, &Kinds("kind", STEPS)),
            "What to do once after installing.",
        ),
        required("sandbox", "C011", Map(&SANDBOX), "What it may touch."),
        optional("output", "C012", Map(&OUTPUT), "How its output is read."),
        required(
            "commands",
            "C013",
            Names(None, &Either(&[Formed(&FILLED), Object])),
            "Subcommands, down to the TOOL.md each serves.",
        ),
        optional("actions", "C014", List(0, &Map(&ACTION)), "Actions it offers."),
        optional("intents", "C014", List(0, &Map(&ACTION)), "The prose's name for `actions`."),
        optional("requires", "C015", Map(&MACHINE), "What machine it needs."),
        optional("examples", "C016", List(0, &Map(&EXAMPLE)), "What people do with it."),
        optional("tags", "C017", Set(&Formed(&SHORT_TAG)), "Words to find it by."),
        optional(
            "metadata",
            "C018",
            Object,
            "Hints for hosts; `metadata.cli` has the command lines.",
        ),
        optional("runner", "C019", Either(&[Formed(&FILLED), Object]), "Where it runs."),
        optional("driver_kind", "C020", Word(&["cli"]), "`cli`, which AIP-30 asks for."),
    ],
    moved: &[discouraged("shell"), discouraged("env"), discouraged("cwd")],
};

const fn discouraged(name: &'static str) -> crate::shape::MovedField {
    crate::shape::MovedField {
        name,
        code: "C031",
        help: "no shell runs it; environment and folders are opened under `sandbox`",
    }
}

static AUTH: Shape = Shape {
    title: "`auth`",
    strangers: Refused(""),
    fields: &[
        optional("ref", "", Formed(&FILLED), "A SECRETS.md."),
        optional("state", "", Map(&AUTH_STATE), "Where a login is kept."),
        optional("login", "", Map(&LOGIN), "How to log in."),
        optional("refresh", "", Map(&REFRESH), "How to renew a login."),
        optional("expiry", "", Map(&EXPIRY), "How to see that a login ran out."),
    ],
    moved: &[],
};

static LOGIN: Shape = Shape {
    title: "`auth.login`",
    strangers: Refused(""),
    fields: &[
        required("cmd", "", Formed(&FILLED), "The command that logs in."),
        optional("interactive", "", Flag, "Whether a person is needed."),
        optional("requires_callback_url", "", Flag, "Whether a page calls back."),
        optional("completes_when", "", Map(&COMPLETES), "How to see that it worked."),
    ],
    moved: &[],
};

static COMPLETES: Shape = Shape {
    title: "`completes_when`",
    strangers: Refused(""),
    fields: &[
        required("cmd", "", Formed(&FILLED), "A command to run."),
        optional("exit_code", "", Integer(0, 255), "What it must exit with."),
    ],
    moved: &[],
};

static REFRESH: Shape = Shape {
    title: "`auth.refresh`",
    strangers: Refused(""),
    fields: &[
        required("cmd", "", Text(0, usize::MAX), "The command that renews."),
        optional("every", "", Formed(&form::DURATION), "How often."),
    ],
    moved: &[],
};

static EXPIRY: Shape = Shape {
    title: "`auth.expiry`",
    strangers: Refused(""),
    fields: &[required("detect", "", Formed(&EXPIRY_SIGN), "`exit_code:N`.")],
    moved: &[],
};

static ACTION: Shape = Shape {
    title: "an action",
    strangers: Refused(""),
    fields: &[required("ref", "", Formed(&FILLED), "Which one.")],
    moved: &[],
};

static EXAMPLE: Shape = Shape {
    title: "an example",
    strangers: Refused(""),
    fields: &[
        required("goal", "", Formed(&FILLED), "What the user wants."),
        required("cmd", "", Formed(&FILLED), "How they get it."),
        optional("note", "", Text(0, usize::MAX), "For the reader."),
    ],
    moved: &[],
};
