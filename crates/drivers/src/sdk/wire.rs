//! What is said to a worker and by it, one JSON value a line.

use std::collections::BTreeMap;

use haft_driver::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::Arguments;

/// What a worker is asked.
#[derive(Serialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(super) enum Ask<'a> {
    /// Which package it is for. Nothing of it is run for that.
    Load {
        package: &'a str,
        /// The module, where it is not the package itself.
        entrypoint: Option<&'a str>,
        /// The same for Python, which always has one.
        module: String,
        local: bool,
        path: Option<&'a str>,
        style: &'a str,
        /// How many bytes a value may have.
        most: usize,
    },
    /// To find a function, which loads the package and makes the client.
    Find { function: &'a str, client: &'a Arguments },
    /// To call what was found.
    Call {
        args: &'a Arguments,
        callback: bool,
        /// The variables that tell of the trace, and are those of this call alone.
        trace: &'a BTreeMap<String, String>,
    },
    /// To end a call.
    Cancel,
}

/// One line to a worker.
#[derive(Serialize)]
pub(super) struct WorkerRequest<'a> {
    pub(super) id: u64,
    #[serde(flatten)]
    pub(super) ask: Ask<'a>,
}

/// One line of a worker.
#[derive(Debug, Deserialize)]
pub(super) struct WorkerMessage {
    pub(super) id: u64,
    #[serde(flatten)]
    pub(super) word: Word,
}

/// What a worker says of a call.
#[derive(Debug, Deserialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub(super) enum Word {
    /// Whether the package is there, and its version.
    Loaded { there: bool, version: Option<String> },
    /// The function is there.
    Found,
    /// The function is being called.
    Begun,
    /// A part of the answer.
    Part { value: Value },
    /// The answer.
    Done { value: Value },
    /// There are no more parts.
    Ended,
    /// It was ended before it was done.
    Canceled,
    /// An exception: its class and those above it, and its words.
    Failed { types: Vec<String>, message: String },
    /// The answer is no JSON.
    Unfit { why: String },
    /// The answer has too many bytes.
    TooLarge,
    /// Ours, and no word of a worker: the call was not said to it, since its clearance had expired.
    #[serde(skip)]
    Withheld(Box<Failure>),
}
