//! `setup` of a program: the shape of what is asked and run once before it works, and its typed
//! value.

use crate::shape::Strangers::Refused;
use crate::shape::Takes::{Any, Either, Flag, Formed, Integer, List, Map, Text, Word};
use crate::shape::form::{FILLED, TextFormat, URL};
use crate::shape::{Shape, optional, required};
use haft_notation::Pattern;
use serde::Deserialize;

/// The kinds of step.
pub(super) const STEPS: &[(&str, &Shape)] = &[
    ("cmd", &STEP_CMD),
    ("prompt", &STEP_PROMPT),
    ("oauth", &STEP_OAUTH),
    ("external", &STEP_EXTERNAL),
];

static STEP_ID: TextFormat = TextFormat {
    what: "a step id",
    pattern: Some(Pattern::new(r"^[a-z0-9][a-z0-9\-]{0,63}$")),
    length: (1, 64),
    also: |_| None,
    help: "use lowercase letters, digits and dashes",
};

static STEP_CMD: Shape = Shape {
    title: "a `cmd` step",
    strangers: Refused(""),
    fields: &[
        required("id", "", Formed(&STEP_ID), "The step's id."),
        required("kind", "", Word(&["cmd"]), "A command."),
        optional("title", "", Text(0, 200), "What it does."),
        required("cmd", "", Formed(&FILLED), "The command."),
        optional("timeout_ms", "", Integer(100, i64::MAX), "How long it may take.").or("60000"),
        optional("interactive", "", Flag, "Whether a person is needed.").or("false"),
        optional("skip_if", "", Map(&SKIP), "When it is not needed."),
        optional("persist", "", Map(&PERSIST), "Where its answer goes."),
    ],
    moved: &[],
};

static STEP_PROMPT: Shape = Shape {
    title: "a `prompt` step",
    strangers: Refused(""),
    fields: &[
        required("id", "", Formed(&STEP_ID), "The step's id."),
        required("kind", "", Word(&["prompt"]), "A question."),
        optional("title", "", Text(0, 200), "What it is about."),
        required("prompt", "", Formed(&FILLED), "The question."),
        optional("type", "", Word(&["text", "select", "boolean", "secret"]), "What is answered.")
            .or("\"text\""),
        optional("default", "", Any, "The answer when none is given.").recorded(),
        optional(
            "options",
            "",
            Either(&[List(0, &Any), Map(&OPTIONS)]),
            "The answers to choose from.",
        ),
        optional("skip_if", "", Map(&SKIP), "When it is not needed."),
        optional("persist", "", Map(&PERSIST), "Where the answer goes."),
    ],
    moved: &[],
};

static STEP_OAUTH: Shape = Shape {
    title: "an `oauth` step",
    strangers: Refused(""),
    fields: &[
        required("id", "", Formed(&STEP_ID), "The step's id."),
        required("kind", "", Word(&["oauth"]), "A login."),
        optional("title", "", Text(0, 200), "What it is about."),
        required("secret_slug", "", Formed(&FILLED), "The secret it fills."),
        optional("skip_if", "", Map(&SKIP), "When it is not needed."),
        optional("persist", "", Map(&PERSIST), "Where the answer goes."),
    ],
    moved: &[],
};

static STEP_EXTERNAL: Shape = Shape {
    title: "an `external` step",
    strangers: Refused(""),
    fields: &[
        required("id", "", Formed(&STEP_ID), "The step's id."),
        required("kind", "", Word(&["external"]), "A page elsewhere."),
        optional("title", "", Text(0, 200), "What it is about."),
        required("url", "", Formed(&URL), "The page."),
        optional("callback", "", Map(&CALLBACK), "What it answers with.").recorded(),
        optional("skip_if", "", Map(&SKIP), "When it is not needed."),
        optional("persist", "", Map(&PERSIST), "Where the answer goes."),
    ],
    moved: &[],
};

static OPTIONS: Shape = Shape {
    title: "`options`",
    strangers: Refused(""),
    fields: &[
        required("cmd", "", Formed(&FILLED), "The command that prints them."),
        optional("timeout_ms", "", Integer(100, i64::MAX), "How long it may take.").or("30000"),
    ],
    moved: &[],
};

static SKIP: Shape = Shape {
    title: "`skip_if`",
    strangers: Refused(""),
    fields: &[
        required("cmd", "", Formed(&FILLED), "The command that knows."),
        optional("exit_code", "", Integer(0, 255), "What it exits with then.").or("0"),
        optional("timeout_ms", "", Integer(100, i64::MAX), "How long it may take.").or("5000"),
    ],
    moved: &[],
};

static PERSIST: Shape = Shape {
    title: "`persist`",
    strangers: Refused(""),
    fields: &[
        optional("env", "", Formed(&FILLED), "An environment variable."),
        optional("secret_slug", "", Formed(&FILLED), "A secret."),
        optional("cmd", "", Formed(&FILLED), "A command that takes `${value}`."),
    ],
    moved: &[],
};

static CALLBACK: Shape = Shape {
    title: "`callback`",
    strangers: Refused(""),
    fields: &[
        required("param", "", Formed(&FILLED), "The parameter that carries the answer."),
        optional("timeout_ms", "", Integer(1000, i64::MAX), "How long to wait.").or("600000"),
    ],
    moved: &[],
};

/// A set-up step, as it is written; its `kind` decides which fields it has.
#[derive(Clone, Debug, Deserialize)]
pub struct SetupEntry {
    /// Its id in records.
    pub id: String,
    /// `cmd`, `prompt`, `oauth` or `external`.
    pub kind: String,
    /// Its title for the person; its id where absent.
    pub title: Option<String>,
    /// The command of a `cmd` step.
    pub cmd: Option<String>,
    /// Timeout of the command in milliseconds; 60000 by default.
    pub timeout_ms: Option<u64>,
    /// Whether the command asks a person.
    #[serde(default)]
    pub interactive: bool,
    /// The question of a `prompt` step.
    pub prompt: Option<String>,
    /// The type of the answer; `secret` is never passed on.
    #[serde(rename = "type")]
    pub answer: Option<String>,
    /// The secret that an `oauth` step fills.
    pub secret_slug: Option<String>,
    /// The page of an `external` step.
    pub url: Option<String>,
    /// The command that shows that the step is not needed.
    pub skip_if: Option<SkipIf>,
    /// Where the answer goes.
    #[serde(default)]
    pub persist: Persist,
}

/// The command that shows that a step is not needed.
#[derive(Clone, Debug, Deserialize)]
pub struct SkipIf {
    /// The command.
    pub cmd: String,
    /// The exit code that means so; 0 by default.
    pub exit_code: Option<i32>,
    /// Timeout in milliseconds; 5000 by default.
    pub timeout_ms: Option<u64>,
}

/// Where the answer to a step goes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Persist {
    /// An environment variable.
    pub env: Option<String>,
    /// A secret.
    pub secret_slug: Option<String>,
    /// A command that takes it as `${value}`.
    pub cmd: Option<String>,
}
