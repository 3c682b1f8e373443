//! A call as its caller sent it.

use serde_json::Value;

use crate::{ActorId, DriverId};

/// One wish to use a tool: who, what and with which input. Nothing in it has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Who calls.
    pub actor: ActorId,
    /// A tool's id, `id@major`, or alias.
    pub tool: String,
    /// The input, verbatim.
    pub input: Value,
    /// What the host adds beside the input; never mixed into it.
    pub context: Value,
    /// The driver the caller insists on.
    pub pinned: Option<DriverId>,
    /// Regions that the call must stay in; empty means anywhere.
    pub region: Vec<String>,
}

impl Call {
    /// A call with nothing but an input.
    pub fn new(actor: ActorId, tool: impl Into<String>, input: Value) -> Call {
        Call {
            actor,
            tool: tool.into(),
            input,
            context: Value::Object(Default::default()),
            pinned: None,
            region: Vec::new(),
        }
    }
}
