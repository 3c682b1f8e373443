//! The `auth` block of a driver, as its manifest has it.

use haft_model::{Span, Timestamp, parse_duration};
use serde::Deserialize;
use serde_json::Value;

use super::Sign;
use crate::WorkingFolder;
use crate::cli::program;

/// Whether and how one logs in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AuthBlock {
    /// A SECRETS.md, or an AUTH.md that says how.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    state: LoginBlockState,
    /// What starts a login.
    pub login: Option<LoginBlock>,
    /// What keeps it.
    pub refresh: Option<Refresh>,
    expiry: Option<Expiry>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct LoginBlockState {
    env: Vec<String>,
    paths: Vec<String>,
}

/// What starts a login.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct LoginBlock {
    /// A command.
    pub cmd: Option<String>,
    /// A page.
    pub url: Option<String>,
    /// Whether the command talks with a person.
    pub interactive: bool,
    /// Whether the page sends its visitor back.
    pub requires_callback_url: bool,
    /// How one knows that it is done.
    pub completes_when: Option<CompletesWhen>,
}

/// How one knows that a login is done.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CompletesWhen {
    /// A command.
    pub cmd: Option<String>,
    /// How it ends then.
    pub exit_code: i32,
    /// A request.
    pub http: Option<Asks>,
}

/// A request that tells whether somebody is logged in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Asks {
    /// Where.
    pub url: String,
    /// The status of its answer then.
    pub expect_status: Option<u16>,
}

/// What keeps a login.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Refresh {
    /// A command; an empty one means that the driver does it itself.
    pub cmd: Option<String>,
    /// How often.
    pub every: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Expiry {
    detect: Option<String>,
}

impl AuthBlock {
    /// The block of a manifest; none where nobody has to log in. One that cannot be read wants a
    /// login that nobody can go through.
    pub fn of(manifest: &Value) -> Option<AuthBlock> {
        let block = manifest.get("auth").filter(|block| !block.is_null())?;
        let unreadable =
            || AuthBlock { login: Some(LoginBlock::default()), ..AuthBlock::default() };
        Some(AuthBlock::deserialize(block).unwrap_or_else(|_| unreadable()))
    }

    /// The sign by which the driver of an `auth` block sees that a login has run out.
    pub(crate) fn sign_of(auth: Option<&Value>) -> Option<Sign> {
        AuthBlock::deserialize(auth?).ok()?.sign()
    }

    /// The variables that hold a login.
    pub fn variables(&self) -> &[String] {
        &self.state.env
    }

    /// Whether the program of the driver keeps a login in a file of its own.
    pub fn is_kept(&self, place: &WorkingFolder) -> bool {
        program::any_exists(&self.state.paths, place, &place.root)
    }

    /// Whether there is a login that somebody can go through: a command, a page, or an AUTH.md.
    pub fn has_way(&self) -> bool {
        let login = self.login.as_ref();
        let named = self.reference.as_deref().and_then(|path| path.rsplit('/').next());
        login.is_some_and(|login| login.cmd.is_some() || login.url.is_some())
            || named.is_some_and(|name| name == "AUTH.md" || name.ends_with(".AUTH.md"))
    }

    /// The sign that a login has run out.
    pub fn sign(&self) -> Option<Sign> {
        Sign::parse(self.expiry.as_ref()?.detect.as_deref()?)
    }

    /// Whether a login from then has to be renewed now, before the next call.
    pub fn is_due(&self, since: Timestamp, now: Timestamp) -> bool {
        let every = self.refresh.as_ref().and_then(|refresh| refresh.every.as_deref());
        let span: Option<Span> = every.and_then(parse_duration);
        span.and_then(|span| haft_model::after(since, span)).is_some_and(|due| due <= now)
    }
}
