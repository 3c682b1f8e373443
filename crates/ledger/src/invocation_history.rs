//! One call, told from its entries: everything anybody may want to know is a fold over the facts.

mod event;
mod hear;
mod intent;
mod records;
mod scheduling;
mod undoing;

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

/// One call as its entries tell it.
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
    /// Who called; none when the beginning is not among the entries.
    pub actor: Option<Actor>,
    /// By which way it came.
    pub channel: String,
    /// On which surface.
    pub surface: String,
    /// In which revision of it.
    pub revision: u64,
    /// Where it stands.
    pub status: Status,
    /// Every status with the time at which it began.
    pub transitions: Vec<Transition>,
    /// What is known of the effect.
    pub effect_state: EffectState,
    /// The phases that ended, in order.
    pub phases: Vec<PhaseSpan>,
    /// The four inputs.
    pub inputs: Inputs,
    /// What the host added.
    pub context: Option<PayloadRef>,
    /// The safety facts.
    pub facts: Option<ResolvedFacts>,
    /// What the call is known by elsewhere.
    pub native: Vec<Value>,
    /// The key that the caller gave.
    pub key: Option<String>,
    /// The intent that it carries out.
    pub intent: Option<Intent>,
    /// When the same intent was sent again, and how.
    pub sent_again: Vec<(Timestamp, SentAgain)>,
    /// Which secrets its drivers wanted, and what became of that.
    pub secrets: Vec<(Timestamp, SecretUse)>,
    /// The call that made this one.
    pub parent: Option<InvocationId>,
    /// The call that this one undoes.
    pub compensates: Option<InvocationId>,
    /// Its place among others that were asked for together.
    pub batch: Option<BatchPlace>,
    /// What it holds while it runs, once it was queued.
    pub queued: Option<Queued>,
    /// When its result was handed over.
    pub released_at: Option<Timestamp>,
    /// That nobody wanted it any more, and when.
    pub discarded: Option<(Timestamp, BatchDiscarded)>,
    /// What became of its context modifiers, with the times.
    pub context_modifiers: Vec<(Timestamp, ContextModified)>,
    /// What people found out of its effect after its end, with the times.
    pub settlements: Vec<(Timestamp, EffectSettled)>,
    /// What processes saw that had lost the call to another one.
    pub observed: Vec<(Timestamp, EffectObserved)>,
    /// The calls that were to undo this one, in order.
    pub undoings: Vec<Undoing>,
    /// The driver of the last plan, and its version where that is on record.
    pub driver: Option<(DriverId, Option<String>)>,
    /// The attempts, in order.
    pub attempts: Vec<Attempt>,
    /// The decisions, in order; a question begins with one.
    pub decisions: Vec<Judgement>,
    /// The changes of the input, with their times.
    pub mutations: Vec<(Timestamp, Mutation)>,
    /// The hooks that ran, with the times at which they ended.
    pub hooks: Vec<(Timestamp, HookRun)>,
    /// The questions, with what became of them.
    pub questions: Vec<QuestionRecord>,
    /// The reports of how far it was, with their times.
    pub progress: Vec<(Timestamp, Reported)>,
    /// How results were stored, with the times.
    pub persistence: Vec<(Timestamp, Persisted)>,
    /// What was taken out of the result.
    pub redaction: Option<Redacted>,
    /// The result, once there is one.
    pub result: Option<CallOutcome>,
    /// What is known of wishes to call it off.
    pub cancels: Vec<Cancel>,
    /// What went wrong.
    pub error_code: Option<Code>,
    /// The same in words.
    pub error_message: Option<String>,
    /// When it came in.
    pub created_at: Timestamp,
    /// When its first attempt began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The numbers of its entries.
    pub entries: Vec<u64>,
    /// Its events, as records.
    pub events: Vec<Value>,
}

/// A status and when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Transition {
    /// The status.
    pub status: Status,
    /// When.
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

/// The four inputs of a call; none of them is ever another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// As sent.
    pub model: Option<PayloadRef>,
    /// Normalised, for others to see.
    pub observable: Option<PayloadRef>,
    /// What was judged.
    pub permission: Option<PayloadRef>,
    /// What ran.
    pub call: Option<PayloadRef>,
}

/// One attempt to carry the call out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    /// Which, from 1.
    pub number: u32,
    /// Whose.
    pub driver: DriverId,
    /// When it began.
    pub started_at: Timestamp,
    /// When the effect could have happened for the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitted_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// What is known of the effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectState>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// What the backend knows it by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub native: Vec<Value>,
}

/// A decision about the call.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// It asked a person.
    Asked(Box<Decision>, haft_model::QuestionId),
    /// It settled the call.
    Settled(Box<Decided>),
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOutcome {
    /// The envelope's bytes.
    pub kept: PayloadRef,
    /// How it came out.
    pub status: ResultStatus,
    /// Whether it is bad news.
    pub is_error: bool,
    /// When it was made.
    pub at: Timestamp,
}

/// What is known of a wish to call the call off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// Somebody wished it.
    Requested(Timestamp, CancelRequested),
    /// What became of it.
    Noted(Timestamp, CancelNote),
}

impl Story {
    /// Tells the story of one invocation from all of its entries, in their order.
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

    /// The first change of status that the standard's table does not allow, if there is one.
    pub fn illegal_transition(&self) -> Option<(Status, Status)> {
        let next = self.transitions.iter().skip(1);
        let pairs = self.transitions.iter().zip(next).map(|(from, to)| (from.status, to.status));
        pairs.into_iter().find(|(from, to)| !from.may_become(*to))
    }
}
