//! Logging in to what stands behind a driver: the ways there are, and the record that somebody has.
//!
//! A way gives a token, which goes into the vault, or leaves its state to the program that logged
//! in. The record says who logged in where and when, and never holds a token.

mod block;
mod callback;
mod command;
mod device;
mod record;
mod sign;

pub use block::{AuthBlock, CompletesWhen, LoginBlock, Refresh};
pub use callback::Callback;
pub use command::{Attend, Program};
pub use device::{Device, Service};
pub use record::{LoginRecord, Logins};
pub(crate) use sign::ran_out;
pub use sign::{LoginSignal, Sign};

use haft_model::{Code, Stop};
use serde_json::json;

/// What a person is told while a login is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A page has to be opened.
    Open {
        /// Its address.
        url: String,
    },
    /// A code has to be typed in at a page.
    Code {
        /// The page.
        url: String,
        /// The code.
        code: String,
        /// For how many seconds it is good.
        seconds: u64,
    },
    /// A command has to be run by hand, because it wants a terminal of its own.
    Run {
        /// The command.
        command: String,
    },
    /// Somebody else is waited for.
    Waiting {
        /// What for.
        what: String,
    },
}

/// Says a step to a person.
pub type Tell<'a> = &'a (dyn Fn(Step) + Send + Sync);

/// Why a login came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The server of the login, or the program, failed.
    Upstream,
    /// The server says no.
    Denied,
    /// Nobody did their part in time.
    Expired,
    /// What came back is not what was waited for.
    Callback,
    /// Where one logs in cannot be found out.
    Discovery,
}

/// A login that came to nothing.
pub(crate) fn failed(reason: Reason, words: impl Into<String>) -> Stop {
    let (code, name) = match reason {
        Reason::Upstream => (Code::DependencyUnavailable, "upstream_error"),
        Reason::Denied => (Code::PermissionDenied, "access_denied"),
        Reason::Expired => (Code::CredentialMissing, "expired"),
        Reason::Callback => (Code::CredentialMissing, "callback_failed"),
        Reason::Discovery => (Code::DependencyUnavailable, "discovery_failed"),
    };
    Stop::new(code, words).because(json!({ "login": name }))
}
