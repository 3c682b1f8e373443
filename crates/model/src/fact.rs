//! What the ledger keeps: one fact for each step of a call, in the words of the standard.
//!
//! The log is the truth and every record is a fold over it, so a fact holds all that anybody may
//! want to know later, except bytes: inputs and results are kept beside the log and named by digest.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::status::words;
use crate::{
    AbortReason, Actor, ActorId, Answer, CancelFact, Code, Decision, Digest, DriverId, EffectState,
    InvocationId, Opinion, Progress, Question, QuestionId, QuestionState, ResultStatus,
    StandingAnswer, Status, Timestamp, Tri,
};

/// One step of a call, or of the house, that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// When.
    pub at: Timestamp,
    /// The phases that ended since the fact before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseLine>,
    /// What.
    pub event: Event,
}

words! {
    /// The thirteen phases of a call, by the standard's names.
    CallPhase {
        /// 1: the tool is found on the surface.
        ResolveTool "resolve_tool",
        /// 2: the input is held against the schema.
        ParseSchema "parse_schema",
        /// 3: the schema was loaded.
        SchemaGate "schema_gate",
        /// 4: values, setup and driver.
        ValidateValues "validate_values",
        /// 5: the copy that others may see.
        PrepareObservableInput "prepare_observable_input",
        /// 6: hooks before.
        PreHooks "pre_hooks",
        /// 7: may it run?
        Permission "permission",
        /// 8: its turn.
        Schedule "schedule",
        /// 9: the driver works.
        Execute "execute",
        /// 10: output to result, once.
        MapResult "map_result",
        /// 11: hooks after.
        PostHooks "post_hooks",
        /// 12: stored and redacted.
        PersistResult "persist_result",
        /// 13: released.
        EmitTerminal "emit_terminal",
    }
}

impl CallPhase {
    /// Its number in the standard.
    pub fn number(self) -> u8 {
        CallPhase::ALL.iter().position(|phase| *phase == self).map_or(0, |at| at as u8 + 1)
    }
}

words! {
    /// How a phase ended.
    PhaseOutcome {
        /// Well.
        Ok "ok",
        /// The call stopped here.
        Failed "failed",
        /// There was nothing to do, or the call had stopped before.
        Skipped "skipped",
    }
}

/// One line of an invocation's phase log. Times are microseconds after the call came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(CallPhase, PhaseOutcome, u64, u64)", into = "(CallPhase, PhaseOutcome, u64, u64)")]
pub struct PhaseLine {
    /// Which phase.
    pub phase: CallPhase,
    /// How it ended.
    pub outcome: PhaseOutcome,
    /// When it began.
    pub from: u64,
    /// When it ended.
    pub to: u64,
}

impl From<(CallPhase, PhaseOutcome, u64, u64)> for PhaseLine {
    fn from((phase, outcome, from, to): (CallPhase, PhaseOutcome, u64, u64)) -> PhaseLine {
        PhaseLine { phase, outcome, from, to }
    }
}

impl From<PhaseLine> for (CallPhase, PhaseOutcome, u64, u64) {
    fn from(line: PhaseLine) -> Self {
        (line.phase, line.outcome, line.from, line.to)
    }
}

/// Bytes that are kept beside the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The digest of the bytes.
    pub digest: Digest,
    /// How many.
    pub size: u64,
    /// The names of the top-level fields; values are not shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// The values that the contract allows into the log.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub shown: Map<String, Value>,
}

words! {
    /// Who changed an input.
    MutationSource {
        /// A hook.
        Hook "hook",
        /// A person who was asked.
        PermissionPrompt "permission_prompt",
        /// A driver's mapping.
        Adapter "adapter",
        /// A change of version.
        Migration "migration",
        /// The runtime: defaults and normal forms.
        Runtime "runtime",
    }
}

/// One change of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutation {
    /// What kind of source.
    pub source: MutationSource,
    /// Which one.
    pub by: String,
    /// The input before.
    pub from: Digest,
    /// The input after.
    pub to: Kept,
    /// JSON pointers of what differs.
    pub changed: Vec<String>,
    /// Why.
    pub reason: String,
}

words! {
    /// Where hooks are heard.
    HookPoint {
        /// Before a call is judged.
        PreToolUse "pre_tool_use",
        /// After it succeeded.
        PostToolUse "post_tool_use",
        /// After it failed.
        PostToolUseFailure "post_tool_use_failure",
        /// When a person would be asked.
        PermissionRequest "permission_request",
        /// When it was decided.
        PermissionDecision "permission_decision",
        /// Before a result is stored.
        ResultPersistence "result_persistence",
    }
}

/// One thing that happened: the 27 classes of the standard, and ours in addition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum Event {
    /// A contract was seen for the first time, or changed.
    #[serde(rename = "tool.declared")]
    Declared(Declared),
    /// A surface was made.
    #[serde(rename = "tool.surface.created")]
    SurfaceCreated(SurfaceSeen),
    /// A surface changed.
    #[serde(rename = "tool.surface.updated")]
    SurfaceUpdated(SurfaceSeen),
    /// A search revealed a deferred tool.
    #[serde(rename = "tool.deferred.discovered")]
    DeferredDiscovered(DeferredSeen),
    /// A deferred tool's schema entered the surface.
    #[serde(rename = "tool.deferred.loaded")]
    DeferredLoaded(DeferredSeen),
    /// A call came in.
    #[serde(rename = "tool.invocation.planned")]
    Planned(Box<Planned>),
    /// Its tool was found.
    #[serde(rename = "tool.invocation.selected")]
    Selected(Selected),
    /// Its input fits and a driver was found.
    #[serde(rename = "tool.invocation.arguments_ready")]
    ArgumentsReady(Box<ArgumentsReady>),
    /// Over: the input is at fault.
    #[serde(rename = "tool.invocation.validation_failed")]
    ValidationFailed(Ended),
    /// A hook before the call begins.
    #[serde(rename = "tool.hook.pre.started")]
    PreHookStarted(HookStarted),
    /// A hook before the call ended.
    #[serde(rename = "tool.hook.pre.completed")]
    PreHookCompleted(Box<HookRun>),
    /// A person has to answer.
    #[serde(rename = "tool.permission.requested")]
    PermissionRequested(Box<Question>),
    /// It was decided.
    #[serde(rename = "tool.permission.decided")]
    PermissionDecided(Box<Decided>),
    /// It waits for its turn.
    #[serde(rename = "tool.invocation.queued")]
    Queued(Queued),
    /// An attempt begins.
    #[serde(rename = "tool.invocation.started")]
    Started(Started),
    /// How far it is, or what became of a wish to call it off.
    #[serde(rename = "tool.invocation.progress")]
    Progressed(Box<Reported>),
    /// Part of the answer is there.
    #[serde(rename = "tool.invocation.partial_result")]
    PartialResult(Box<Reported>),
    /// A hook after the call begins.
    #[serde(rename = "tool.hook.post.started")]
    PostHookStarted(HookStarted),
    /// A hook after the call ended.
    #[serde(rename = "tool.hook.post.completed")]
    PostHookCompleted(Box<HookRun>),
    /// How the result was stored.
    #[serde(rename = "tool.result.persisted")]
    Persisted(Persisted),
    /// What was taken out of it.
    #[serde(rename = "tool.result.redacted")]
    Redacted(Redacted),
    /// The result exists.
    #[serde(rename = "tool.result.created")]
    ResultCreated(ResultCreated),
    /// The result was released.
    #[serde(rename = "tool.invocation.yielded")]
    Yielded(Yielded),
    /// Over: done.
    #[serde(rename = "tool.invocation.succeeded")]
    Succeeded(Ended),
    /// Over: failed, denied or blocked.
    #[serde(rename = "tool.invocation.failed")]
    Failed(Ended),
    /// Over: called off.
    #[serde(rename = "tool.invocation.canceled")]
    Canceled(Ended),
    /// Over: time ran out.
    #[serde(rename = "tool.invocation.timed_out")]
    TimedOut(Ended),
    /// Ours: a person answered a question.
    #[serde(rename = "haft.approval.answered")]
    Answered(Box<Answer>),
    /// Ours: a question ended without an answer that counts.
    #[serde(rename = "haft.approval.closed")]
    Closed(Closed),
    /// Ours: an answer stands for calls to come.
    #[serde(rename = "haft.standing.given")]
    StandingGiven(StandingAnswer),
    /// Ours: it does not any more.
    #[serde(rename = "haft.standing.revoked")]
    StandingRevoked(StandingRevoked),
    /// Ours: from here on the effect may have happened.
    #[serde(rename = "haft.attempt.submitted")]
    Submitted(Submitted),
    /// Ours: an attempt is over.
    #[serde(rename = "haft.attempt.ended")]
    AttemptEnded(Box<AttemptEnded>),
    /// Ours: somebody wants it called off.
    #[serde(rename = "haft.cancel.requested")]
    CancelRequested(CancelRequested),
    /// Ours: another process took over a call whose own had died.
    #[serde(rename = "haft.invocation.taken_over")]
    TakenOver(TakenOver),
    /// Ours: a remark about the log itself.
    #[serde(rename = "haft.audit.note")]
    Note(Note),
}

/// A contract that was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Declared {
    /// `id@major`.
    pub tool: String,
    /// Its full version.
    pub version: String,
    /// The declaration in the standard's form.
    pub declaration: Kept,
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
    pub model_input: Kept,
    /// What the host added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Kept>,
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
    pub observable_input: Kept,
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
    pub permission_input: Kept,
    /// What will run, frozen; only where the verdict is allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_input: Option<Kept>,
    /// Changes that a person made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutations: Vec<Mutation>,
    /// The question that was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionId>,
    /// Until when an allow holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// `interactive` or `inbox` or `non_interactive`.
    pub mode: String,
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
    /// The fencing token of the process that runs it; 0 for reads.
    pub fence: u64,
}

/// The point of no return.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// Of which attempt.
    pub attempt: u32,
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
    pub payload: Option<Kept>,
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
    pub result: Kept,
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

impl Event {
    /// The status that an invocation has after it, if it changes any.
    pub fn status(&self) -> Option<Status> {
        match self {
            Event::Planned(_) => Some(Status::Planned),
            Event::Selected(_) => Some(Status::Selected),
            Event::ArgumentsReady(_) => Some(Status::ArgumentsReady),
            Event::PreHookStarted(hook) => {
                (hook.point == HookPoint::PreToolUse).then_some(Status::PreHooksRunning)
            }
            Event::PermissionRequested(_) => Some(Status::AwaitingApproval),
            Event::PermissionDecided(decided) => {
                decided.call_input.is_some().then_some(Status::Approved)
            }
            Event::Queued(_) => Some(Status::Queued),
            Event::Started(_) => Some(Status::Running),
            Event::PartialResult(_) => Some(Status::PartialResult),
            Event::PostHookStarted(_) => Some(Status::PostHooksRunning),
            Event::Yielded(_) => Some(Status::Yielded),
            Event::ValidationFailed(ended)
            | Event::Succeeded(ended)
            | Event::Failed(ended)
            | Event::Canceled(ended)
            | Event::TimedOut(ended) => Some(ended.final_status),
            Event::Declared(_)
            | Event::SurfaceCreated(_)
            | Event::SurfaceUpdated(_)
            | Event::DeferredDiscovered(_)
            | Event::DeferredLoaded(_)
            | Event::PreHookCompleted(_)
            | Event::Progressed(_)
            | Event::PostHookCompleted(_)
            | Event::Persisted(_)
            | Event::Redacted(_)
            | Event::ResultCreated(_)
            | Event::Answered(_)
            | Event::Closed(_)
            | Event::StandingGiven(_)
            | Event::StandingRevoked(_)
            | Event::Submitted(_)
            | Event::AttemptEnded(_)
            | Event::CancelRequested(_)
            | Event::TakenOver(_)
            | Event::Note(_) => None,
        }
    }

    /// The last word about a call: its status, its effect and its code.
    pub fn end(&self) -> Option<&Ended> {
        match self {
            Event::ValidationFailed(ended)
            | Event::Succeeded(ended)
            | Event::Failed(ended)
            | Event::Canceled(ended)
            | Event::TimedOut(ended) => Some(ended),
            _ => None,
        }
    }

    /// The terminal event for a way to end.
    pub fn ending(ended: Ended) -> Event {
        match ended.final_status {
            Status::Succeeded => Event::Succeeded(ended),
            Status::Canceled => Event::Canceled(ended),
            Status::TimedOut => Event::TimedOut(ended),
            Status::SchemaParseFailed | Status::ValidationFailed => Event::ValidationFailed(ended),
            _ => Event::Failed(ended),
        }
    }
}
