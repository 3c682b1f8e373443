//! A call as its caller sent it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Actor, DriverId, InvocationId, JsonFlaw, SchedulerPolicy};

/// One wish to use a tool: who, what and with which input. Nothing in it has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Who calls.
    pub actor: Arc<Actor>,
    /// A tool's id, `id@major`, or alias.
    pub tool: String,
    /// The input as a value. Where `sent` is given, that is read and this is not.
    pub input: Value,
    /// The input byte for byte, where it came as text.
    pub sent: Option<String>,
    /// What is wrong with the text that the input came in, where the edge that read it has `input` alone.
    pub flaw: Option<JsonFlaw>,
    /// What the host adds beside the input; never mixed into it.
    pub context: Value,
    /// The driver the caller insists on.
    pub pinned: Option<DriverId>,
    /// Regions that the call must stay in; empty means anywhere.
    pub region: Vec<String>,
    /// What the call is known by elsewhere: each has a `source`.
    pub native: Vec<Value>,
    /// By which way it came: `cli`, `library`, `mcp` …
    pub channel: &'static str,
    /// The key that says which calls are the same intent.
    pub key: Option<String>,
    /// The call that makes this one.
    pub parent: Option<InvocationId>,
    /// The call that this one undoes.
    pub compensates: Option<InvocationId>,
    /// Its place among others that were asked for together.
    pub batch: Option<BatchPlace>,
}

/// The place of a call in its batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPlace {
    /// Which batch.
    pub id: String,
    /// Its place in the order of the request, from 0.
    pub index: u64,
    /// The calls of the batch that had to end before it began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<InvocationId>,
    /// How many equal calls of the batch come before it: asked for together, they are not the same.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub twin: u64,
    /// The rules that the batch is scheduled by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Arc<SchedulerPolicy>>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Call {
    /// What is wrong with the text that the input came in.
    pub fn flaw(&self) -> Option<JsonFlaw> {
        let sent = self.sent.as_ref();
        self.flaw.clone().or_else(|| sent.and_then(JsonFlaw::in_text))
    }

    /// A call with nothing but an input.
    pub fn new(actor: impl Into<Actor>, tool: impl Into<String>, input: Value) -> Call {
        Call::by(Arc::new(actor.into()), tool, input)
    }

    /// The same of somebody who is known already.
    pub fn by(actor: Arc<Actor>, tool: impl Into<String>, input: Value) -> Call {
        Call {
            actor,
            tool: tool.into(),
            input,
            sent: None,
            flaw: None,
            context: Value::Object(Default::default()),
            pinned: None,
            region: Vec::new(),
            native: Vec::new(),
            channel: "library",
            key: None,
            parent: None,
            batch: None,
            compensates: None,
        }
    }
}
