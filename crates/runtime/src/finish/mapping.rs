//! Result mapping (phase 10): gives the contract the value that it demands, and validates it once.
//!
//! INVARIANT: content that a backend gave passes as it is. A value is read out of it only where the
//! contract asks for one: by an output schema, or by the fields that it redacts.

use haft_catalog::CatalogEntry;
use haft_driver::{Failure, Output, ValueSource};
use haft_model::{CallPhase, Code, Content, PhaseOutcome};
use serde_json::{Value, json};

use super::Completion;
use crate::context::CallContext;
use crate::pipeline::Reached;
use crate::validate;

impl CallContext<'_> {
    /// Phase 10: maps and validates the output of a driver.
    pub(super) fn map(&mut self, reached: Reached, outcome: Result<Output, Failure>) -> Completion {
        let completion = match outcome {
            Err(Failure { stop, effect, partial, report, .. }) => {
                let (effect, is_report) = (self.unsent(&reached, effect), report.is_some());
                let output = report.or(partial).map(|output| mapped(&reached, *output));
                let error = Some(self.error(stop, effect));
                Completion { reached, output, error, effect, is_report }
            }
            Ok(output) => {
                let effect = output.effect;
                let output = mapped(&reached, output);
                let checked = reached.check_output(&output);
                let error = checked.err().map(|stop| self.error(stop, effect));
                Completion { reached, output: Some(output), error, effect, is_report: false }
            }
        };
        if self.attempts.executed && completion.output.is_some() {
            let fits = completion
                .error
                .as_ref()
                .is_none_or(|error| error.error_code != Code::OutputInvalid);
            let outcome = if fits { PhaseOutcome::Ok } else { PhaseOutcome::Failed };
            self.recorder.phase(CallPhase::MapResult, outcome);
        }
        completion
    }
}

/// The output with the value that its contract asks for, and no other.
pub(super) fn mapped(reached: &Reached, mut output: Output) -> Output {
    let Some(entry) = &reached.entry else { return output };
    let redacts = !entry.contract.tool.extras.redact.is_empty();
    if output.source == ValueSource::Content {
        output.source = ValueSource::Stated;
        if redacts || entry.demands_value() {
            output.structured = output.structured.map(|value| fitting(entry, value));
        } else {
            output.structured = None;
            output.exact.clear();
        }
    }
    if redacts && output.structured.is_some() {
        // The text would repeat the fields that are redacted in the value.
        output.content.retain(|piece| !is_read_as_text(piece));
    }
    output
}

/// A value that was read in a text, in the form that fits the contract: what the text says, or the
/// text as an object.
fn fitting(entry: &CatalogEntry, value: Value) -> Value {
    let Value::String(text) = &value else { return value };
    let object = json!({ "type": "text", "text": text });
    let points = |pointer: &String| object.pointer(pointer).is_some();
    let is_wanted = entry.contract.tool.extras.redact.iter().any(points)
        || (validate::check_output(entry, &value).is_err()
            && validate::check_output(entry, &object).is_ok());
    if is_wanted { object } else { value }
}

fn is_read_as_text(piece: &Content) -> bool {
    match piece {
        Content::Text { .. }
        | Content::StructuredContent { .. }
        | Content::EmbeddedResource { .. }
        | Content::Log { .. }
        | Content::Diff { .. } => true,
        Content::Image(_)
        | Content::Audio(_)
        | Content::Video(_)
        | Content::File(_)
        | Content::ResourceLink(_)
        | Content::ArtifactRef(_)
        | Content::PersistedOutputRef(_)
        | Content::HandoffRef(_) => false,
    }
}
