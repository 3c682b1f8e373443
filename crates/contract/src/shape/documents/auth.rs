//! Shape of `AUTH.md` (AIP-50): the login flow of a service.

use haft_notation::NotationFault;

use crate::shape::Strangers::Refused;
use crate::shape::Takes::{Formed, Kinds, Map, Text};
use crate::shape::form::{FILLED, TextFormat, WEB_URL, pattern};
use crate::shape::{Shape, optional, required};

static VENDOR: TextFormat = pattern(
    "the id of a service",
    r"^[a-z0-9][a-z0-9._-]*$",
    (2, 80),
    "use 2 to 80 lowercase letters, digits, dots, dashes and underscores",
);

static API_BASE: TextFormat = TextFormat {
    what: "a web address",
    pattern: None,
    length: (1, usize::MAX),
    also: |text| {
        WEB_URL.fault(text).or_else(|| {
            text.ends_with('/').then(|| {
                NotationFault::new(format!("`{text}` ends in a slash"))
                    .help("leave the last slash out")
            })
        })
    },
    help: "write it with its scheme and without a slash at the end",
};

/// The whole frontmatter.
pub static AUTH: Shape = Shape {
    title: "AUTH.md",
    strangers: Refused("U030"),
    fields: &[
        required("id", "U001", Formed(&VENDOR), "The service's id."),
        required("description", "U002", Text(1, 2000), "What the service is."),
        required("apiBase", "U003", Formed(&API_BASE), "Where its API is, without a last slash."),
        optional("audience", "U004", Formed(&FILLED), "What the login is for: api, mcp, tunnel …"),
        required("auth", "U005", Kinds("flow", FLOWS), "How one logs in."),
        optional("install", "U006", Map(&INSTALL), "Where secrets are handed over (AIP-19)."),
    ],
    moved: &[],
};

// `id-jag` is reserved: version 1 must not read it.
static FLOWS: &[(&str, &Shape)] =
    &[("pat", &TOKEN), ("service-auth", &SERVICE), ("device-code", &DEVICE)];

static TOKEN: Shape = Shape {
    title: "`auth` by token",
    strangers: Refused(""),
    fields: &[
        required("flow", "", Formed(&FILLED), "`pat`."),
        required("tokenStore", "", Map(&TOKEN_STORE), "Where the token is kept."),
    ],
    moved: &[],
};

static SERVICE: Shape = Shape {
    title: "`auth` as a service",
    strangers: Refused(""),
    fields: &[
        required("flow", "", Formed(&FILLED), "`service-auth`."),
        optional("clientId", "", Formed(&FILLED), "Who asks.").or(CLIENT),
        optional("loginHint", "", Formed(&FILLED), "Who is likely to log in."),
        required("tokenStore", "", Map(&TOKEN_STORE), "Where the token is kept."),
    ],
    moved: &[],
};

static DEVICE: Shape = Shape {
    title: "`auth` by device code",
    strangers: Refused(""),
    fields: &[
        required("flow", "", Formed(&FILLED), "`device-code`."),
        optional("clientId", "", Formed(&FILLED), "Who asks.").or(CLIENT),
        optional("scope", "", Formed(&FILLED), "What is asked for."),
        optional("deviceLabel", "", Formed(&FILLED), "What the device is called."),
        required("tokenStore", "", Map(&TOKEN_STORE), "Where the token is kept."),
    ],
    moved: &[],
};

const CLIENT: &str = "\"agentproto-cli\"";

static TOKEN_STORE: Shape = Shape {
    title: "`tokenStore`",
    strangers: Refused(""),
    fields: &[
        required("keychain", "", Formed(&FILLED), "The name in the keychain."),
        optional("account", "", Formed(&FILLED), "The account; `{server}` is the address."),
    ],
    moved: &[],
};

static INSTALL: Shape = Shape {
    title: "`install`",
    strangers: Refused(""),
    fields: &[
        required("sealKey", "", Formed(&FILLED), "The path that gives the sealing key."),
        required("secretBacked", "", Formed(&FILLED), "The path that takes the sealed secret."),
    ],
    moved: &[],
};
