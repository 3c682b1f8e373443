//! Shape of `POLICY.md` of schema `policy/v1`: grants, limits and requirements (AIP-38).

use crate::shape::Strangers::{Kept, Refused};
use crate::shape::Takes::{
    Either, Flag, Formed, Integer, List, Map, Names, Number, Object, Text, Word,
};
use crate::shape::form::{DATE_TIME, FILLED, TextFormat, VERSION, pattern};
use crate::shape::{Shape, Takes, optional, required};

/// An address such as `@acme/marketing`; examples nest deeper than the published pattern.
pub static ADDRESS: TextFormat = pattern(
    "an address",
    r"^@[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)+$",
    (4, usize::MAX),
    "write `@owner/name` in lowercase letters, digits and dashes",
);

/// A principal by scheme.
static PRINCIPAL: TextFormat = pattern(
    "a principal",
    r"^(\*|(operator|user|org|guild|bot|group|role)://\S+|@[^\s/]+/\S+)$",
    (1, usize::MAX),
    "write `*`, `@owner/name`, or a scheme such as `user://ana`, `bot://*` or `role://owner`",
);

/// An action by id, path or address; a star stands at the end only.
static ACTION_REFERENCE: TextFormat = pattern(
    "an action",
    r"^[^\s*]*\*?$",
    (1, usize::MAX),
    "write an id such as `storage:commit`, or `storage:*` for all that begin so",
);

/// The whole frontmatter.
pub static POLICY: Shape = Shape {
    title: "POLICY.md",
    strangers: Refused("P030"),
    fields: &[
        required("schema", "P001", Word(&["policy/v1"]), "`policy/v1`."),
        optional("id", "P002", Formed(&ADDRESS), "The policy's address, `@owner/name`."),
        optional("version", "P003", Formed(&VERSION), "Its semantic version."),
        optional("default", "P004", Word(&["allow", "deny"]), "What holds where no grant speaks.")
            .or("\"deny\""),
        optional("grants", "P005", List(0, &Map(&GRANT)), "Who may do what.").or("[]"),
        optional("limits", "P006", List(0, &Map(&LIMIT)), "Caps on use.").or("[]"),
        optional(
            "requirements",
            "P007",
            List(0, &Map(&REQUIREMENT)),
            "What must hold for every grant.",
        )
        .or("[]"),
        optional("defaults", "P008", Names(None, &Object), "Settings of other blocks, by block.")
            .or("{}"),
        optional("metadata", "P009", Object, "Hints for hosts."),
    ],
    moved: &[],
};

static GRANT: Shape = Shape {
    title: "a grant",
    strangers: Refused(""),
    fields: &[
        required("principal", "", Either(IDENTITIES), "Whom it is for."),
        required("actions", "", List(1, &Map(&ACTION)), "What they may do, at least one action."),
        optional("conditions", "", List(0, &Map(&CONDITION)), "What must hold, all of it."),
        optional(
            "ttl_seconds",
            "",
            Integer(1, i64::MAX),
            "How long it lasts from `granted_at`, in seconds.",
        ),
        optional("granted_at", "", Formed(&DATE_TIME), "When it was given."),
        optional("granted_by", "", Either(IDENTITIES), "Who gave it."),
        optional("revoked", "", Flag, "Whether it was taken back.").or("false"),
    ],
    moved: &[],
};

static ACTION: Shape = Shape {
    title: "a granted action",
    strangers: Refused(""),
    fields: &[
        required("action", "", Formed(&ACTION_REFERENCE), "The action; `prefix:*` is many."),
        optional("scope", "", Text(0, usize::MAX), "What it is narrowed to."),
    ],
    moved: &[],
};

static CONDITION: Shape = Shape {
    title: "a condition",
    strangers: Kept,
    fields: &[required("kind", "", Formed(&FILLED), "What is looked at.")],
    moved: &[],
};

static LIMIT: Shape = Shape {
    title: "a limit",
    strangers: Kept,
    fields: &[
        required("kind", "", Formed(&FILLED), "What is counted."),
        required("value", "", Number(0.0), "How much is too much."),
        optional("scope", "", Text(0, usize::MAX), "For whom it is counted."),
        optional("per", "", Word(&["second", "minute", "hour", "day"]), "In what time."),
        optional("applies_to", "", List(0, &Formed(&ACTION_REFERENCE)), APPLIES_TO),
    ],
    moved: &[],
};

static REQUIREMENT: Shape = Shape {
    title: "a requirement",
    strangers: Kept,
    fields: &[
        required("kind", "", Formed(&FILLED), "What is asked."),
        optional("applies_to", "", List(0, &Formed(&ACTION_REFERENCE)), APPLIES_TO),
    ],
    moved: &[],
};

const APPLIES_TO: &str = "Which actions; none means all.";

/// A principal: by scheme, by reference, by file, or written out (AIP-23).
pub static IDENTITIES: &[Takes] =
    &[Formed(&PRINCIPAL), Map(&BY_REFERENCE), Map(&BY_FILE), Map(&PERSON)];

static BY_REFERENCE: Shape = Shape {
    title: "a principal by reference",
    strangers: Kept,
    fields: &[
        required("ref", "", Formed(&FILLED), "A registry reference."),
        optional("role", "", Text(0, usize::MAX), "The role they must hold."),
    ],
    moved: &[],
};

static BY_FILE: Shape = Shape {
    title: "a principal by file",
    strangers: Kept,
    fields: &[
        required("file", "", Formed(&FILLED), "A file that describes them."),
        optional("role", "", Text(0, usize::MAX), "The role they must hold."),
    ],
    moved: &[],
};

static PERSON: Shape = Shape {
    title: "a person",
    strangers: Kept,
    fields: &[
        required("name", "", Formed(&FILLED), "What they are called."),
        required("email", "", Formed(&FILLED), "Where to write to them."),
        optional("avatar", "", Text(0, usize::MAX), "A picture."),
        optional("gpg_key", "", Text(0, usize::MAX), "Their public key."),
        optional("role", "", Text(0, usize::MAX), "The role they must hold."),
        optional("metadata", "", Object, "Hints for hosts."),
    ],
    moved: &[],
};
