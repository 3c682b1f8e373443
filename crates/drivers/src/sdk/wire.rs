//! Worker protocol: requests and messages, one JSON value per line.

use std::collections::BTreeMap;

use haft_driver::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::Arguments;

/// A request to a worker.
#[derive(Serialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(super) enum Ask<'a> {
    /// Names the package; this runs none of its code.
    Load {
        package: &'a str,
        /// The module, if it is not the package itself.
        entrypoint: Option<&'a str>,
        /// The module name for Python, which always has one.
        module: String,
        local: bool,
        path: Option<&'a str>,
        style: &'a str,
        /// Most bytes of a value.
        most: usize,
    },
    /// Resolves a function, which loads the package and creates the client.
    Find { function: &'a str, client: &'a Arguments },
    /// Calls the resolved function.
    Call {
        args: &'a Arguments,
        callback: bool,
        /// Trace context variables of this call alone.
        trace: &'a BTreeMap<String, String>,
    },
    /// Cancels a call.
    Cancel,
}

/// One line to a worker.
#[derive(Serialize)]
pub(super) struct WorkerRequest<'a> {
    pub(super) id: u64,
    #[serde(flatten)]
    pub(super) ask: Ask<'a>,
}

/// One line from a worker.
#[derive(Debug, Deserialize)]
pub(super) struct WorkerMessage {
    pub(super) id: u64,
    #[serde(flatten)]
    pub(super) word: Word,
}

/// A message of a worker about a call.
#[derive(Debug, Deserialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub(super) enum Word {
    /// Whether the package is installed, and its version.
    Loaded { there: bool, version: Option<String> },
    /// The function is resolved.
    Found,
    /// The function is being called.
    Begun,
    /// A partial result.
    Part { value: Value },
    /// The result.
    Done { value: Value },
    /// There are no more partial results.
    Ended,
    /// The call was cancelled.
    Canceled,
    /// An exception: its class and superclasses, and its message.
    Failed { types: Vec<String>, message: String },
    /// The result is not JSON.
    Unfit { why: String },
    /// The result exceeds the size limit.
    TooLarge,
    /// Sent by Haft, not by a worker: the call was withheld because its clearance had expired.
    #[serde(skip)]
    Withheld(Box<Failure>),
}
