//! Invocation history: one call, folded from all facts of its entries.

mod event;
mod hear;
mod intent;
mod records;
mod scheduling;
mod undoing;

use std::sync::Arc;

use haft_model::{
    Actor, BatchDiscarded, BatchPlace, CancelNote, CancelRequested, Code, ContextModified, Decided,
    Decision, DriverId, EffectObserved, EffectSettled, EffectState, HookRun, Intent, InvocationId,
    Mutation, PayloadRef, Persisted, PhaseLine, Queued, Redacted, Reported, ResolvedFacts,
    ResultStatus, SecretUse, SentAgain, Status, Timestamp,
};
use serde::Serialize;
use serde_json::Value;

use crate::line::EntryLine;
use crate::{Error, LedgerEntry, QuestionRecord};

pub use event::events;
pub use undoing::Undoing;

/// One call, folded from its entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Story {
    /// Its id.
    pub invocation_id: InvocationId,
    /// The contract: `id@major`, or `unresolved:<name>`.
    pub tool_id: String,
    /// The contract's full version.
    pub tool_version: Option<String>,
    /// The name that the caller used.
    pub requested: String,
    /// The caller; `None` when the first entry is missing.
    pub actor: Option<Actor>,
    /// Channel it came through.
    pub channel: String,
    /// Id of the surface it was made on.
    pub surface: String,
    /// Revision of that surface.
    pub revision: u64,
    /// Current status.
    pub status: Status,
    /// Every status with the time at which it began.
    pub transitions: Vec<Transition>,
    /// Current effect state.
    pub effect_state: EffectState,
    /// The phases that ended, in order.
    pub phases: Vec<PhaseSpan>,
    /// The four inputs.
    pub inputs: Inputs,
    /// Context that the host added.
    pub context: Option<PayloadRef>,
    /// The safety facts.
    pub facts: Option<ResolvedFacts>,
    /// Foreign ids of the call.
    pub native: Vec<Value>,
    /// Idempotency key that the caller set.
    pub key: Option<String>,
    /// The intent that it carries out.
    pub intent: Option<Intent>,
    /// Duplicates of the call, with their times.
    pub sent_again: Vec<(Timestamp, SentAgain)>,
    /// Secrets that its drivers requested, with their times.
    pub secrets: Vec<(Timestamp, SecretUse)>,
    /// The parent call.
    pub parent: Option<InvocationId>,
    /// The call that this one compensates.
    pub compensates: Option<InvocationId>,
    /// Position in a batch, for a call that is part of one.
    pub batch: Option<BatchPlace>,
    /// Queue entry, once it was queued.
    pub queued: Option<Queued>,
    /// When its result was released.
    pub released_at: Option<Timestamp>,
    /// When and why its caller discarded it.
    pub discarded: Option<(Timestamp, BatchDiscarded)>,
    /// Outcomes of its context modifiers, with the times.
    pub context_modifiers: Vec<(Timestamp, ContextModified)>,
    /// Manual resolutions of its effect after its end, with their times.
    pub settlements: Vec<(Timestamp, EffectSettled)>,
    /// Effects that fenced-out processes observed, with their times.
    pub observed: Vec<(Timestamp, EffectObserved)>,
    /// Compensating calls of this one, in order.
    pub undoings: Vec<Undoing>,
    /// The driver of the last plan, and its version where that is on record.
    pub driver: Option<(DriverId, Option<String>)>,
    /// Paths that its manifest opens for writing as its own state.
    pub driver_state: Arc<[String]>,
    /// The attempts, in order.
    pub attempts: Vec<Attempt>,
    /// The decisions, in order; a question begins with one.
    pub decisions: Vec<Judgement>,
    /// The changes of the input, with their times.
    pub mutations: Vec<(Timestamp, Mutation)>,
    /// The hooks that ran, with the times at which they ended.
    pub hooks: Vec<(Timestamp, HookRun)>,
    /// The questions, with their states and answers.
    pub questions: Vec<QuestionRecord>,
    /// The progress reports, with their times.
    pub progress: Vec<(Timestamp, Reported)>,
    /// How results were persisted, with the times.
    pub persistence: Vec<(Timestamp, Persisted)>,
    /// Redaction of the result.
    pub redaction: Option<Redacted>,
    /// The result, once there is one.
    pub result: Option<CallOutcome>,
    /// Cancellation requests and what became of them.
    pub cancels: Vec<Cancel>,
    /// Error code of a failure.
    pub error_code: Option<Code>,
    /// Error message, redacted.
    pub error_message: Option<String>,
    /// When it came in.
    pub created_at: Timestamp,
    /// When its first attempt began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Sequence numbers of its entries.
    pub entries: Vec<u64>,
    /// Its events, as published records.
    pub events: Vec<Value>,
}

/// A status and when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Transition {
    /// The status.
    pub status: Status,
    /// When it began.
    pub at: Timestamp,
}

/// A phase and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseSpan {
    /// The phase and how it ended.
    pub line: PhaseLine,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
}

/// The four inputs of a call; none of them ever stands in for another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// The input as sent.
    pub model: Option<PayloadRef>,
    /// The normalised input, for observers.
    pub observable: Option<PayloadRef>,
    /// The input that was judged.
    pub permission: Option<PayloadRef>,
    /// The input that ran.
    pub call: Option<PayloadRef>,
}

/// One attempt to run the call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    /// Number of the attempt, from 1.
    pub number: u32,
    /// The driver that made it.
    pub driver: DriverId,
    /// When it began.
    pub started_at: Timestamp,
    /// When it was submitted: the effect may have happened from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitted_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Effect state after the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectState>,
    /// Error code of a failed attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Ids that the backend gave it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub native: Vec<Value>,
}

/// A decision about the call.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// The verdict was to ask a person.
    Asked(Box<Decision>, haft_model::QuestionId),
    /// The verdict settled the call.
    Settled(Box<Decided>),
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOutcome {
    /// The stored envelope.
    pub kept: PayloadRef,
    /// Status of the result.
    pub status: ResultStatus,
    /// Whether it reports a failure or a refusal.
    pub is_error: bool,
    /// When it was created.
    pub at: Timestamp,
}

/// A cancellation event of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// Cancellation was requested.
    Requested(Timestamp, CancelRequested),
    /// The state of the request changed.
    Noted(Timestamp, CancelNote),
}

impl Story {
    /// Folds one invocation from all of its entries, in order.
    pub fn fold(entries: &[LedgerEntry]) -> Result<Story, Error> {
        let mut story: Option<Story> = None;
        for entry in entries {
            let line = EntryLine::read(entry)?;
            let Some(id) = &line.invocation else { continue };
            let told = story.get_or_insert_with(|| Story::new(id.clone(), line.ts));
            if told.invocation_id != *id {
                let what = format!("it belongs to `{id}` and not to `{}`", told.invocation_id);
                return Err(Error::Damaged { seq: entry.seq, what });
            }
            for fact in &line.facts {
                told.hear(fact);
            }
            told.entries.push(entry.seq);
            told.events.extend(event::of(&line, Some(&told.tool_id)));
        }
        story.ok_or_else(|| Error::Unreadable { cause: "no entry is about a call".to_owned() })
    }

    /// The first status transition that the standard's table does not allow, if there is one.
    pub fn illegal_transition(&self) -> Option<(Status, Status)> {
        let next = self.transitions.iter().skip(1);
        let pairs = self.transitions.iter().zip(next).map(|(from, to)| (from.status, to.status));
        pairs.into_iter().find(|(from, to)| !from.may_become(*to))
    }
}
