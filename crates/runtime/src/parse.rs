//! Parsing (phase 2): validates the input against the contract's schema and fills in the defaults.

use std::sync::Arc;

use haft_catalog::{CatalogEntry, Sender};
use haft_model::{Call, CallPhase, Code, FrozenInput, Stop};

use crate::context::CallContext;
use crate::pipeline::{Reached, StoppedCall};
use crate::resolve::{ReceivedInput, ResolvedCall};
use crate::validate;

/// A resolved call with a valid input.
pub struct ParsedCall {
    call: Arc<Call>,
    input: ValidInput,
}

/// A valid input with its contract, and what the caller sent.
pub(crate) struct ValidInput {
    pub(crate) entry: Arc<CatalogEntry>,
    /// The input, defaults filled in.
    pub(crate) value: FrozenInput,
    pub(crate) received: ReceivedInput,
}

impl ParsedCall {
    pub(crate) fn into_parts(self) -> (Arc<Call>, ValidInput) {
        (self.call, self.input)
    }
}

impl ResolvedCall {
    /// Validates the input against the schema.
    pub fn parse(self, context: &mut CallContext<'_>) -> Result<ParsedCall, StoppedCall> {
        let (call, entry, received) = self.into_parts();
        let input = match (call.flaw(), &call.sent) {
            (Some(flaw), _) => Err(flaw.stop()),
            (None, None) => Ok(call.input.clone()),
            (None, Some(text)) => serde_json::from_str(text).map_err(|fault| {
                Stop::new(Code::InputSchema, format!("the input is not JSON: {fault}"))
                    .help("send one JSON object")
            }),
        };
        let input = input.and_then(|input| validate::parse(&entry, input, Sender::Caller));
        match context.recorder.phase_of(CallPhase::ParseSchema, input) {
            Ok(value) => {
                let value = FrozenInput::new(value);
                // Hashed here, where a long input is off the async worker.
                value.digest();
                Ok(ParsedCall { call, input: ValidInput { entry, value, received } })
            }
            Err(stop) => Err(Reached { entry: Some(entry), ..Reached::default() }.stopped(stop)),
        }
    }
}
