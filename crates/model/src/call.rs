//! Call request: one tool call as its caller sent it, before any validation.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Actor, DriverId, InvocationId, JsonFlaw, SchedulerPolicy};

/// A request to call a tool: actor, tool and input. Nothing in it has been validated.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The calling actor, as the edge authenticated it.
    pub actor: Arc<Actor>,
    /// A tool's id, `id@major`, or alias.
    pub tool: String,
    /// The input as a value; ignored where `sent` is given.
    pub input: Value,
    /// The input byte for byte, where it came as text.
    pub sent: Option<String>,
    /// JSON flaw of the input's source text, where the edge that read it keeps only `input`.
    pub flaw: Option<JsonFlaw>,
    /// What the host adds beside the input; never mixed into it.
    pub context: Value,
    /// Driver pin: the driver that the caller insists on.
    pub pinned: Option<DriverId>,
    /// Regions that the call must stay in; empty means anywhere.
    pub region: Vec<String>,
    /// Foreign ids of the call (request ids, trace ids); each has a `source`.
    pub native: Vec<Value>,
    /// Channel it came through: `cli`, `library`, `mcp` …
    pub channel: &'static str,
    /// Idempotency key: calls with the same key are one intent. The caller sets it.
    pub key: Option<String>,
    /// Parent call, where a call makes this one.
    pub parent: Option<InvocationId>,
    /// The call that this one compensates.
    pub compensates: Option<InvocationId>,
    /// Position in a batch, for a call that is part of one.
    pub batch: Option<BatchPlace>,
}

/// Position of a call in its batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPlace {
    /// Id of the batch.
    pub id: String,
    /// Position in the order of the request, from 0.
    pub index: u64,
    /// Calls of the batch that have to end before this one begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<InvocationId>,
    /// Number of equal calls before it in the batch: equal calls in one batch are distinct intents.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub twin: u64,
    /// Scheduler policy of the batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Arc<SchedulerPolicy>>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Call {
    /// The first JSON flaw of the input's source text.
    pub fn flaw(&self) -> Option<JsonFlaw> {
        let sent = self.sent.as_ref();
        self.flaw.clone().or_else(|| sent.and_then(JsonFlaw::in_text))
    }

    /// A call with nothing but an input.
    pub fn new(actor: impl Into<Actor>, tool: impl Into<String>, input: Value) -> Call {
        Call::by(Arc::new(actor.into()), tool, input)
    }

    /// A call by an actor that is shared already.
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
