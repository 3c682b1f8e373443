//! Shape of `TOOL.md`: the contract of one tool (AIP-14).

use crate::shape::Strangers::Refused;
use crate::shape::Takes::{
    Any, Either, Flag, Formed, Integer, List, Map, Nullable, Schema, Set, Text, Word,
};
use crate::shape::documents::action::INLINE;
use crate::shape::documents::haft;
use crate::shape::form::{APPROVAL, DRIVER_ID, FILLED, MUTATION, TAG, TOOL_ID, VERSION};
use crate::shape::{Field, MovedField, Shape, Strangers, optional, required};

/// The kinds of driver.
pub const KINDS: &[&str] = &["cli", "http", "mcp", "sdk", "builtin"];

/// The whole frontmatter.
pub static TOOL: Shape = Shape {
    title: "TOOL.md",
    strangers: Refused("T030"),
    fields: &[
        required("name", "T001", Text(1, 80), "The tool's name for people, 1 to 80 characters."),
        required(
            "id",
            "T002",
            Formed(&TOOL_ID),
            "The tool's id for machines; dots are namespaces.",
        ),
        required(
            "description",
            "T003",
            Text(1, 2000),
            "What the tool does and when to use it, written for a model, at most 2000 characters.",
        ),
        required("version", "T004", Formed(&VERSION), "The contract's semantic version."),
        required("inputs", "T005", Schema, "A JSON Schema 2020-12 object for what goes in."),
        required("outputs", "T006", Schema, "A JSON Schema 2020-12 object for what comes out."),
        optional("idempotent", "T007", Flag, "Whether running it twice does no more than once.")
            .or("false"),
        optional(
            "mutates",
            "T008",
            List(0, &Formed(&MUTATION)),
            "What the tool may change, as `<class>:<scope>`; an empty list says it only reads.",
        ),
        optional("requires", "T009", Map(&REQUIRES), "The hosts, secrets and tools it needs."),
        optional("approval", "T010", Formed(&APPROVAL), "When a person has to agree.")
            .or("\"auto\""),
        optional(
            "risk_level",
            "T011",
            Integer(0, 3),
            "0 reads, 1 writes in a scope, 2 reaches outside, 3 cannot be undone.",
        ),
        optional(
            "cost_class",
            "T012",
            Word(&["trivial", "metered", "expensive"]),
            "What a call costs in kind.",
        )
        .or("\"trivial\""),
        optional(
            "timeout_ms",
            "T013",
            Integer(1, i64::MAX),
            "The longest a call may take, in milliseconds; drivers may only shorten it.",
        )
        .or("30000"),
        optional("retry", "T014", Map(&RETRY), "How often a call may be attempted at most."),
        optional(
            "default_implementation",
            "T015",
            Nullable(&Formed(&DRIVER_ID)),
            "The driver to prefer.",
        ),
        optional(
            "implements",
            "T016",
            Nullable(&Either(&[Formed(&FILLED), Map(&ACTION_REF)])),
            "The action whose floor this tool inherits.",
        ),
        optional(
            "driver_constraints",
            "T017",
            Map(&CONSTRAINTS),
            "Kinds of driver that may or must not serve the tool.",
        ),
        optional("tags", "T018", Set(&Formed(&TAG)), "Words to find the tool by."),
        optional(
            "examples",
            "T019",
            List(0, &Map(&EXAMPLE)),
            "Inputs and outputs that every driver has to satisfy.",
        ),
        optional(
            "metadata",
            "T020",
            Map(&METADATA),
            "Hints for hosts; `metadata.haft` is read by Haft.",
        ),
        optional(
            "contextSchema",
            "T021",
            Schema,
            "A JSON Schema for what the host adds to each call; `metadata.contextSchema` is the published place.",
        ),
    ],
    moved: &[
        moved(
            "code",
            "`code` moved to DRIVER.md in AIP-30: write it in a driver whose `implements` names this tool",
        ),
        moved(
            "run",
            "`run` moved to DRIVER.md in AIP-30: write `run` in a driver whose `implements` names this tool",
        ),
        moved("runner", "`runner` moved to DRIVER.md in AIP-30: write `runner` in the driver"),
        moved(
            "secrets",
            "`secrets` moved to DRIVER.md in AIP-30: point `auth.ref` of the driver at a SECRETS.md",
        ),
        moved(
            "network",
            "`network` moved to DRIVER.md in AIP-30: write `network.egress` in the driver, and the hosts under `requires.network` here",
        ),
        moved(
            "entry",
            "`entry` moved to DRIVER.md in AIP-30: the driver's `execute` holds the body",
        ),
        moved("execute", "a contract has no body: AIP-30 puts it into a DRIVER.md"),
        discouraged("async"),
        discouraged("streaming"),
        discouraged("priority"),
        discouraged("model"),
        discouraged("temperature"),
        MovedField {
            name: "inputsFiles",
            code: "T032",
            help: "files belong to workflows (AIP-16); a tool takes and gives JSON",
        },
        MovedField {
            name: "outputsFiles",
            code: "T032",
            help: "files belong to workflows (AIP-16); a tool takes and gives JSON",
        },
        MovedField {
            name: "default_driver",
            code: "T032",
            help: "`default_driver` is called `default_implementation` now",
        },
    ],
};

const fn moved(name: &'static str, help: &'static str) -> MovedField {
    MovedField { name, code: "T031", help }
}

const fn discouraged(name: &'static str) -> MovedField {
    MovedField { name, code: "T032", help: "this is a driver's concern: write it in DRIVER.md" }
}

/// `requires` of a tool or an action.
pub static REQUIRES: Shape = Shape {
    title: "`requires`",
    strangers: Refused(""),
    fields: &[
        optional("network", "", List(0, &Formed(&FILLED)), "Hosts the tool reaches; `*` is any."),
        optional("secrets", "", List(0, &Formed(&FILLED)), "Slugs of the secrets it uses."),
        optional("tools", "", List(0, &Formed(&FILLED)), "Ids of the tools it calls."),
    ],
    moved: &[],
};

static RETRY: Shape = Shape {
    title: "`retry`",
    strangers: Refused(""),
    fields: &[
        required("max_attempts", "", Integer(1, 20), "Attempts in all, 1 to 20."),
        required("backoff", "", Word(BACKOFFS), "How the wait between attempts grows."),
        optional("initial_ms", "", Integer(0, i64::MAX), "The first wait, in milliseconds."),
    ],
    moved: &[],
};

/// How waits grow.
pub const BACKOFFS: &[&str] = &["fixed", "exponential"];

/// An action given as a map: one of these three.
static ACTION_REF: Shape =
    Shape { title: "`implements`", strangers: Refused(""), fields: ACTION_FORMS, moved: &[] };

const ACTION_FORMS: &[Field] = &[
    optional("ref", "", Formed(&FILLED), "A registry reference."),
    optional("file", "", Formed(&FILLED), "A path to an ACTION.md."),
    optional("inline", "", Map(&INLINE), "The action itself."),
];

static CONSTRAINTS: Shape = Shape {
    title: "`driver_constraints`",
    strangers: Refused(""),
    fields: &[
        optional("forbid", "", Set(&Word(KINDS)), "Kinds that may never serve the tool."),
        optional("require_kind", "", Set(&Word(KINDS)), "The only kinds that may serve it."),
    ],
    moved: &[],
};

static EXAMPLE: Shape = Shape {
    title: "an example",
    strangers: Refused(""),
    fields: &[
        required("name", "", Formed(&FILLED), "What the example shows."),
        required("input", "", Any, "What goes in."),
        optional("output", "", Any, "What has to come out."),
        optional("note", "", Text(0, usize::MAX), "For the reader."),
    ],
    moved: &[],
};

static METADATA: Shape = Shape {
    title: "`metadata`",
    strangers: Strangers::Kept,
    fields: &[
        optional("haft", "", Map(&haft::TOOL), "What Haft reads beyond AIP-14."),
        optional(
            "contextSchema",
            "T021",
            Schema,
            "A JSON Schema for what the host adds to each call.",
        ),
    ],
    moved: &[],
};
