//! The kinds of things that happen: the 27 classes of the standard, and ours in addition.

use serde::{Deserialize, Serialize};

use crate::{
    ApprovalAnswer, ArgumentsReady, AttemptEnded, BatchDiscarded, BatchPlanned, BatchReleased,
    CancelRequested, Closed, Compensating, CompensationEnded, ContextModified, Decided, Declared,
    DeferredSeen, EffectObserved, EffectSettled, Ended, HookPoint, HookRun, HookStarted,
    InputEnded, Intent, Note, Persisted, Planned, Question, Queued, Redacted, Reported,
    ResultCreated, SecretUse, Selected, SentAgain, StandingAnswer, StandingRevoked, Started,
    Status, Submitted, SurfaceSeen, TakenOver, Token, TokenRevoked, Yielded,
};

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
    Answered(Box<ApprovalAnswer>),
    /// Ours: a question ended without an answer that counts.
    #[serde(rename = "haft.approval.closed")]
    Closed(Closed),
    /// Ours: a backend wants to know something of people while the call runs.
    #[serde(rename = "haft.input.requested")]
    InputRequested(Box<Question>),
    /// Ours: the backend has its answer, and the call goes on.
    #[serde(rename = "haft.input.ended")]
    InputEnded(InputEnded),
    /// Ours: an answer stands for calls to come.
    #[serde(rename = "haft.standing.given")]
    StandingGiven(StandingAnswer),
    /// Ours: it does not any more.
    #[serde(rename = "haft.standing.revoked")]
    StandingRevoked(StandingRevoked),
    /// Ours: somebody can show who they are by a token.
    #[serde(rename = "haft.token.issued")]
    TokenIssued(Box<Token>),
    /// Ours: they cannot any more.
    #[serde(rename = "haft.token.revoked")]
    TokenRevoked(TokenRevoked),
    /// Ours: the call carries out an intent, and no other call does.
    #[serde(rename = "haft.intent.bound")]
    IntentBound(Box<Intent>),
    /// Ours: the same intent was sent once more, and given the answer of this call.
    #[serde(rename = "haft.intent.sent_again")]
    SentAgain(SentAgain),
    /// Ours: a driver was given a secret.
    #[serde(rename = "haft.secret.opened")]
    SecretOpened(SecretUse),
    /// Ours: a driver was not given a secret.
    #[serde(rename = "haft.secret.withheld")]
    SecretWithheld(SecretUse),
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
    /// Ours: a process that had lost the call to another one saw its effect.
    #[serde(rename = "haft.effect.observed")]
    EffectObserved(Box<EffectObserved>),
    /// Ours: a person found out what became of an effect that nobody knew.
    #[serde(rename = "haft.effect.settled")]
    EffectSettled(EffectSettled),
    /// Ours: another call is about to undo this one.
    #[serde(rename = "haft.effect.compensating")]
    Compensating(Compensating),
    /// Ours: the call that was to undo this one is over.
    #[serde(rename = "haft.effect.compensation_ended")]
    CompensationEnded(CompensationEnded),
    /// Ours: several calls are about to begin together.
    #[serde(rename = "haft.batch.planned")]
    BatchPlanned(Box<BatchPlanned>),
    /// Ours: a result that waited for its turn was handed over.
    #[serde(rename = "haft.batch.released")]
    BatchReleased(BatchReleased),
    /// Ours: nobody wants the call any more.
    #[serde(rename = "haft.batch.discarded")]
    BatchDiscarded(BatchDiscarded),
    /// Ours: what became of context modifiers.
    #[serde(rename = "haft.context.modified")]
    ContextModified(Box<ContextModified>),
    /// Ours: a remark about the log itself.
    #[serde(rename = "haft.audit.note")]
    Note(Note),
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
            Event::InputRequested(_) => Some(Status::NeedsInput),
            Event::InputEnded(_) => Some(Status::Running),
            Event::PermissionDecided(decided) => {
                let begins = decided.call_input.is_some() && decided.mode != Decided::FALLBACK;
                begins.then_some(Status::Approved)
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
            | Event::TokenIssued(_)
            | Event::TokenRevoked(_)
            | Event::IntentBound(_)
            | Event::SentAgain(_)
            | Event::SecretOpened(_)
            | Event::SecretWithheld(_)
            | Event::Submitted(_)
            | Event::AttemptEnded(_)
            | Event::CancelRequested(_)
            | Event::TakenOver(_)
            | Event::EffectObserved(_)
            | Event::EffectSettled(_)
            | Event::Compensating(_)
            | Event::CompensationEnded(_)
            | Event::BatchPlanned(_)
            | Event::BatchReleased(_)
            | Event::BatchDiscarded(_)
            | Event::ContextModified(_)
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
