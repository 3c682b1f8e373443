//! Result envelope: the one answer to a call, whatever happened.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::status::words;
use crate::{
    AbortReason, Content, ContextGiven, EffectState, InvocationId, Link, QuestionId, Situation,
    Status, Timestamp, ToolError,
};

words! {
    /// Status of a result.
    ResultStatus {
        /// The call succeeded.
        Succeeded "succeeded",
        /// The call succeeded in part.
        PartialSucceeded "partial_succeeded",
        /// The call failed.
        Failed "failed",
        /// A rule denied it.
        Denied "denied",
        /// A person rejected it.
        Rejected "rejected",
        /// It took effect, and redaction removed all of its output.
        Redacted "redacted",
        /// It took effect, and its output could neither be shown nor stored.
        TooLarge "too_large",
        /// Cancelled.
        Canceled "canceled",
        /// The timeout expired.
        TimedOut "timed_out",
        /// Synthesized for a call that another one cancelled.
        SyntheticError "synthetic_error",
        /// Superseded: the caller no longer wants it.
        Discarded "discarded",
        /// Not terminal: a person has to approve first.
        Pending "pending",
    }
}

/// The result envelope of Agent Tool, with our additions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Version of the standard.
    pub schema_version: Cow<'static, str>,
    /// Id of the result, `res_…`.
    pub result_id: String,
    /// The call it answers.
    pub invocation_id: InvocationId,
    /// The contract: `id@major`, or `unresolved:<name>`.
    pub tool_id: String,
    /// Status of the result.
    pub status: ResultStatus,
    /// Terminal status of the invocation.
    pub final_status: Status,
    /// Whether it reports a failure or a refusal.
    pub is_error: bool,
    /// State of the side effect.
    pub effect_state: EffectState,
    /// The content, in full or as references.
    pub content: Vec<Content>,
    /// The value that the contract's output schema promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// The backend's `_meta` of its result.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub backend_meta: Map<String, Value>,
    /// The content as a model sees it: capped and redacted.
    pub model_facing_content: Vec<Content>,
    /// One line for people.
    pub ui_facing_summary: String,
    /// The text that a transcript is searched by.
    pub transcript_search_text: String,
    /// Links to resources that the reader can fetch.
    #[serde(default)]
    pub resource_refs: Vec<Link>,
    /// Links to deliverables.
    #[serde(default)]
    pub artifact_refs: Vec<Link>,
    /// URIs of the evidence: `haft://invocations/<id>`.
    #[serde(default)]
    pub evidence_refs: Vec<String>,
    /// Policies that had an opinion.
    #[serde(default)]
    pub policy_refs: Vec<String>,
    /// Trace references.
    #[serde(default)]
    pub telemetry_refs: Vec<Value>,
    /// Ids of the persistence records.
    #[serde(default)]
    pub persistence_refs: Vec<String>,
    /// One line for a model.
    pub summary: String,
    /// `none`, `partial` or `full`.
    pub redaction_state: String,
    /// Whether the tool returned nothing, which differs from there being nothing.
    #[serde(default)]
    pub empty: bool,
    /// Set when the result was synthesized for a cancelled call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort_reason: Option<AbortReason>,
    /// Id of the driver that ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// When the runtime created it.
    pub created_at: Timestamp,
    /// The error, for a failure or a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
    /// Outcome of the context modifiers that came with the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_modifiers: Option<ContextGiven>,
    /// Warnings of a call that did not fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Why the ledger could not record the end of the call, where it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<String>,
    /// Deduplication: whether it is the result of an earlier call with the same intent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    /// The open question, for a call that waits for approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<QuestionId>,
}

impl Envelope {
    /// The output as a value: the structured content, or the JSON of its only text.
    pub fn output(&self) -> Option<Value> {
        match (&self.structured_content, self.content.as_slice()) {
            (Some(value), _) => Some(value.clone()),
            (None, [Content::Text { text, .. }]) => serde_json::from_str(text).ok(),
            (None, _) => None,
        }
    }

    /// The situation on a wire; `None` for success.
    pub fn situation(&self) -> Option<Situation> {
        match (&self.error, self.status) {
            (_, ResultStatus::Pending) => Some(Situation::Waiting),
            (Some(error), _) if self.is_error => Some(error.situation()),
            (Some(_) | None, _) => None,
        }
    }
}
