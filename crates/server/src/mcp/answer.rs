//! Tool result: an envelope as the result of `tools/call`.

use std::sync::Arc;

use haft_catalog::CatalogEntry;
use haft_model::{ClientAbility, Code, Envelope, ResultStatus, Status, cleaned};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ErrorCode, JsonObject, MetaObject,
    TASKS_EXTENSION_ID, TaskPayload,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::blocks;
use crate::error_mapping::mcp_error;

/// Prefix of the protocol's own metadata.
const OF_PROTOCOL: &str = "io.modelcontextprotocol/";

/// What a client reads of a success whose value it cannot be given.
const NO_VALUE: &str = "(the call succeeded; its value is too long for this result, or redaction \
                        left one that its output schema does not allow; do not call it again for that)";

/// Whether a call waits for approval.
pub(super) fn waits(envelope: &Envelope) -> bool {
    envelope.status == ResultStatus::Pending
}

/// The result for a client.
pub(super) fn of(
    envelope: &Envelope,
    promise: OutputPromise<'_>,
) -> Result<CallToolResponse, ErrorData> {
    if let Some(error) = native_error(envelope).filter(|error| is_of_the_protocol(error.code)) {
        return Err(error);
    }
    if let Some(code) = envelope.situation().and_then(mcp_error) {
        let data = json!({
            "result_id": envelope.result_id,
            "invocation_id": envelope.invocation_id,
            "code": envelope.error.as_ref().map(|error| error.error_code),
        });
        return Err(ErrorData::new(code, envelope.summary.clone(), Some(data)));
    }
    Ok(result(envelope, promise).into())
}

/// The protocol error behind a failure: the backend's own, or that the caller cannot answer the
/// backend's elicitation.
pub(super) fn native_error(envelope: &Envelope) -> Option<ErrorData> {
    let error = envelope.error.as_ref()?;
    if let Some(missing) = error.cause.missing_abilities() {
        let required = missing.iter().map(|ability| {
            let (name, value) = match ability {
                ClientAbility::Form => ("elicitation", json!({ "form": {} })),
                ClientAbility::Page => ("elicitation", json!({ "url": {} })),
                ClientAbility::Roots => ("roots", json!({})),
                ClientAbility::Tasks => ("extensions", json!({ TASKS_EXTENSION_ID: {} })),
                ClientAbility::Sample => ("sampling", json!({})),
            };
            (name.to_owned(), value)
        });
        let data = json!({ "requiredCapabilities": required.collect::<Map<_, _>>() });
        let code = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
        return Some(ErrorData::new(code, error.message.clone(), Some(data)));
    }
    let native = error.cause.json_rpc()?;
    let code = i32::try_from(native.code).ok()?;
    let data = native.data.clone().filter(|data| !data.is_null());
    let said = native.message.as_deref();
    let message = said.map_or_else(|| error.message.clone(), |said| cleaned(said).into_owned());
    Some(ErrorData::new(ErrorCode(code), message, data))
}

/// The payload of a finished task. A tool failure is a result like any other; a protocol error, of
/// the backend or ours, is none.
pub(super) fn outcome(envelope: &Envelope, promise: OutputPromise<'_>) -> TaskPayload {
    if envelope.final_status == Status::Canceled {
        return TaskPayload::Cancelled;
    }
    let ours = envelope.error.as_ref().filter(|error| error.error_code == Code::Internal);
    let ours = ours.map(|error| ErrorData::internal_error(error.message.clone(), None));
    match native_error(envelope).or(ours) {
        Some(error) => TaskPayload::Failed { error: object(error) },
        None => TaskPayload::Completed { result: object(result(envelope, promise)) },
    }
}

/// A protocol value as a JSON object. It goes through text: a number of 32 bits has its short form
/// only there.
pub(super) fn object(value: impl Serialize) -> JsonObject {
    match serde_json::to_string(&value).and_then(|text| serde_json::from_str(&text)) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => JsonObject::new(),
    }
}

/// Whether an error is about the protocol, and not about the tool.
fn is_of_the_protocol(code: ErrorCode) -> bool {
    code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
}

/// The same, for a call without a protocol error.
pub(super) fn result(envelope: &Envelope, promise: OutputPromise<'_>) -> CallToolResult {
    let mut content = blocks::of(&envelope.model_facing_content);
    let structured = promise.kept_by(envelope);
    let is_broken = promise.is_made() && structured.is_none();
    if is_broken && !envelope.is_error && !waits(envelope) {
        content.push(ContentBlock::text(NO_VALUE));
    }
    let is_error = envelope.is_error || is_broken;
    let mut result = match is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    result.structured_content = structured;
    result.meta = Some(meta(envelope));
    result
}

/// The output schema that the client was shown of a tool. Its clients treat a result that is no error
/// as broken without a value that fits.
#[derive(Clone, Copy)]
pub(super) enum OutputPromise<'a> {
    /// None was shown, so any value or none does.
    None,
    /// The schema of this contract, where it is still there.
    Schema(Option<&'a CatalogEntry>),
}

impl<'a> OutputPromise<'a> {
    /// The promise of a contract whose output schema clients are shown, or not.
    pub(super) fn made(is_made: bool, entry: Option<&'a Arc<CatalogEntry>>) -> OutputPromise<'a> {
        match is_made {
            true => OutputPromise::Schema(entry.map(Arc::as_ref)),
            false => OutputPromise::None,
        }
    }

    fn is_made(self) -> bool {
        matches!(self, OutputPromise::Schema(_))
    }

    /// The value of a result that the client may be given. That of a success was validated; a failure
    /// and redaction may have left one that does not fit.
    fn kept_by(self, envelope: &Envelope) -> Option<Value> {
        let value = envelope.structured_content.clone();
        let OutputPromise::Schema(entry) = self else { return value };
        let is_checked = !envelope.is_error && envelope.redaction_state == "none";
        let fits = |value: &Value| entry.is_some_and(|entry| entry.check_output(value).is_ok());
        match value {
            Some(value) => (is_checked || fits(&value)).then_some(value),
            // The contract accepted an empty object for an output without a value.
            None => (!envelope.is_error && envelope.empty).then(|| json!({})),
        }
    }
}

/// The backend's metadata of the result, and ours. The protocol's own belongs to the connection to
/// the backend, and no backend speaks in our name.
fn meta(envelope: &Envelope) -> MetaObject {
    let passes = |name: &str| !name.starts_with(blocks::OURS) && !name.starts_with(OF_PROTOCOL);
    let theirs = envelope.backend_meta.iter().filter(|(name, _)| passes(name));
    let theirs = theirs.map(|(name, value)| (name.clone(), value.clone()));
    let mut meta = MetaObject::from(theirs.collect::<Map<_, _>>());
    meta.insert("dev.haft/invocation-id".to_owned(), json!(envelope.invocation_id));
    if let Some(question) = &envelope.approval_id {
        meta.insert(
            "dev.haft/approval".to_owned(),
            json!({ "approval_id": question, "state": "open", "decided_by": "a person" }),
        );
    }
    if let Some(error) = &envelope.error {
        meta.insert("dev.haft/error".to_owned(), json!(error));
    }
    meta
}
