//! Shape of `SECRETS.md` (AIP-19): which secrets exist and who may use them, never their values.

use crate::shape::Strangers::{Kept, Refused};
use crate::shape::Takes::{Flag, Formed, Integer, List, Map, Object, Text, Word};
use crate::shape::form::{ENVIRONMENT_NAME, FILLED, TextFormat, pattern};
use crate::shape::{MovedField, Shape, optional, required};

/// The name of a secret, with a service before it or without.
static SECRET_SLUG: TextFormat = pattern(
    "the slug of a secret",
    r"^([a-z][a-z0-9-]*[a-z0-9]/)?[a-z][a-z0-9-]*[a-z0-9]$",
    (2, 80),
    "write `name` or `service/name` in lowercase letters, digits and dashes",
);

/// The address of a vault.
pub static BACKEND: TextFormat = pattern(
    "the address of a vault",
    r"^[a-z][a-z0-9-]*://",
    (1, usize::MAX),
    "write it with its scheme, as in `keychain://shop`",
);

static RETENTION: TextFormat = pattern(
    "a retention",
    r"^(P[0-9]+[YMWD]|[0-9]+(y|m|w|d|h))$",
    (2, usize::MAX),
    "write `P7Y` or `90d`",
);

static WORD: TextFormat = pattern(
    "a tag",
    r"^[a-z][a-z0-9-]*$",
    (1, usize::MAX),
    "use lowercase letters, digits and dashes, beginning with a letter",
);

static CAPABILITY: TextFormat =
    pattern("a capability", r"^cap://", (7, usize::MAX), "write `cap://` and its name");

/// Names under which people write down values.
pub const VALUES: &[&str] = &["value", "plaintext", "ciphertext", "secret", "data", "key", "token"];

const fn value(name: &'static str) -> MovedField {
    MovedField { name, code: "S040", help: NO_VALUES }
}

/// Help for a manifest that holds a value.
pub const NO_VALUES: &str = "keep the value in a vault; a manifest only says that there is one";

/// The whole frontmatter.
pub static SECRETS: Shape = Shape {
    title: "SECRETS.md",
    strangers: Refused("S030"),
    fields: &[required("secrets", "S001", List(1, &Map(&ENTRY)), "The secrets, at least one.")],
    moved: &[],
};

static ENTRY: Shape = Shape {
    title: "a secret",
    strangers: Refused(""),
    fields: &[
        required("slug", "S002", Formed(&SECRET_SLUG), "The secret's name for machines."),
        required("name", "S003", Text(1, 80), "Its name for people, 1 to 80 characters."),
        required("description", "S004", Text(1, 2000), "What it opens."),
        optional("kind", "S005", Word(&["opaque", "oauth", "keypair", "json"]), "Its form.")
            .or("\"opaque\""),
        optional("backend", "S006", Formed(&BACKEND), "The vault; the host's own when absent."),
        optional("access", "S007", Map(&ACCESS), "Who may use it."),
        optional("audit", "S008", Map(&AUDIT), "What the log keeps of its use."),
        optional("tags", "S009", List(0, &Formed(&WORD)), "Words to find it by.").or("[]"),
        optional("metadata", "S010", Object, "Hints for hosts.").or("{}"),
        optional("exposures", "S011", List(0, &Map(&EXPOSURE)), "How it reaches who uses it.")
            .or("[]"),
    ],
    moved: &[
        value("value"),
        value("plaintext"),
        value("ciphertext"),
        value("secret"),
        value("data"),
        value("key"),
        value("token"),
    ],
};

static ACCESS: Shape = Shape {
    title: "`access`",
    strangers: Refused(""),
    fields: &[
        optional("reveal", "", List(0, &Object), "Who may see it."),
        optional("bind", "", List(0, &Object), "Who may have it put into a process."),
        optional("rotate", "", List(0, &Object), "Who may replace it."),
    ],
    moved: &[],
};

/// A grantee: exactly one of these fields, which no table can state.
pub static GRANTEE: Shape = Shape {
    title: "an access entry",
    strangers: Kept,
    fields: &[
        optional("role", "", Formed(&FILLED), "Any actor with this role."),
        optional("userId", "", Formed(&FILLED), "This person."),
        optional("cap", "", Formed(&CAPABILITY), "Any actor that holds this capability."),
        optional("tool", "", Formed(&FILLED), "This tool."),
        optional("workflow", "", Formed(&FILLED), "This workflow."),
    ],
    moved: &[],
};

static AUDIT: Shape = Shape {
    title: "`audit`",
    strangers: Refused(""),
    fields: &[
        optional("retention", "", Formed(&RETENTION), "How long uses are kept."),
        optional("pii", "", Flag, "Whether it concerns people.").or("false"),
        optional("classification", "", List(0, &Formed(&FILLED)), "How it is classified."),
    ],
    moved: &[],
};

/// Unknown kinds are left alone, so the rest is checked by kind afterwards.
static EXPOSURE: Shape = Shape {
    title: "an exposure",
    strangers: Kept,
    fields: &[required("kind", "", Formed(&FILLED), "How it reaches who uses it.")],
    moved: &[],
};

/// The kinds of exposure that are read.
pub static EXPOSURES: &[(&str, &Shape)] =
    &[("env", &BY_ENVIRONMENT), ("file", &BY_FILE), ("egress-substitute", &BY_PLACEHOLDER)];

static BY_ENVIRONMENT: Shape = Shape {
    title: "an `env` exposure",
    strangers: Refused(""),
    fields: &[
        required("kind", "", Word(&["env"]), "`env`."),
        required("name", "", Formed(&ENVIRONMENT_NAME), "The environment variable."),
        required("field", "", Formed(&FILLED), "The part of the secret that goes there."),
    ],
    moved: &[],
};

static BY_FILE: Shape = Shape {
    title: "a `file` exposure",
    strangers: Refused(""),
    fields: &[
        required("kind", "", Word(&["file"]), "`file`."),
        required("path", "", Formed(&FILLED), "The file, absolute or below `~`."),
        optional("field", "", Formed(&FILLED), "The part of the secret that goes there."),
        optional("mode", "", Integer(0, 0o777), "Its permissions.").or("384"),
    ],
    moved: &[],
};

static BY_PLACEHOLDER: Shape = Shape {
    title: "an `egress-substitute` exposure",
    strangers: Refused(""),
    fields: &[
        required("kind", "", Word(&["egress-substitute"]), "`egress-substitute`."),
        required("placeholderName", "", Formed(&ENVIRONMENT_NAME), "What agents write for it."),
        required("allowedByDefault", "", Flag, "Whether it is replaced unless forbidden."),
        optional("intendedProviders", "", List(0, &Formed(&FILLED)), "Whom it is meant for."),
    ],
    moved: &[],
};
