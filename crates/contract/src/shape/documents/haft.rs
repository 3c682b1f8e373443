//! `metadata.haft` of a contract and of a driver's `implements` entry: what Agent Tool and ARuntime
//! ask for beyond AIP-14.

use crate::shape::Strangers::Refused;
use crate::shape::Takes::{
    Any, Either, Flag, Formed, Integer, List, Map, Names, Nullable, Object, Schema, Set, Text, Word,
};
use crate::shape::form::{DATE, DURATION, ENVIRONMENT_NAME, FILLED, JSON_PATH, POINTER, TEMPLATE};
use crate::shape::{Shape, optional, required};

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
        optional("search_hint", "E003", Text(1, 200), "Three to ten words to find the tool by."),
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
            "non_interactive",
            "E013",
            Word(&["ask", "deny"]),
            "What an ask becomes where nobody can be asked.",
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
        optional("redact", "", List(0, &Formed(&POINTER)), "Outputs that nobody is shown."),
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

/// Where a contract was imported from.
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
        optional(
            "effects",
            "",
            Word(&["vouched"]),
            "Somebody here vouches for the effects that the contract states.",
        ),
    ],
    moved: &[],
};

/// `metadata.haft` of a driver's `implements` entry.
pub static ENTRY: Shape = Shape {
    title: "`metadata.haft` of an `implements` entry",
    strangers: Refused("E031"),
    fields: &[
        optional(
            "enforces_key",
            "E040",
            Flag,
            "Whether the backend itself refuses a second use of a key.",
        ),
        optional("status", "E041", Map(&STATUS), "How this driver learns what became of a call."),
        optional(
            "submitted",
            "E042",
            Word(&["on_connect", "on_write"]),
            "When a call counts as submitted.",
        ),
        optional(
            "body",
            "E043",
            Word(&["json", "form", "multipart", "text"]),
            "How an HTTP body is written.",
        ),
        optional("pagination", "E044", Map(&PAGINATION), "How a backend gives the next page."),
        optional("status_map", "E045", Names(None, &Formed(&FILLED)), "HTTP status to error code."),
        optional(
            "not_committed",
            "E061",
            Set(&Either(&[Integer(1, 255), Formed(&FILLED)])),
            "Exit codes, or exceptions, that vouch for nothing having happened.",
        ),
        optional(
            "secret_files",
            "E062",
            Names(Some(&ENVIRONMENT_NAME), &Formed(&FILLED)),
            "Secrets that the program reads from a file: the variable with its path, and the secret.",
        ),
        optional(
            "dash_values",
            "E063",
            Flag,
            "Whether a value may begin with a dash where it could be taken for an option.",
        ),
        optional("client_options", "E064", Object, "Options for the client of an SDK function."),
        optional("basic", "E047", Map(&BASIC), "The secrets of a login by name and password."),
        optional(
            "query_style",
            "E048",
            Names(None, &Map(&STYLE)),
            "How lists and objects are written into a query or a form.",
        ),
        optional(
            "events",
            "E049",
            Word(&["all", "last"]),
            "Which events of a stream the result is made of.",
        )
        .or("all"),
        optional(
            "body_inputs",
            "E065",
            Either(&[Formed(&FILLED), Set(&Formed(&FILLED))]),
            "The input that is the body, or the inputs that its fields are; an empty list is no body.",
        ),
        optional("cookies", "E066", Names(None, &Formed(&TEMPLATE)), "Cookies of the request."),
        optional(
            "wrap",
            "E067",
            Formed(&FILLED),
            "The name under which the answer stands in the output, where it is no object.",
        ),
    ],
    moved: &[],
};

static PAGINATION: Shape = Shape {
    title: "`pagination`",
    strangers: Refused(""),
    fields: &[
        optional(
            "style",
            "",
            Word(&["cursor", "page", "offset", "link"]),
            "What asks for the next page: what the last one says, a number of pages or of items, or an address.",
        )
        .or("cursor"),
        required("items", "", Formed(&JSON_PATH), "Where the items of a page are."),
        optional("next", "", Formed(&JSON_PATH), "Where a page names the next."),
        optional("param", "", Formed(&FILLED), "The query parameter that asks for it."),
        optional("start", "", Integer(0, i64::MAX), "The number of the first page or item."),
        optional("limit_param", "", Formed(&FILLED), "The query parameter that says how many."),
        optional("limit", "", Integer(1, i64::MAX), "How many items a full page has."),
        optional("most_pages", "", Integer(1, 1000), "How many pages at most.").or("20"),
    ],
    moved: &[],
};

static BASIC: Shape = Shape {
    title: "`basic`",
    strangers: Refused(""),
    fields: &[
        required("user", "", Formed(&FILLED), "The secret that is the name."),
        required("password", "", Formed(&FILLED), "The secret that is the password."),
    ],
    moved: &[],
};

static STYLE: Shape = Shape {
    title: "a style",
    strangers: Refused(""),
    fields: &[
        optional(
            "style",
            "",
            Word(&["form", "spaceDelimited", "pipeDelimited", "deepObject"]),
            "As OpenAPI calls it.",
        )
        .or("form"),
        optional("explode", "", Flag, "Whether each item stands for itself."),
    ],
    moved: &[],
};
