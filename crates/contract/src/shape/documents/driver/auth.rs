//! `auth` block of a driver: its shape, and the typed value that logins and drivers read.

use haft_model::{Span, Timestamp, parse_duration};
use serde::Deserialize;

use super::health::{HTTP_PROBE, HttpProbe};
use crate::shape::Strangers::Refused;
use crate::shape::Takes::{Flag, Formed, Integer, List, Map, Text};
use crate::shape::form::{DURATION, ENVIRONMENT_NAME, FILLED, URL};
use crate::shape::{Shape, optional, required};

pub(super) static AUTH: Shape = Shape {
    title: "`auth`",
    strangers: Refused(""),
    fields: &[
        optional("ref", "", Formed(&FILLED), "A SECRETS.md, or an AUTH.md that logs in."),
        optional("state", "", Map(&AUTH_STATE), "Where a login is kept."),
        optional("login", "", Map(&LOGIN), "How to log in."),
        optional("refresh", "", Map(&REFRESH), "How to renew a login."),
        optional("expiry", "", Map(&EXPIRY), "How to see that a login ran out."),
    ],
    moved: &[],
};

/// `auth.state` of a driver or a bundle.
pub static AUTH_STATE: Shape = Shape {
    title: "`auth.state`",
    strangers: Refused(""),
    fields: &[
        optional("paths", "", List(0, &Formed(&FILLED)), "Files that hold the login."),
        optional(
            "env",
            "",
            List(0, &Formed(&ENVIRONMENT_NAME)),
            "Environment variables that hold it.",
        ),
    ],
    moved: &[],
};

static LOGIN: Shape = Shape {
    title: "`auth.login`",
    strangers: Refused(""),
    fields: &[
        optional("cmd", "", Text(0, usize::MAX), "The command that logs in."),
        optional("url", "", Formed(&URL), "The page that logs in."),
        optional("interactive", "", Flag, "Whether a person is needed."),
        optional("requires_callback_url", "", Flag, "Whether the page calls back."),
        optional("completes_when", "", Map(&COMPLETES), "How to see that it worked."),
    ],
    moved: &[],
};

static COMPLETES: Shape = Shape {
    title: "`completes_when`",
    strangers: Refused(""),
    fields: &[
        optional("cmd", "", Formed(&FILLED), "A command to run."),
        optional("exit_code", "", Integer(0, 255), "What it must exit with."),
        optional("http", "", Map(&HTTP_PROBE), "A request to send."),
    ],
    moved: &[],
};

static REFRESH: Shape = Shape {
    title: "`auth.refresh`",
    strangers: Refused(""),
    fields: &[
        optional(
            "cmd",
            "",
            Text(0, usize::MAX),
            "The command that renews; empty means the driver's code does.",
        ),
        optional("url", "", Formed(&URL), "The address that renews.").recorded(),
        optional("every", "", Formed(&DURATION), "How often."),
    ],
    moved: &[],
};

static EXPIRY: Shape = Shape {
    title: "`auth.expiry`",
    strangers: Refused(""),
    fields: &[required(
        "detect",
        "",
        Formed(&FILLED),
        "`exit_code:N`, `http_status:N`, `exception:Name` or `header:NAME:VALUE`.",
    )],
    moved: &[],
};

/// Whether a driver needs a login, and how to log in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AuthBlock {
    /// Path of a SECRETS.md, or of an AUTH.md that describes the login.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// Where a login is stored.
    pub state: AuthState,
    /// How to start a login.
    pub login: Option<LoginBlock>,
    /// How to renew a login.
    pub refresh: Option<Refresh>,
    /// The sign of an expired login.
    pub expiry: Option<Expiry>,
}

/// Where a login is stored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AuthState {
    /// The program's own files that hold a credential.
    pub paths: Vec<String>,
    /// Environment variables that hold a credential; each is also the name of its secret.
    pub env: Vec<String>,
}

/// How to start a login.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct LoginBlock {
    /// The command that logs in.
    pub cmd: Option<String>,
    /// The page to log in at.
    pub url: Option<String>,
    /// Whether the command needs a terminal.
    pub interactive: bool,
    /// Whether the page redirects back to a local callback URL.
    pub requires_callback_url: bool,
    /// The check that the login is complete.
    pub completes_when: Option<CompletesWhen>,
}

/// The check that a login is complete.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CompletesWhen {
    /// A command to run.
    pub cmd: Option<String>,
    /// The exit code of the command that means success; 0 by default.
    pub exit_code: i32,
    /// A request to send; used where there is no command.
    pub http: Option<HttpProbe>,
}

/// How to renew a login.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Refresh {
    /// The renewal command; an empty one means that the driver renews the login itself.
    pub cmd: Option<String>,
    /// The renewal interval, as a duration text.
    pub every: Option<String>,
}

/// The sign of an expired login.
#[derive(Clone, Debug, Deserialize)]
pub struct Expiry {
    /// `exit_code:N`, `http_status:N`, `exception:Name` or `header:NAME:VALUE`.
    pub detect: String,
}

impl AuthBlock {
    /// The block of a manifest that cannot be read: it requires a login that no flow can complete.
    pub fn unreadable() -> AuthBlock {
        AuthBlock { login: Some(LoginBlock::default()), ..AuthBlock::default() }
    }

    /// Whether a login flow exists: a command, a page, or an AUTH.md.
    pub fn has_way(&self) -> bool {
        let login = self.login.as_ref();
        let named = self.reference.as_deref().and_then(|path| path.rsplit('/').next());
        login.is_some_and(|login| login.cmd.is_some() || login.url.is_some())
            || named.is_some_and(|name| name == "AUTH.md" || name.ends_with(".AUTH.md"))
    }

    /// Whether a login from `since` must be renewed before the next call.
    pub fn is_due(&self, since: Timestamp, now: Timestamp) -> bool {
        let every = self.refresh.as_ref().and_then(|refresh| refresh.every.as_deref());
        let span: Option<Span> = every.and_then(parse_duration);
        span.and_then(|span| haft_model::after(since, span)).is_some_and(|due| due <= now)
    }
}
