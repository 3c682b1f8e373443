//! Ledger events: the 27 event classes of the standard, and ours in addition.

use serde::{Deserialize, Serialize};

use crate::{
    ApprovalAnswer, ArgumentsReady, AttemptEnded, BatchDiscarded, BatchPlanned, BatchReleased,
    CancelRequested, Closed, Compensating, CompensationEnded, ContextModified, Decided, Declared,
    DeferredSeen, EffectObserved, EffectSettled, Ended, HookPoint, HookRun, HookStarted,
    InputEnded, Intent, Note, Persisted, Planned, Question, Queued, Redacted, Reported,
    ResultCreated, SecretUse, Selected, SentAgain, StandingAnswer, StandingRevoked, Started,
    Status, Submitted, SurfaceSeen, TakenOver, Token, TokenRevoked, Yielded,
};

/// One event: the 27 classes of the standard, and ours in addition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum Event {
    /// A contract was seen for the first time, or changed.
    #[serde(rename = "tool.declared")]
    Declared(Declared),
    /// A surface was created.
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
    /// Terminal: the input failed validation.
    #[serde(rename = "tool.invocation.validation_failed")]
    ValidationFailed(Ended),
    /// A pre-hook begins.
    #[serde(rename = "tool.hook.pre.started")]
    PreHookStarted(HookStarted),
    /// A pre-hook ended.
    #[serde(rename = "tool.hook.pre.completed")]
    PreHookCompleted(Box<HookRun>),
    /// An approval question was opened.
    #[serde(rename = "tool.permission.requested")]
    PermissionRequested(Box<Question>),
    /// The call was authorized or denied.
    #[serde(rename = "tool.permission.decided")]
    PermissionDecided(Box<Decided>),
    /// The call entered the queue.
    #[serde(rename = "tool.invocation.queued")]
    Queued(Queued),
    /// An attempt begins.
    #[serde(rename = "tool.invocation.started")]
    Started(Started),
    /// Progress of the call, or the state of a cancellation.
    #[serde(rename = "tool.invocation.progress")]
    Progressed(Box<Reported>),
    /// A partial result arrived.
    #[serde(rename = "tool.invocation.partial_result")]
    PartialResult(Box<Reported>),
    /// A post-hook begins.
    #[serde(rename = "tool.hook.post.started")]
    PostHookStarted(HookStarted),
    /// A post-hook ended.
    #[serde(rename = "tool.hook.post.completed")]
    PostHookCompleted(Box<HookRun>),
    /// The result was persisted.
    #[serde(rename = "tool.result.persisted")]
    Persisted(Persisted),
    /// The result was redacted.
    #[serde(rename = "tool.result.redacted")]
    Redacted(Redacted),
    /// The result was created.
    #[serde(rename = "tool.result.created")]
    ResultCreated(ResultCreated),
    /// The result was released to the caller.
    #[serde(rename = "tool.invocation.yielded")]
    Yielded(Yielded),
    /// Terminal: succeeded.
    #[serde(rename = "tool.invocation.succeeded")]
    Succeeded(Ended),
    /// Terminal: failed, denied or blocked.
    #[serde(rename = "tool.invocation.failed")]
    Failed(Ended),
    /// Terminal: cancelled.
    #[serde(rename = "tool.invocation.canceled")]
    Canceled(Ended),
    /// Terminal: the timeout expired.
    #[serde(rename = "tool.invocation.timed_out")]
    TimedOut(Ended),
    /// Ours: a person answered a question.
    #[serde(rename = "haft.approval.answered")]
    Answered(Box<ApprovalAnswer>),
    /// Ours: a question expired or was withdrawn.
    #[serde(rename = "haft.approval.closed")]
    Closed(Closed),
    /// Ours: elicitation: a backend asks a person for input while the call runs.
    #[serde(rename = "haft.input.requested")]
    InputRequested(Box<Question>),
    /// Ours: the elicitation is over, and the call continues.
    #[serde(rename = "haft.input.ended")]
    InputEnded(InputEnded),
    /// Ours: a standing answer was given.
    #[serde(rename = "haft.standing.given")]
    StandingGiven(StandingAnswer),
    /// Ours: a standing answer was revoked.
    #[serde(rename = "haft.standing.revoked")]
    StandingRevoked(StandingRevoked),
    /// Ours: a token was issued that authenticates an actor.
    #[serde(rename = "haft.token.issued")]
    TokenIssued(Box<Token>),
    /// Ours: a token was revoked.
    #[serde(rename = "haft.token.revoked")]
    TokenRevoked(TokenRevoked),
    /// Ours: the call carries out an intent, and no other call does.
    #[serde(rename = "haft.intent.bound")]
    IntentBound(Box<Intent>),
    /// Ours: deduplication: the same intent was sent again and got the result of this call.
    #[serde(rename = "haft.intent.sent_again")]
    SentAgain(SentAgain),
    /// Ours: a driver received a secret.
    #[serde(rename = "haft.secret.opened")]
    SecretOpened(SecretUse),
    /// Ours: a driver was refused a secret.
    #[serde(rename = "haft.secret.withheld")]
    SecretWithheld(SecretUse),
    /// Ours: submission: from here on the effect may have happened.
    #[serde(rename = "haft.attempt.submitted")]
    Submitted(Submitted),
    /// Ours: an attempt ended.
    #[serde(rename = "haft.attempt.ended")]
    AttemptEnded(Box<AttemptEnded>),
    /// Ours: cancellation was requested.
    #[serde(rename = "haft.cancel.requested")]
    CancelRequested(CancelRequested),
    /// Ours: recovery: another process took over a call whose process had died.
    #[serde(rename = "haft.invocation.taken_over")]
    TakenOver(TakenOver),
    /// Ours: a fenced-out process observed the effect of its call.
    #[serde(rename = "haft.effect.observed")]
    EffectObserved(Box<EffectObserved>),
    /// Ours: a person resolved an unknown effect.
    #[serde(rename = "haft.effect.settled")]
    EffectSettled(EffectSettled),
    /// Ours: another call is about to compensate this one.
    #[serde(rename = "haft.effect.compensating")]
    Compensating(Compensating),
    /// Ours: the compensating call is over.
    #[serde(rename = "haft.effect.compensation_ended")]
    CompensationEnded(CompensationEnded),
    /// Ours: a batch of calls is about to begin.
    #[serde(rename = "haft.batch.planned")]
    BatchPlanned(Box<BatchPlanned>),
    /// Ours: a result that waited for its turn was released.
    #[serde(rename = "haft.batch.released")]
    BatchReleased(BatchReleased),
    /// Ours: the caller discarded the call.
    #[serde(rename = "haft.batch.discarded")]
    BatchDiscarded(BatchDiscarded),
    /// Ours: context modifiers were applied, deferred or rejected.
    #[serde(rename = "haft.context.modified")]
    ContextModified(Box<ContextModified>),
    /// Ours: a note about the log itself.
    #[serde(rename = "haft.audit.note")]
    Note(Note),
}

impl Event {
    /// The status that an invocation has after it, if it changes.
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

    /// The terminal fact of a call: its status, its effect and its code.
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
