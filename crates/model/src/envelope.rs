//! The answer to a call: whatever happened, exactly one of these comes out.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::status::words;
use crate::{
    AbortReason, Content, ContextGiven, EffectState, InvocationId, Link, QuestionId, Situation,
    Status, Timestamp, ToolError,
};

words! {
    /// How a result came out.
    ResultStatus {
        /// As hoped.
        Succeeded "succeeded",
        /// In part.
        PartialSucceeded "partial_succeeded",
        /// Not.
        Failed "failed",
        /// A rule says no.
        Denied "denied",
        /// A person says no.
        Rejected "rejected",
        /// It happened, and nothing of it may be shown.
        Redacted "redacted",
        /// It happened, and could neither be shown nor stored.
        TooLarge "too_large",
        /// Called off.
        Canceled "canceled",
        /// Time ran out.
        TimedOut "timed_out",
        /// Made up for a call that another one took along.
        SyntheticError "synthetic_error",
        /// Superseded.
        Discarded "discarded",
        /// Not an end: a person has to answer first.
        Pending "pending",
    }
}

/// The result envelope, as Agent Tool has it, with what we know beyond it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Version of the standard.
    pub schema_version: Cow<'static, str>,
    /// Its id.
    pub result_id: String,
    /// The call it answers.
    pub invocation_id: InvocationId,
    /// The contract: `id@major`, or `unresolved:<name>`.
    pub tool_id: String,
    /// How it came out.
    pub status: ResultStatus,
    /// How the invocation ended.
    pub final_status: Status,
    /// Whether it is bad news.
    pub is_error: bool,
    /// What is known of the effect.
    pub effect_state: EffectState,
    /// The pieces, in full or as references.
    pub content: Vec<Content>,
    /// The value that the contract's output schema promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// The pieces as a model sees them: capped and redacted.
    pub model_facing_content: Vec<Content>,
    /// One line for people.
    pub ui_facing_summary: String,
    /// The text that a transcript is searched by.
    pub transcript_search_text: String,
    /// Things that can be fetched.
    #[serde(default)]
    pub resource_refs: Vec<Link>,
    /// Deliverables.
    #[serde(default)]
    pub artifact_refs: Vec<Link>,
    /// Where the proof is.
    #[serde(default)]
    pub evidence_refs: Vec<String>,
    /// Policies that spoke.
    #[serde(default)]
    pub policy_refs: Vec<String>,
    /// Traces.
    #[serde(default)]
    pub telemetry_refs: Vec<Value>,
    /// How it was stored.
    #[serde(default)]
    pub persistence_refs: Vec<String>,
    /// One line for a model.
    pub summary: String,
    /// `none`, `partial` or `full`.
    pub redaction_state: String,
    /// Whether the tool gave nothing, which is not the same as nothing being there.
    #[serde(default)]
    pub empty: bool,
    /// Set when the result was made up for a call that something took along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort_reason: Option<AbortReason>,
    /// Which driver carried it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
    /// What became of the context modifiers that came with the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_modifiers: Option<ContextGiven>,
    /// What the caller should know although nothing went wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Why the end of the call could not be put on record, where it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<String>,
    /// Whether it is the answer of an earlier call that meant the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    /// The question that is open, for a call that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<QuestionId>,
}

impl Envelope {
    /// What it means on a wire; none means that all is well.
    pub fn situation(&self) -> Option<Situation> {
        match (&self.error, self.status) {
            (_, ResultStatus::Pending) => Some(Situation::Waiting),
            (Some(error), _) if self.is_error => Some(error.situation()),
            (Some(_) | None, _) => None,
        }
    }
}
