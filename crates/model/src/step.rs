//! What is known of each kind of thing that happens.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AbortReason, Actor, ActorId, BatchPlace, CancelFact, Charge, Code, Decision, Digest, DriverId,
    EffectState, HookPoint, InvocationId, Mutation, Opinion, PayloadRef, Progress, QuestionId,
    QuestionState, ResultStatus, Status, Timestamp, Tri,
};

/// A contract that was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Declared {
    /// `id@major`.
    pub tool: String,
    /// Its full version.
    pub version: String,
    /// The declaration in the standard's form.
    pub declaration: PayloadRef,
}

/// A surface that was made or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfaceSeen {
    /// Which.
    pub surface: String,
    /// Which revision of it.
    pub revision: u64,
    /// For what.
    pub scope: String,
    /// How many tools are loaded, deferred, blocked and excluded.
    pub counts: [usize; 4],
}

/// A deferred tool that was found or loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredSeen {
    /// On which surface.
    pub surface: String,
    /// `id@major`.
    pub tool: String,
}

/// A call as it came in; enough to take it up again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// The name that the caller used.
    pub requested: String,
    /// Who called.
    pub actor: Actor,
    /// On which surface.
    pub surface: String,
    /// In which revision.
    pub revision: u64,
    /// The input, byte for byte as sent.
    pub model_input: PayloadRef,
    /// What the host added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<PayloadRef>,
    /// The driver the caller insists on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<DriverId>,
    /// Regions that it must stay in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub region: Vec<String>,
    /// What the call is known by elsewhere: each has a `source`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub native: Vec<Value>,
    /// By which way it came: `cli`, `library`, `mcp` …
    pub channel: String,
    /// The key that the caller gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The call that made this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<InvocationId>,
    /// The call that this one undoes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensates: Option<InvocationId>,
    /// Its place among others that were asked for together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchPlace>,
}

/// The contract that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    /// `id@major`.
    pub tool: String,
    /// Its full version.
    pub version: String,
    /// `id` or `alias`.
    pub matched_by: String,
    /// What a grant has to name.
    pub grant: String,
}

/// The safety facts of this very call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedFacts {
    /// Changes nothing.
    pub is_read_only: Tri,
    /// May destroy.
    pub is_destructive: Tri,
    /// May reach anywhere.
    pub is_open_world: Tri,
    /// May run beside others.
    pub is_concurrency_safe: bool,
}

/// A call whose input fits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArgumentsReady {
    /// The digest of the plan; none where no driver was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Digest>,
    /// The driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<DriverId>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_version: Option<String>,
    /// The fingerprint of the effects.
    pub effects: Digest,
    /// The digest of the contract's schemas.
    pub schema: Digest,
    /// The normalised copy.
    pub observable_input: PayloadRef,
    /// How it differs from what was sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutations: Vec<Mutation>,
    /// The safety facts.
    pub facts: ResolvedFacts,
}

/// A hook begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookStarted {
    /// Which.
    pub hook: String,
    /// Where.
    pub point: HookPoint,
}

/// A hook has run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookRun {
    /// Which.
    pub hook: String,
    /// Where.
    pub point: HookPoint,
    /// When it began.
    pub started_at: Timestamp,
    /// The kinds of output it gave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// What it says to people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its opinion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opinion: Option<Opinion>,
    /// The change it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutation: Option<Mutation>,
    /// What it adds for others to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Value>,
    /// Why it stopped the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// Why it could not be heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A decision, and what it was about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// The decision.
    pub decision: Decision,
    /// What was judged.
    pub permission_input: PayloadRef,
    /// What will run, frozen; only where the verdict is allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_input: Option<PayloadRef>,
    /// Changes that a person made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutations: Vec<Mutation>,
    /// The question that was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionId>,
    /// Until when an allow holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// `interactive`, `rules` or `fallback`.
    pub mode: String,
}

impl Decided {
    /// The mode of a decision about another driver for a call that is under way already.
    pub const FALLBACK: &str = "fallback";
}

/// Its place in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// What it holds while it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
    /// Whether it may run beside others.
    pub is_concurrency_safe: bool,
    /// How many run at once.
    pub max_parallel: u64,
}

/// An attempt begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Which, from 1.
    pub attempt: u32,
    /// Whose.
    pub driver: DriverId,
    /// The digest of the input that the driver is given.
    pub call_input: Digest,
    /// The fencing token of the process that runs it, where it had one before; 0 otherwise.
    pub fence: u64,
    /// What limits and budgets count it as.
    #[serde(default, skip_serializing_if = "Charge::is_plain")]
    pub charge: Charge,
}

/// An attempt is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptEnded {
    /// Which.
    pub attempt: u32,
    /// What is known of the effect now.
    pub effect: EffectState,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// What the backend knows it by: each has a `source`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub native: Vec<Value>,
}

/// How far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    /// Its place, from 1, without gaps.
    pub sequence: u64,
    /// One of the standard's words, such as `running`.
    pub status: String,
    /// Since the attempt began.
    pub elapsed_ms: u64,
    /// How far.
    #[serde(default)]
    pub progress: Progress,
    /// What became of a wish to call it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<CancelNote>,
}

/// What became of a wish to call something off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelNote {
    /// What is known.
    pub fact: CancelFact,
    /// Why it was wished.
    pub reason: AbortReason,
}

/// Somebody wants a call called off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequested {
    /// Who.
    pub by: ActorId,
    /// Why.
    pub reason: AbortReason,
}

/// How a result was stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persisted {
    /// `inline`, `preview_and_persist`, `ref_only`, `redact`, `drop_with_reason` or `never_persist`.
    pub strategy: String,
    /// How many characters are shown.
    pub max_inline_chars: u64,
    /// How large the native output is.
    pub original_size: u64,
    /// How much of it is shown.
    pub preview_size: u64,
    /// The native output, where it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadRef>,
    /// Why.
    pub reason: String,
}

/// What was taken out of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redacted {
    /// JSON pointers into the output.
    pub fields: Vec<String>,
    /// How many other places held something sensitive.
    pub occurrences: u64,
    /// `partial` or `full`.
    pub state: String,
}

/// The result exists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultCreated {
    /// The envelope.
    pub result: PayloadRef,
    /// How it came out.
    pub status: ResultStatus,
    /// Whether it is bad news.
    pub is_error: bool,
}

/// The result was released.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Yielded {}

/// A call is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// In which status.
    pub final_status: Status,
    /// What is known of the effect.
    pub effect: EffectState,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The same, in words that hold nothing sensitive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// For a failed validation: `schema` or `values`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
}

/// A question ended without an answer that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// Which.
    pub question: QuestionId,
    /// How: expired or withdrawn.
    pub state: QuestionState,
    /// Why.
    pub reason: String,
}

/// A question of a backend is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputEnded {
    /// Which.
    pub question: QuestionId,
    /// How: approved means that it was filled in.
    pub state: QuestionState,
    /// Why, in words.
    pub reason: String,
}

/// A standing answer was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingRevoked {
    /// Which.
    pub id: QuestionId,
    /// By whom.
    pub by: ActorId,
}

/// Another process took a call over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenOver {
    /// The new fencing token.
    pub fence: u64,
    /// Why it could.
    pub reason: String,
}

/// A remark about the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// In words.
    pub text: String,
}
