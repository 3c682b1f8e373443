//! Questions to people, their answers, and answers that stand.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::status::words;
use crate::{
    ActorId, Decision, Digest, DriverId, ElicitationForm, InvocationId, Needs, QuestionId,
    Timestamp,
};

/// Exactly what a yes is for. One byte of difference is another question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalBinding {
    /// Which call.
    pub invocation: InvocationId,
    /// Which contract: `id@version`.
    pub tool: String,
    /// Which driver.
    pub driver: DriverId,
    /// Which version of it.
    #[serde(default)]
    pub driver_version: String,
    /// The digest of all that it says of itself: where it goes, and what it sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_digest: Option<Digest>,
    /// The digest of the input that would run.
    pub call_input: Digest,
    /// The digest of what the driver would touch, where rules compare that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<Digest>,
    /// The fingerprint of the effects.
    pub effects: Digest,
    /// Who called.
    pub actor: ActorId,
    /// For whom.
    pub tenant: String,
}

impl ApprovalBinding {
    /// The digest of all of it.
    pub fn digest(&self) -> Digest {
        Digest::of(self)
    }
}

/// One durable question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its id.
    pub id: QuestionId,
    /// What a yes is for.
    pub bound: ApprovalBinding,
    /// What a grant would have to name: the action, or `tool:<id>`.
    #[serde(default)]
    pub grant: String,
    /// The decision that asked.
    pub decision: Decision,
    /// Who has to answer; all of these.
    pub needs: Vec<Needs>,
    /// The input as people may see it: sensitive values are named, not shown.
    pub shown_input: Value,
    /// What a person reads first.
    pub summary: String,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// When nobody may answer any more.
    pub expires_at: Timestamp,
    /// Whether "always" may be answered.
    pub rememberable: bool,
    /// The form that a backend wants filled in while the call runs; none where the question is whether
    /// the call may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<ElicitationForm>,
}

words! {
    /// What became of a question.
    QuestionState {
        /// Nobody, or not everybody, answered.
        Open "open",
        /// Everybody who had to said yes.
        Approved "approved",
        /// Somebody said no.
        Rejected "rejected",
        /// Time ran out.
        Expired "expired",
        /// What it was about changed or ended before it was answered.
        Withdrawn "withdrawn",
    }
}

/// One person's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalAnswer {
    /// Which question.
    pub question: QuestionId,
    /// Who.
    pub by: ActorId,
    /// Who really typed it, where somebody speaks as another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaking: Option<ActorId>,
    /// In which roles, as the edge knew them.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Yes or no.
    pub approves: bool,
    /// Why; a no needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The digest of the input that they put in place of the one they were shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_input: Option<Digest>,
    /// The digest of what they filled into a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    /// Whether it is to stand for calls like this one.
    #[serde(default)]
    pub always: bool,
    /// By which channel: `terminal`, `inbox`, `console` …
    pub channel: String,
    /// When.
    pub at: Timestamp,
}

/// An answer that stands for calls to come, until somebody takes it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingAnswer {
    /// Its id: that of the question it answered.
    pub id: QuestionId,
    /// For calls by whom.
    pub actor: ActorId,
    /// For whose calls.
    pub tenant: String,
    /// To which contract: `id@major`.
    pub tool: String,
    /// With which effects; other effects ask again.
    pub effects: Digest,
    /// Who said so.
    pub by: ActorId,
    /// When.
    pub at: Timestamp,
}
