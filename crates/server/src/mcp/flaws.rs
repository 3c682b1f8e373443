//! JSON flaws of MCP requests, found in their bytes, because a parsed value no longer shows them.

use haft_model::{JsonFlaw, JsonScope};
use rmcp::ErrorData;

/// Paths of a message that become inputs: the arguments of a call, the answers that a request
/// brings, and the answer to a server request.
const INPUTS: [&[&str]; 3] = [&["params", "arguments"], &["params", "inputResponses"], &["result"]];

/// The flaw of a message's inputs; its pointer starts at the arguments where it is in them.
pub(super) fn of_inputs(message: &[u8]) -> Option<JsonFlaw> {
    let flaw = JsonFlaw::within(message, JsonScope::Below(&INPUTS))?;
    Some(flaw.seen_from("/params/arguments"))
}

/// The refusal of a request that is no tool call, so that no call is behind it.
pub(super) fn refuse(flaw: Option<JsonFlaw>) -> Result<(), ErrorData> {
    let Some(flaw) = flaw else { return Ok(()) };
    let stop = flaw.stop();
    Err(ErrorData::invalid_params(stop.message.clone(), Some(stop.told())))
}

/// The flaw of a message's inputs. For fuzzing.
pub fn input_flaw(message: &[u8]) -> Option<JsonFlaw> {
    of_inputs(message)
}
