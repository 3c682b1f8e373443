//! Event payloads: what the ledger records with each kind of event.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AbortReason, Actor, ActorId, BatchPlace, CancelFact, Charge, Code, Decision, Digest, DriverId,
    EffectState, HookPoint, InvocationId, Mutation, Opinion, PayloadRef, Progress, QuestionId,
    QuestionState, ResultStatus, Status, Timestamp, Tri,
};

/// A contract seen for the first time, or changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Declared {
    /// `id@major`.
    pub tool: String,
    /// Its full version.
    pub version: String,
    /// The declaration in the standard's form.
    pub declaration: PayloadRef,
}

/// A surface that was created or updated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfaceSeen {
    /// Id of the surface.
    pub surface: String,
    /// Revision of the surface.
    pub revision: u64,
    /// Scope that it serves, such as a session.
    pub scope: String,
    /// How many tools are loaded, deferred, blocked and excluded.
    pub counts: [usize; 4],
}

/// A deferred tool that was discovered or loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredSeen {
    /// Id of the surface.
    pub surface: String,
    /// `id@major`.
    pub tool: String,
}

/// A call as it came in; enough for recovery to resume it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// The name that the caller used.
    pub requested: String,
    /// The calling actor.
    pub actor: Actor,
    /// Id of the surface it was made on.
    pub surface: String,
    /// Revision of that surface.
    pub revision: u64,
    /// The input, byte for byte as sent.
    pub model_input: PayloadRef,
    /// Context that the host added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<PayloadRef>,
    /// Driver pin: the driver that the caller insists on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<DriverId>,
    /// Regions that it must stay in; empty means anywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub region: Vec<String>,
    /// Foreign ids of the call; each has a `source`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub native: Vec<Value>,
    /// Channel it came through: `cli`, `library`, `mcp` …
    pub channel: String,
    /// Idempotency key that the caller set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The parent call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<InvocationId>,
    /// The call that this one compensates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensates: Option<InvocationId>,
    /// Position in a batch, for a call that is part of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchPlace>,
}

/// The contract that the name resolved to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    /// `id@major`.
    pub tool: String,
    /// Its full version.
    pub version: String,
    /// `id` or `alias`.
    pub matched_by: String,
    /// What a grant has to name: the action, or `tool:<id>`.
    pub grant: String,
}

/// The safety facts of one call, resolved for its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedFacts {
    /// Changes nothing.
    pub is_read_only: Tri,
    /// May destroy something.
    pub is_destructive: Tri,
    /// May reach any host.
    pub is_open_world: Tri,
    /// May run in parallel with other calls.
    pub is_concurrency_safe: bool,
}

/// A call with a valid input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArgumentsReady {
    /// The digest of the plan; `None` where no driver was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Digest>,
    /// Id of the driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<DriverId>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_version: Option<String>,
    /// The fingerprint of the effects.
    pub effects: Digest,
    /// The digest of the contract's schemas.
    pub schema: Digest,
    /// The normalised input.
    pub observable_input: PayloadRef,
    /// Mutations from the sent input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutations: Vec<Mutation>,
    /// The safety facts.
    pub facts: ResolvedFacts,
}

/// A hook begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookStarted {
    /// Id of the hook.
    pub hook: String,
    /// Point at which it runs.
    pub point: HookPoint,
}

/// A hook has run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookRun {
    /// Id of the hook.
    pub hook: String,
    /// Point at which it runs.
    pub point: HookPoint,
    /// When it began.
    pub started_at: Timestamp,
    /// The kinds of output it gave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Its message to people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its opinion, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opinion: Option<Opinion>,
    /// Its change to the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutation: Option<Mutation>,
    /// Context that it adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Value>,
    /// Why it stopped the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// Why the hook itself failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A decision, and the inputs it is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// The decision.
    pub decision: Decision,
    /// The input that was judged.
    pub permission_input: PayloadRef,
    /// The input that runs, frozen; only where the verdict is allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_input: Option<PayloadRef>,
    /// Mutations by the approver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutations: Vec<Mutation>,
    /// The answered question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionId>,
    /// When an allow expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Paths that the driver's manifest opens for writing as its own state.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub driver_state: Arc<[String]>,
    /// `interactive`, `rules` or `fallback`.
    pub mode: String,
}

impl Decided {
    /// Mode of a decision about a fallback driver for a call that runs already.
    pub const FALLBACK: &str = "fallback";
}

/// A call in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// Locks that it holds while it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
    /// Whether it may run in parallel with others.
    pub is_concurrency_safe: bool,
    /// Most calls that run at once.
    pub max_parallel: u64,
}

/// An attempt begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// The driver that makes it.
    pub driver: DriverId,
    /// The digest of the input that the driver is given.
    pub call_input: Digest,
    /// The fencing token of the process that runs it, where it held one already; 0 otherwise.
    pub fence: u64,
    /// What quotas and budgets count it as.
    #[serde(default, skip_serializing_if = "Charge::is_plain")]
    pub charge: Charge,
}

/// An attempt is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptEnded {
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Effect state after the attempt.
    pub effect: EffectState,
    /// Error code of a failed attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Ids that the backend gave it; each has a `source`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub native: Vec<Value>,
}

/// A progress report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    /// Sequence number, from 1, without gaps.
    pub sequence: u64,
    /// One of the standard's words, such as `running`.
    pub status: String,
    /// Milliseconds since the attempt began.
    pub elapsed_ms: u64,
    /// The report itself.
    #[serde(default)]
    pub progress: Progress,
    /// State of a cancellation, where the report is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<CancelNote>,
}

/// State of a cancellation request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelNote {
    /// The state.
    pub fact: CancelFact,
    /// Reason of the request.
    pub reason: AbortReason,
}

/// A request to cancel a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequested {
    /// The actor who requested it.
    pub by: ActorId,
    /// Reason of the request.
    pub reason: AbortReason,
}

/// How a result was persisted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persisted {
    /// Strategy: `inline`, `preview_and_persist`, `ref_only`, `redact`, `drop_with_reason` or
    /// `never_persist`.
    pub strategy: String,
    /// Most characters shown inline.
    pub max_inline_chars: u64,
    /// Size of the native output, in bytes.
    pub original_size: u64,
    /// Size of the preview, in bytes.
    pub preview_size: u64,
    /// The native output, where it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadRef>,
    /// Why this strategy applies.
    pub reason: String,
}

/// Redaction: what was removed from a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redacted {
    /// JSON pointers into the output.
    pub fields: Vec<String>,
    /// Number of other places that held something sensitive.
    pub occurrences: u64,
    /// `partial` or `full`.
    pub state: String,
}

/// The result exists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultCreated {
    /// The stored envelope.
    pub result: PayloadRef,
    /// Status of the result.
    pub status: ResultStatus,
    /// Whether it reports a failure or a refusal.
    pub is_error: bool,
}

/// The result was released.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Yielded {}

/// A call is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Terminal status.
    pub final_status: Status,
    /// Effect state at the end.
    pub effect: EffectState,
    /// Error code of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The error message, redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// For a failed validation: `schema` or `values`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
}

/// A question expired or was withdrawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// Id of the question.
    pub question: QuestionId,
    /// Expired or withdrawn.
    pub state: QuestionState,
    /// Why it was closed.
    pub reason: String,
}

/// An elicitation of a backend is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputEnded {
    /// Id of the question.
    pub question: QuestionId,
    /// Final state; approved means that it was filled in.
    pub state: QuestionState,
    /// Reason, in words.
    pub reason: String,
}

/// A standing answer was revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingRevoked {
    /// Id of the standing answer.
    pub id: QuestionId,
    /// The actor who revoked it.
    pub by: ActorId,
}

/// Recovery: another process took a call over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenOver {
    /// The new fencing token.
    pub fence: u64,
    /// Why the lease was free to take.
    pub reason: String,
}

/// A note about the log itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Free text.
    pub text: String,
}
