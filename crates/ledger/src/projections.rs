//! Projection of the log: derives from each entry the changes to the lists that every store keeps.
//!
//! A store applies the [`Changes`] when it writes an entry; a verifier applies all of them again to
//! empty [`Projections`] and compares.

mod state;

use haft_model::{
    ApprovalAnswer, Digest, EffectState, Event, Fact, Intent, InvocationId, Question, QuestionId,
    QuestionState, StandingAnswer, Started, Status, Timestamp, Token, TokenId, Tri,
};

use crate::{OpenUndoing, Run};

pub(crate) use state::{BoundIntent, Projections, bare, most};

/// Changes of one entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Changes {
    pub(crate) run: Option<RunChange>,
    pub(crate) others: Vec<ProjectionChange>,
    /// The attempts that began.
    pub(crate) starts: Vec<Start>,
}

/// An attempt that began.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Start {
    pub(crate) at: Timestamp,
    pub(crate) started: Started,
}

/// Changes of an entry beside its run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ProjectionChange {
    Asked(Box<Question>),
    Answered(Box<ApprovalAnswer>),
    /// An open question takes this state.
    Settled(QuestionId, QuestionState),
    Stands(StandingAnswer),
    Revoked(QuestionId),
    Issued(Box<Token>),
    TokenRevoked(TokenId),
    Declared(String, Digest),
    /// This call carries out an intent.
    Bound(InvocationId, Box<Intent>),
    /// A compensating call begins.
    Undoing(OpenUndoing),
    /// A compensating call is over, and the original was told.
    UndoingOver(OpenUndoing),
}

/// Changes of an entry to its run. No later entry reverts them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunChange {
    /// Set by the first fact of a call: the run as it begins.
    pub(crate) began: Option<Box<Run>>,
    pub(crate) tool: Option<String>,
    pub(crate) status: Option<Status>,
    pub(crate) effect: Option<EffectState>,
    /// The open question, where that changed.
    pub(crate) approval: Option<Option<QuestionId>>,
    pub(crate) ended: Option<Ending>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ending {
    pub(crate) code: Option<haft_model::Code>,
    pub(crate) at: Timestamp,
}

impl Changes {
    /// Derives the changes from the facts of one invocation, or of the workspace.
    pub(crate) fn of(invocation: Option<&InvocationId>, facts: &[Fact]) -> Changes {
        let mut run = RunChange::default();
        let (mut others, mut starts) = (Vec::new(), Vec::new());
        for fact in facts {
            if let Some(id) = invocation {
                run.hear(id, fact);
                if let Event::Started(started) = &fact.event {
                    starts.push(Start { at: fact.at, started: started.clone() });
                }
            }
            others.extend(change(invocation, &fact.event));
        }
        Changes { run: (run != RunChange::default()).then_some(run), others, starts }
    }
}

fn change(invocation: Option<&InvocationId>, event: &Event) -> Option<ProjectionChange> {
    match event {
        Event::PermissionRequested(question) | Event::InputRequested(question) => {
            Some(ProjectionChange::Asked(question.clone()))
        }
        Event::InputEnded(ended) => {
            Some(ProjectionChange::Settled(ended.question.clone(), ended.state))
        }
        Event::Answered(answer) => Some(ProjectionChange::Answered(answer.clone())),
        Event::PermissionDecided(decided) => {
            let question = decided.question.clone().filter(|_| decided.call_input.is_some());
            question.map(|id| ProjectionChange::Settled(id, QuestionState::Approved))
        }
        Event::Closed(closed) => {
            Some(ProjectionChange::Settled(closed.question.clone(), closed.state))
        }
        Event::StandingGiven(answer) => Some(ProjectionChange::Stands(answer.clone())),
        Event::StandingRevoked(revoked) => Some(ProjectionChange::Revoked(revoked.id.clone())),
        Event::TokenIssued(token) => Some(ProjectionChange::Issued(token.clone())),
        Event::TokenRevoked(revoked) => Some(ProjectionChange::TokenRevoked(revoked.id.clone())),
        Event::Declared(declared) => Some(ProjectionChange::Declared(
            declared.tool.clone(),
            declared.declaration.digest.clone(),
        )),
        Event::IntentBound(intent) => {
            invocation.map(|id| ProjectionChange::Bound(id.clone(), intent.clone()))
        }
        Event::Compensating(began) => undoing(invocation, &began.by).map(ProjectionChange::Undoing),
        Event::CompensationEnded(ended) => {
            undoing(invocation, &ended.by).map(ProjectionChange::UndoingOver)
        }
        _ => None,
    }
}

fn undoing(original: Option<&InvocationId>, by: &InvocationId) -> Option<OpenUndoing> {
    original.map(|original| OpenUndoing { original: original.clone(), by: by.clone() })
}

impl RunChange {
    fn hear(&mut self, id: &InvocationId, fact: &Fact) {
        if let Some(status) = fact.event.status() {
            self.status = Some(status);
        }
        if let Some(end) = fact.event.end() {
            self.effect = Some(end.effect);
            self.approval = Some(None);
            self.ended = Some(Ending { code: end.code, at: fact.at });
        }
        match &fact.event {
            Event::Planned(planned) => {
                self.began = Some(Box::new(Run {
                    invocation_id: id.clone(),
                    tool_id: format!("unresolved:{}", planned.requested),
                    actor: planned.actor.id.to_string(),
                    tenant: planned.actor.tenant.to_string(),
                    status: Status::Planned,
                    // Whether the call has an effect is unknown before its tool is.
                    effect_state: EffectState::NotSubmitted,
                    error_code: None,
                    approval_id: None,
                    created_at: fact.at,
                    ended_at: None,
                }));
            }
            Event::Selected(selected) => self.tool = Some(selected.tool.clone()),
            Event::ArgumentsReady(ready) if ready.facts.is_read_only == Tri::Yes => {
                self.effect = Some(EffectState::None);
            }
            Event::PermissionRequested(question) | Event::InputRequested(question) => {
                self.approval = Some(Some(question.id.clone()));
            }
            Event::PermissionDecided(_) | Event::Closed(_) | Event::InputEnded(_) => {
                self.approval = Some(None);
            }
            Event::Answered(answer) if !answer.approves => self.approval = Some(None),
            Event::Submitted(_) => self.effect = Some(EffectState::Submitted),
            Event::AttemptEnded(ended) => self.effect = Some(ended.effect),
            Event::EffectSettled(settled) => self.effect = Some(settled.effect),
            Event::EffectObserved(seen) => self.effect = Some(seen.effect),
            Event::CompensationEnded(ended) => self.effect = Some(ended.effect),
            _ => {}
        }
    }

    /// Applies the change to a run.
    pub(crate) fn apply(&self, run: &mut Run) {
        if let Some(tool) = &self.tool {
            run.tool_id.clone_from(tool);
        }
        run.status = self.status.unwrap_or(run.status);
        run.effect_state =
            self.effect.map_or(run.effect_state, |next| run.effect_state.learn(next));
        if let Some(approval) = &self.approval {
            run.approval_id.clone_from(approval);
        }
        if let Some(ended) = &self.ended {
            run.error_code = ended.code;
            run.ended_at = Some(ended.at);
        }
    }
}
