//! Caller port: elicitation, sampling, progress and log messages back to the client of a running
//! call.

use std::collections::{BTreeMap, BTreeSet};

use haft_model::{Reported, Stop};
use serde_json::Value;

use crate::BoxFuture;

/// Kinds of request that a backend may send to a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InquiryKind {
    /// Elicitation: a person fills in a form.
    Form,
    /// Elicitation: a person opens a URL.
    Page,
    /// Sampling: the caller's model completes a prompt.
    Sample,
    /// Roots: the folders that the caller works in.
    Roots,
}

/// One request of a backend to a caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Inquiry {
    /// Kind of the request.
    pub kind: InquiryKind,
    /// Parameters in the backend's protocol; untrusted.
    pub params: Value,
}

/// Client capabilities, passed on unchanged: the runtime promises a backend only what the client
/// declared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Abilities {
    /// Kinds of request that the client answers.
    pub kinds: BTreeSet<InquiryKind>,
    /// Capabilities object that the client declared, in its protocol.
    pub told: Value,
    /// People of the workspace fill in forms in the approval inbox instead of the client. Then
    /// `kinds` contains forms, and `told` need not.
    pub people: bool,
    /// Minimum level of log messages that the client wants; `None` for none.
    pub remarks: Option<String>,
    /// The client holds a session in which a backend may send it requests while a call runs, as MCP
    /// up to 2025-11-25 has it.
    pub in_session: bool,
    /// The client accepts slow backends: it polls for the result, or waits without a limit.
    pub patient: bool,
}

/// Log message of a backend, for the client.
#[derive(Clone, Debug, PartialEq)]
pub struct Remark {
    /// Severity: `debug`, `info`, `notice`, `warning`, `error` and so on.
    pub level: String,
    /// Logger name, if the backend gives one.
    pub logger: Option<String>,
    /// Message body.
    pub data: Value,
}

/// The client of a running call.
pub trait Caller: Send + Sync {
    /// Capabilities of the client.
    fn abilities(&self) -> &Abilities;

    /// Sends several requests at once; each answer has the key of its request.
    fn ask(
        &self,
        asked: BTreeMap<String, Inquiry>,
    ) -> BoxFuture<'_, Result<BTreeMap<String, Value>, Stop>>;

    /// Sends progress.
    fn progress(&self, reported: &Reported);

    /// Sends a log message.
    fn remark(&self, remark: Remark);
}
