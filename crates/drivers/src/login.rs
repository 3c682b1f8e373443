//! Login to a driver's backend: the login flows, and the record of each login.
//!
//! A flow yields a token, which goes into the vault, or leaves the login state to the program that
//! logged in. The record says who logged in where and when, and never holds a token.

mod callback;
mod command;
mod device;
mod record;
mod sign;

pub use callback::Callback;
pub use command::{Attend, Program};
pub use device::{Device, Service};
pub use record::{LoginRecord, Logins};
pub(crate) use sign::ran_out;
pub use sign::{LoginSignal, Sign};

use haft_contract::driver::manifest::AuthBlock;
use haft_model::{CauseDetail, Code, LoginFailure, Stop};

use crate::WorkingFolder;
use crate::cli::program;

/// Whether the program of a driver has a login in a file of its own.
pub fn is_kept(auth: &AuthBlock, place: &WorkingFolder) -> bool {
    program::any_exists(&auth.state.paths, place, &place.root)
}

/// A message to the person while a login is in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The person opens a page.
    Open {
        /// URL of the page.
        url: String,
    },
    /// The person types a code in at a page.
    Code {
        /// URL of the page.
        url: String,
        /// The user code.
        code: String,
        /// Lifetime of the code in seconds.
        seconds: u64,
    },
    /// The person runs a command by hand, because it needs a terminal of its own.
    Run {
        /// The command line.
        command: String,
    },
    /// The login waits for another party.
    Waiting {
        /// What it waits for, as part of a sentence.
        what: String,
    },
}

/// Shows a step to the person.
pub type Tell<'a> = &'a (dyn Fn(Step) + Send + Sync);

/// Why a login failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The authorization server or the program failed.
    Upstream,
    /// The authorization server denied the login.
    Denied,
    /// The person did not finish in time.
    Expired,
    /// The callback did not bring the expected answer.
    Callback,
    /// The authorization server's endpoints could not be discovered.
    Discovery,
}

/// The refusal for a failed login.
pub(crate) fn failed(reason: Reason, words: impl Into<String>) -> Stop {
    let (code, failure) = match reason {
        Reason::Upstream => (Code::DependencyUnavailable, LoginFailure::UpstreamError),
        Reason::Denied => (Code::PermissionDenied, LoginFailure::AccessDenied),
        Reason::Expired => (Code::CredentialMissing, LoginFailure::Expired),
        Reason::Callback => (Code::CredentialMissing, LoginFailure::CallbackFailed),
        Reason::Discovery => (Code::DependencyUnavailable, LoginFailure::DiscoveryFailed),
    };
    Stop::new(code, words).because(CauseDetail::Login(failure))
}
