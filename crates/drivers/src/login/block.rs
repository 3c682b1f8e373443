//! `auth` block: the login settings of a driver's manifest.

use haft_model::{Span, Timestamp, parse_duration};
use serde::Deserialize;
use serde_json::Value;

use super::Sign;
use crate::WorkingFolder;
use crate::cli::program;

/// Whether a driver needs a login, and how to log in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AuthBlock {
    /// Path of a SECRETS.md, or of an AUTH.md that describes the login.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    state: LoginBlockState,
    /// How to start a login.
    pub login: Option<LoginBlock>,
    /// How to renew a login.
    pub refresh: Option<Refresh>,
    expiry: Option<Expiry>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct LoginBlockState {
    env: Vec<String>,
    paths: Vec<String>,
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
    pub http: Option<Asks>,
}

/// A request whose status tells whether the user is logged in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Asks {
    /// URL of a GET request.
    pub url: String,
    /// The status that means logged in; any success status if absent.
    pub expect_status: Option<u16>,
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

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Expiry {
    detect: Option<String>,
}

impl AuthBlock {
    /// Reads the block of a manifest; `None` if no login is needed. An unreadable block requires a
    /// login that no flow can complete.
    pub fn of(manifest: &Value) -> Option<AuthBlock> {
        let block = manifest.get("auth").filter(|block| !block.is_null())?;
        let unreadable =
            || AuthBlock { login: Some(LoginBlock::default()), ..AuthBlock::default() };
        Some(AuthBlock::deserialize(block).unwrap_or_else(|_| unreadable()))
    }

    /// The sign of an expired login in an `auth` block.
    pub(crate) fn sign_of(auth: Option<&Value>) -> Option<Sign> {
        AuthBlock::deserialize(auth?).ok()?.sign()
    }

    /// The environment variables that hold a credential.
    pub fn variables(&self) -> &[String] {
        &self.state.env
    }

    /// Whether the driver's program has a login in a file of its own.
    pub fn is_kept(&self, place: &WorkingFolder) -> bool {
        program::any_exists(&self.state.paths, place, &place.root)
    }

    /// Whether a login flow exists: a command, a page, or an AUTH.md.
    pub fn has_way(&self) -> bool {
        let login = self.login.as_ref();
        let named = self.reference.as_deref().and_then(|path| path.rsplit('/').next());
        login.is_some_and(|login| login.cmd.is_some() || login.url.is_some())
            || named.is_some_and(|name| name == "AUTH.md" || name.ends_with(".AUTH.md"))
    }

    /// The sign of an expired login.
    pub fn sign(&self) -> Option<Sign> {
        Sign::parse(self.expiry.as_ref()?.detect.as_deref()?)
    }

    /// Whether a login from `since` must be renewed before the next call.
    pub fn is_due(&self, since: Timestamp, now: Timestamp) -> bool {
        let every = self.refresh.as_ref().and_then(|refresh| refresh.every.as_deref());
        let span: Option<Span> = every.and_then(parse_duration);
        span.and_then(|span| haft_model::after(since, span)).is_some_and(|due| due <= now)
    }
}
