//! Approval questions, their answers, and standing answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::status::words;
use crate::{
    ActorId, Decision, Digest, DriverId, ElicitationForm, InvocationId, Needs, QuestionId,
    Timestamp,
};

/// Approval binding: exactly what a yes is for. One byte of difference is another question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalBinding {
    /// Id of the call.
    pub invocation: InvocationId,
    /// The contract: `id@version`.
    pub tool: String,
    /// Id of the driver.
    pub driver: DriverId,
    /// Version of the driver.
    #[serde(default)]
    pub driver_version: String,
    /// The digest of all that the driver declares: where it connects, and what it sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_digest: Option<Digest>,
    /// The digest of the input that would run.
    pub call_input: Digest,
    /// The digest of what the driver would touch, where rules compare that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<Digest>,
    /// The fingerprint of the effects.
    pub effects: Digest,
    /// Id of the caller.
    pub actor: ActorId,
    /// Tenant of the caller.
    pub tenant: String,
}

impl ApprovalBinding {
    /// The digest of the whole binding.
    pub fn digest(&self) -> Digest {
        Digest::of(self)
    }
}

/// One durable approval question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its id.
    pub id: QuestionId,
    /// What an approval is bound to.
    pub bound: ApprovalBinding,
    /// What a grant would have to name: the action, or `tool:<id>`.
    #[serde(default)]
    pub grant: String,
    /// The decision that asked.
    pub decision: Decision,
    /// Quorums that have to be reached; all of them.
    pub needs: Vec<Needs>,
    /// The input as people may see it: sensitive values are named, not shown.
    pub shown_input: Value,
    /// Paths that the driver's manifest opens for writing as its own state.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub driver_state: Arc<[String]>,
    /// One line that the approver reads first.
    pub summary: String,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// When the question expires; later answers are refused.
    pub expires_at: Timestamp,
    /// Whether an approver may answer "always".
    pub rememberable: bool,
    /// Elicitation: the form that a backend wants filled in while the call runs; `None` for an
    /// approval question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<ElicitationForm>,
}

words! {
    /// State of a question.
    QuestionState {
        /// The quorum is not reached yet.
        Open "open",
        /// The quorum approved.
        Approved "approved",
        /// An approver rejected it.
        Rejected "rejected",
        /// It expired.
        Expired "expired",
        /// Its subject changed or ended before it was answered.
        Withdrawn "withdrawn",
    }
}

/// One approver's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalAnswer {
    /// Id of the question.
    pub question: QuestionId,
    /// The approver.
    pub by: ActorId,
    /// The actor who really typed it, where one actor speaks as another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaking: Option<ActorId>,
    /// Roles of the approver, as the edge authenticated them.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Whether it approves.
    pub approves: bool,
    /// The reason; a rejection needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The digest of the edited input, where the approver changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_input: Option<Digest>,
    /// The digest of the filled-in form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    /// Whether the approver wants it to stand for calls like this one.
    #[serde(default)]
    pub always: bool,
    /// Channel of the answer: `terminal`, `inbox`, `console` …
    pub channel: String,
    /// When it was given.
    pub at: Timestamp,
}

/// Standing approval: an answer that holds for later calls until it is revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingAnswer {
    /// Its id: that of the question it answered.
    pub id: QuestionId,
    /// Actor whose calls it covers.
    pub actor: ActorId,
    /// Tenant whose calls it covers.
    pub tenant: String,
    /// Contract that it covers: `id@major`.
    pub tool: String,
    /// Fingerprint of the effects; other effects ask again.
    pub effects: Digest,
    /// The approver.
    pub by: ActorId,
    /// When it was given.
    pub at: Timestamp,
}
