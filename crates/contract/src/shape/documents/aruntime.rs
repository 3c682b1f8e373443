//! Shape of ARuntime: the contract of one tool, as JSON.
//!
//! Its schema is not published, so a field's inner shape is read where it is plain and kept where it
//! is not, and words may be written in kebab-case, camelCase or snake_case.

use haft_model::EffectClass;
use haft_notation::NotationFault;

use crate::foreign;
use crate::shape::Strangers::Kept;
use crate::shape::Takes::{
    Any, Either, Flag, Formed, Integer, List, Map, Names, Number, Object, Schema,
};
use crate::shape::documents::haft::{CLASSES, IMPORTED};
use crate::shape::form::{DATE, DURATION, FILLED, TEMPLATE, TextFormat, VERSION};
use crate::shape::{Shape, Takes, maybe, required};

/// How a repeated call is recognised, and the longer words for it.
pub const MODES: &[(&str, &str)] = &[
    ("none", "none"),
    ("natural", "natural"),
    ("optional", "optional"),
    ("required", "required"),
    ("key-optional", "optional"),
    ("key-required", "required"),
];

/// Whether undoing asks.
pub const APPROVALS: &[(&str, &str)] =
    &[("auto", "auto"), ("on-mutate", "on-mutate"), ("always", "always")];

static TOOL_NAME: TextFormat = form("a tool id", |text| {
    let known = foreign::fold(foreign::split_version(text).0).is_some();
    (!known).then(|| refuse(text, "a tool id", "use 2 to 80 letters, digits, dots and dashes"))
});

static CLASS: TextFormat = form("a class of effect", |text| {
    let known = EffectClass::parse(text).is_some();
    (!known)
        .then(|| refuse(text, "a class of effect", &format!("use one of {}", CLASSES.join(", "))))
});

static MODE: TextFormat = form("a mode", |text| {
    let known = word(MODES, text).is_some();
    (!known).then(|| refuse(text, "a mode", "use none, natural, optional or required"))
});

static APPROVAL: TextFormat = form("an approval class", |text| {
    let known = word(APPROVALS, text).is_some();
    (!known).then(|| refuse(text, "an approval class", "use auto, on-mutate or always"))
});

const fn form(what: &'static str, also: fn(&str) -> Option<NotationFault>) -> TextFormat {
    TextFormat { what, pattern: None, length: (1, usize::MAX), also, help: "write something" }
}

fn refuse(text: &str, what: &str, help: &str) -> NotationFault {
    NotationFault::new(format!("`{text}` is not {what}")).help(help)
}

/// Our word for one of theirs, in whichever of the three spellings.
pub(crate) fn word(words: &[(&'static str, &'static str)], text: &str) -> Option<&'static str> {
    let plain = |text: &str| text.replace(['-', '_'], "").to_lowercase();
    words.iter().find(|(theirs, _)| plain(theirs) == plain(text)).map(|(_, ours)| *ours)
}

const TEXTS: Takes = List(0, &Formed(&FILLED));

/// A whole contract.
pub static CONTRACT: Shape = Shape {
    title: "an ARuntime contract",
    strangers: Kept,
    fields: &[
        required("toolId", "V001", Formed(&TOOL_NAME), "The tool's id."),
        required("version", "V002", Formed(&VERSION), "The contract's semantic version."),
        required("description", "V003", Formed(&FILLED), "What the tool does."),
        required("inputSchema", "V004", Schema, "A JSON Schema for what goes in."),
        required("outputSchema", "V005", Schema, "A JSON Schema for what comes out."),
        maybe(
            "dataClassification",
            "V006",
            &Either(&[Formed(&FILLED), TEXTS, Object]),
            "How sensitive the data is.",
        ),
        maybe(
            "egressPolicy",
            "V007",
            &Either(&[TEXTS, Map(&EGRESS), Formed(&FILLED)]),
            "The hosts it may reach, as a list or as `allow`.",
        ),
        maybe(
            "authenticationRef",
            "V008",
            &Either(&[Formed(&FILLED), TEXTS]),
            "The secrets it uses, by reference.",
        ),
        maybe("permissionClass", "V009", &Any, "The grant that a caller needs."),
        maybe(
            "approvalTriggers",
            "V010",
            &Either(&[List(0, &Any), Formed(&FILLED)]),
            "When a person or `policy:<name>` has to approve; an empty list needs no approval.",
        ),
        maybe(
            "sideEffectClass",
            "V011",
            &Either(&[Formed(&CLASS), List(1, &Formed(&CLASS))]),
            "What kind of effect the tool has; several may hold.",
        ),
        maybe(
            "idempotency",
            "V012",
            &Either(&[Formed(&MODE), Map(&IDEMPOTENCY)]),
            "How a repeated call is recognised.",
        ),
        maybe(
            "compensation",
            "V013",
            &Either(&[Formed(&TOOL_NAME), Map(&COMPENSATION), Object]),
            "How a call is undone.",
        ),
        maybe("timeoutSeconds", "V014", &Number(0.001), "The longest a call may take, in seconds."),
        maybe(
            "retryPolicy",
            "V015",
            &Either(&[Map(&RETRY), Formed(&FILLED)]),
            "How often a call may be attempted at most.",
        ),
        maybe(
            "concurrency",
            "V016",
            &Either(&[POSITIVE, Map(&CONCURRENCY), Formed(&FILLED)]),
            "How many calls may run at once.",
        ),
        maybe("rateLimits", "V017", &Any, "How often it may be called."),
        maybe(
            "errors",
            "V018",
            &Either(&[List(0, &Either(&[Formed(&FILLED), Map(&ERROR)])), Object]),
            "Errors of the tool's own.",
        ),
        maybe("observability", "V019", &Any, "What is measured."),
        maybe("auditFields", "V020", &TEXTS, "Inputs whose values may stand in the log."),
        maybe("deprecation", "V021", &Map(&DEPRECATION), "When the tool came and when it goes."),
        maybe("imported", "V022", &Map(&IMPORTED), "Where the contract was imported from."),
    ],
    moved: &[],
};

const POSITIVE: Takes = Integer(1, i64::MAX);

static EGRESS: Shape = Shape {
    title: "`egressPolicy`",
    strangers: Kept,
    fields: &[maybe("allow", "", &TEXTS, "The hosts it may reach.")],
    moved: &[],
};

static IDEMPOTENCY: Shape = Shape {
    title: "`idempotency`",
    strangers: Kept,
    fields: &[
        maybe("mode", "", &Formed(&MODE), "Whether a key is used."),
        maybe("key", "", &Formed(&TEMPLATE), "The key when the caller gives none."),
        maybe("ttl", "", &Formed(&DURATION), "How long a key is remembered."),
        maybe("window", "", &Formed(&DURATION), "How long an identical call is the same intent."),
    ],
    moved: &[],
};

static COMPENSATION: Shape = Shape {
    title: "`compensation`",
    strangers: Kept,
    fields: &[
        required("toolId", "", Formed(&TOOL_NAME), "The tool that undoes."),
        maybe("input", "", &Names(None, &Any), "Its input."),
        maybe("approval", "", &Formed(&APPROVAL), "Whether undoing asks."),
        maybe("window", "", &Formed(&DURATION), "How long undoing is possible."),
    ],
    moved: &[],
};

static RETRY: Shape = Shape {
    title: "`retryPolicy`",
    strangers: Kept,
    fields: &[
        maybe("maxAttempts", "", &POSITIVE, "Attempts in all."),
        maybe("backoff", "", &Formed(&FILLED), "How the wait between attempts grows."),
        maybe("initialMs", "", &Integer(0, i64::MAX), "The first wait, in milliseconds."),
    ],
    moved: &[],
};

static CONCURRENCY: Shape = Shape {
    title: "`concurrency`",
    strangers: Kept,
    fields: &[
        maybe("maxParallel", "", &POSITIVE, "How many calls may run at once."),
        maybe("safe", "", &Flag, "Whether calls may overlap."),
    ],
    moved: &[],
};

static ERROR: Shape = Shape {
    title: "an error",
    strangers: Kept,
    fields: &[
        required("code", "", Formed(&FILLED), "Its code."),
        maybe("retryable", "", &Flag, "Whether trying again can help."),
        maybe("meaning", "", &Formed(&FILLED), "What it means."),
        maybe("description", "", &Formed(&FILLED), "What it means."),
    ],
    moved: &[],
};

static DEPRECATION: Shape = Shape {
    title: "`deprecation`",
    strangers: Kept,
    fields: &[
        maybe("introduced", "", &Formed(&DATE), "The first day it may be called."),
        maybe("deprecated", "", &Formed(&DATE), "The first day it is no longer offered."),
        maybe("removal", "", &Formed(&DATE), "The first day it is gone."),
        maybe("replacement", "", &Formed(&TOOL_NAME), "What to call instead."),
    ],
    moved: &[],
};
