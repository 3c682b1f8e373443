//! Shapes of `metadata.haft`: the fields of a contract and of a driver's `implements` entry that
//! Agent Tool and ARuntime ask for beyond AIP-14.

mod entry;

use crate::shape::Strangers::Refused;
use crate::shape::Takes::{
    Any, Either, Flag, Formed, Integer, List, Map, Names, Nullable, Schema, Set, Text, Word,
};
use crate::shape::form::{DATE, DURATION, EXPOSED_NAME, FILLED, POINTER, TEMPLATE};
use crate::shape::{Shape, optional, required};

pub use entry::{
    BasicLogin, BodyEncoding, BodyInputs, ENTRY, EntryExtras, EventSelection, Pagination,
    ParameterKind, ParameterStyle,
};

/// The seven tool classes.
pub const CLASSES: &[&str] = &[
    "read-only",
    "reversible-write",
    "irreversible",
    "financial-high-impact",
    "external-communication",
    "code-execution",
    "administrative",
];

/// `metadata.haft` of a TOOL.md.
pub static TOOL: Shape = Shape {
    title: "`metadata.haft`",
    strangers: Refused("E030"),
    fields: &[
        optional("title", "E001", Text(1, 200), "A title for people."),
        optional("aliases", "E002", Set(&Formed(&FILLED)), "Other names that older callers use."),
        optional(
            "exposed_as",
            "E022",
            Formed(&EXPOSED_NAME),
            "The name that models and clients see instead of the id.",
        ),
        optional("search_hint", "E003", Text(1, 200), "Three to ten words to find the tool by."),
        optional(
            "always_load",
            "E023",
            Flag,
            "Whether its schema is shown wherever it is seen, however many others there are.",
        )
        .or("false"),
        optional(
            "kind",
            "E004",
            Formed(&FILLED),
            "Agent Tool's `tool_kind`; follows the driver when absent.",
        ),
        optional("class", "E005", Set(&Word(CLASSES)), "What kind of effect the tool has."),
        optional(
            "resource",
            "E006",
            Formed(&TEMPLATE),
            "What the idempotency key and the locks are bound to.",
        ),
        optional("idempotency", "E007", Map(&IDEMPOTENCY), "How a repeated call is recognised."),
        optional(
            "status",
            "E008",
            Map(&STATUS),
            "How to learn what became of a call whose answer was lost.",
        ),
        optional("compensation", "E009", Map(&COMPENSATION), "How a call is undone."),
        optional("concurrency", "E010", Map(&CONCURRENCY), "What may run beside it."),
        optional("limits", "E046", List(0, &Map(&RATE)), "How often it may be called."),
        optional("interrupt", "E011", Word(&["cancel", "block"]), "What an interruption does.")
            .or("\"block\""),
        optional("supports_cancel", "E012", Flag, "Whether a running call can be called off."),
        optional(
            "background",
            "E024",
            Word(&["allowed", "required"]),
            "That it takes long: callers who can come back for the answer go on meanwhile, and \
             `required` refuses the others.",
        ),
        optional(
            "non_interactive",
            "E013",
            Word(&["ask", "deny"]),
            "What an ask becomes where no person can be asked.",
        ),
        optional("data", "E014", Map(&DATA), "How sensitive the input is."),
        optional(
            "result",
            "E015",
            Map(&RESULT),
            "How much of the result is shown and what is hidden.",
        ),
        optional("audit", "E016", List(0, &Formed(&POINTER)), "Values that may stand in the log."),
        optional("errors", "E017", List(0, &Map(&ERROR)), "Errors of the tool's own."),
        optional("lifecycle", "E018", Map(&LIFECYCLE), "When the tool came and when it goes."),
        optional(
            "context_schema",
            "E019",
            Schema,
            "A JSON Schema for what the host adds to each call.",
        ),
        optional("facts", "E020", Map(&FACTS), "Safety facts the author vouches for."),
        optional(
            "imported",
            "E021",
            Map(&IMPORTED),
            "Where the contract was imported from; what it says of itself is then not trusted.",
        ),
    ],
    moved: &[],
};

static IDEMPOTENCY: Shape = Shape {
    title: "`idempotency`",
    strangers: Refused(""),
    fields: &[
        optional(
            "mode",
            "",
            Word(&["none", "natural", "optional", "required"]),
            "Whether a key is used.",
        ),
        optional("key", "", Formed(&TEMPLATE), "The key when the caller gives none."),
        optional("ttl", "", Formed(&DURATION), "How long a key is remembered."),
        optional(
            "window",
            "",
            Formed(&DURATION),
            "How long an identical call without a key is the same intent.",
        ),
    ],
    moved: &[],
};

static STATUS: Shape = Shape {
    title: "`status`",
    strangers: Refused(""),
    fields: &[
        required("tool", "", Formed(&FILLED), "The tool that knows."),
        optional("input", "", Names(None, &Any), "Its input."),
        optional("committed", "", Formed(&FILLED), "The condition that says it happened."),
        optional("absent", "", Formed(&FILLED), "The condition that says it did not."),
        optional(
            "final_after",
            "",
            Formed(&DURATION),
            "How long after the time of an attempt `absent` is final; five seconds at least.",
        ),
        optional("output", "", Names(None, &Any), "The result to adopt when it happened."),
    ],
    moved: &[],
};

static COMPENSATION: Shape = Shape {
    title: "`compensation`",
    strangers: Refused(""),
    fields: &[
        required("tool", "", Formed(&FILLED), "The tool that undoes."),
        optional("input", "", Names(None, &Any), "Its input."),
        optional("approval", "", Word(&["auto", "on-mutate", "always"]), "Whether undoing asks."),
        optional("window", "", Formed(&DURATION), "How long undoing is possible."),
    ],
    moved: &[],
};

static CONCURRENCY: Shape = Shape {
    title: "`concurrency`",
    strangers: Refused(""),
    fields: &[
        optional(
            "safe",
            "",
            Either(&[Flag, Formed(&FILLED)]),
            "Whether calls may overlap, or an expression over the input.",
        ),
        optional("locks", "", List(0, &Formed(&TEMPLATE)), "What a call holds while it runs."),
        optional("max_parallel", "", Integer(1, i64::MAX), "How many may run at once."),
    ],
    moved: &[],
};

static RATE: Shape = Shape {
    title: "a limit",
    strangers: Refused(""),
    fields: &[
        required("per", "", Word(&["second", "minute", "hour", "day"]), "In how long."),
        required("value", "", Integer(1, i64::MAX), "How many calls."),
        optional(
            "scope",
            "",
            Word(&["actor", "tenant", "tool"]),
            "Whose calls are counted together.",
        )
        .or("tool"),
    ],
    moved: &[],
};

static DATA: Shape = Shape {
    title: "`data`",
    strangers: Refused(""),
    fields: &[
        optional("classification", "", Formed(&FILLED), "How sensitive the data is."),
        optional("sensitive", "", List(0, &Formed(&POINTER)), "Inputs that appear in no log."),
        optional("internal", "", List(0, &Formed(&POINTER)), "Inputs that no model may fill in."),
    ],
    moved: &[],
};

static RESULT: Shape = Shape {
    title: "`result`",
    strangers: Refused(""),
    fields: &[
        optional("max_inline_chars", "", Integer(1, i64::MAX), "How much is shown to a model."),
        optional(
            "persist",
            "",
            Word(&[
                "inline",
                "preview_and_persist",
                "ref_only",
                "redact",
                "drop_with_reason",
                "never_persist",
            ]),
            "What happens to the rest.",
        ),
        optional("redact", "", List(0, &Formed(&POINTER)), "Outputs that Haft redacts."),
    ],
    moved: &[],
};

static ERROR: Shape = Shape {
    title: "an error",
    strangers: Refused(""),
    fields: &[
        required("code", "", Formed(&FILLED), "Its code, with the tool's prefix."),
        optional("retryable", "", Flag, "Whether trying again can help."),
        optional("meaning", "", Text(1, 500), "What it means."),
    ],
    moved: &[],
};

static LIFECYCLE: Shape = Shape {
    title: "`lifecycle`",
    strangers: Refused(""),
    fields: &[
        optional(
            "state",
            "",
            Word(&[
                "draft",
                "available",
                "disabled",
                "requires_setup",
                "deferred",
                "deprecated",
                "retired",
            ]),
            "Where the tool stands.",
        ),
        optional("introduced", "", Nullable(&Formed(&DATE)), "The first day it may be called."),
        optional(
            "deprecated",
            "",
            Nullable(&Formed(&DATE)),
            "The first day it is no longer offered.",
        ),
        optional("removal", "", Nullable(&Formed(&DATE)), "The first day it is gone."),
        optional("replacement", "", Nullable(&Formed(&FILLED)), "What to call instead."),
    ],
    moved: &[],
};

static FACTS: Shape = Shape {
    title: "`facts`",
    strangers: Refused(""),
    fields: &[
        optional("read_only", "", Either(&[Flag, Formed(&FILLED)]), "Whether it changes nothing."),
        optional("destructive", "", Either(&[Flag, Formed(&FILLED)]), "Whether it can destroy."),
        optional(
            "open_world",
            "",
            Either(&[Flag, Formed(&FILLED)]),
            "Whether it can reach unlisted hosts.",
        ),
    ],
    moved: &[],
};

/// The source that a contract was imported from.
pub static IMPORTED: Shape = Shape {
    title: "`imported`",
    strangers: Refused(""),
    fields: &[
        required(
            "from",
            "",
            Word(&["mcp", "openapi", "cli", "agent-tool", "aruntime"]),
            "What kind of source.",
        ),
        required("source", "", Formed(&FILLED), "Which one."),
        optional("name", "", Formed(&FILLED), "What it is called there."),
        optional("operation", "", Formed(&FILLED), "Its `operationId` in an OpenAPI document."),
        optional(
            "effects",
            "",
            Word(&["vouched"]),
            "The workspace vouches for the effects that the contract states.",
        ),
    ],
    moved: &[],
};
