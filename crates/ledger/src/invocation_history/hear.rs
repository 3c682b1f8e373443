//! Fold step: applies one fact to an invocation's history.

use std::time::Duration;

use haft_model::{
    AttemptEnded, Decided, EffectState, Ended, Event, Fact, InvocationId, PhaseLine, Planned,
    Question, QuestionId, QuestionState, ResultCreated, Started, Status, Timestamp, Tri,
};

use super::{Attempt, CallOutcome, Cancel, Inputs, Judgement, PhaseSpan, Story, Transition};
use crate::QuestionRecord;

impl Story {
    /// A history without any fact.
    pub(super) fn new(id: InvocationId, at: Timestamp) -> Story {
        Story {
            invocation_id: id,
            tool_id: "unresolved:".to_owned(),
            tool_version: None,
            requested: String::new(),
            actor: None,
            channel: String::new(),
            surface: String::new(),
            revision: 0,
            status: Status::Planned,
            transitions: Vec::new(),
            effect_state: EffectState::NotSubmitted,
            phases: Vec::new(),
            inputs: Inputs::default(),
            context: None,
            facts: None,
            native: Vec::new(),
            key: None,
            intent: None,
            sent_again: Vec::new(),
            secrets: Vec::new(),
            parent: None,
            compensates: None,
            batch: None,
            queued: None,
            released_at: None,
            discarded: None,
            context_modifiers: Vec::new(),
            settlements: Vec::new(),
            observed: Vec::new(),
            undoings: Vec::new(),
            driver: None,
            driver_state: [].into(),
            attempts: Vec::new(),
            decisions: Vec::new(),
            mutations: Vec::new(),
            hooks: Vec::new(),
            questions: Vec::new(),
            progress: Vec::new(),
            persistence: Vec::new(),
            redaction: None,
            result: None,
            cancels: Vec::new(),
            error_code: None,
            error_message: None,
            created_at: at,
            started_at: None,
            ended_at: None,
            entries: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Applies one fact.
    pub(super) fn hear(&mut self, fact: &Fact) {
        let at = fact.at;
        if let Event::Planned(planned) = &fact.event {
            self.planned(planned, at);
        }
        if let Some(status) = fact.event.status() {
            self.status = status;
            // Hooks follow each other within one status.
            if self.transitions.last().is_none_or(|last| last.status != status) {
                self.transitions.push(Transition { status, at });
            }
        }
        if let Some(end) = fact.event.end() {
            self.ended(end, at);
        }
        self.phases.extend(fact.phases.iter().map(|line| span(self.created_at, *line)));
        self.hear_event(&fact.event, at);
    }

    fn hear_event(&mut self, event: &Event, at: Timestamp) {
        match event {
            Event::Selected(selected) => {
                self.tool_id.clone_from(&selected.tool);
                self.tool_version = Some(selected.version.clone());
            }
            Event::ArgumentsReady(ready) => {
                self.driver =
                    ready.driver.clone().map(|driver| (driver, ready.driver_version.clone()));
                self.inputs.observable = Some(ready.observable_input.clone());
                self.mutations.extend(ready.mutations.iter().map(|one| (at, one.clone())));
                self.facts = Some(ready.facts);
                if ready.facts.is_read_only == Tri::Yes {
                    self.effect_state = EffectState::None;
                }
            }
            Event::PermissionRequested(question) => self.asked(question),
            // An elicitation asks for input and not for permission, so it decides nothing.
            Event::InputRequested(question) => self.open(question),
            Event::InputEnded(ended) => {
                if let Some(asked) = self.question(&ended.question) {
                    settle(asked, ended.state);
                }
            }
            Event::PermissionDecided(decided) => self.decided(decided, at),
            Event::Answered(answer) => {
                if let Some(asked) = self.question(&answer.question) {
                    asked.answers.push(answer.as_ref().clone());
                    if !answer.approves {
                        settle(asked, QuestionState::Rejected);
                    }
                }
            }
            Event::Closed(closed) => {
                if let Some(asked) = self.question(&closed.question) {
                    settle(asked, closed.state);
                }
            }
            Event::PreHookCompleted(run) | Event::PostHookCompleted(run) => {
                self.mutations.extend(run.mutation.iter().map(|one| (at, one.clone())));
                self.hooks.push((at, run.as_ref().clone()));
            }
            Event::Progressed(reported) | Event::PartialResult(reported) => {
                self.cancels.extend(reported.cancel.clone().map(|note| Cancel::Noted(at, note)));
                self.progress.push((at, reported.as_ref().clone()));
            }
            Event::CancelRequested(wish) => {
                self.cancels.push(Cancel::Requested(at, wish.clone()));
            }
            Event::IntentBound(intent) => self.intent = Some(intent.as_ref().clone()),
            Event::SentAgain(again) => {
                self.native.extend(again.native.iter().cloned());
                self.sent_again.push((at, again.clone()));
            }
            Event::SecretOpened(used) | Event::SecretWithheld(used) => {
                self.secrets.push((at, used.clone()));
            }
            Event::Started(started) => self.started(started, at),
            Event::Submitted(submitted) => {
                self.effect_state = self.effect_state.learn(EffectState::Submitted);
                if let Some(attempt) = self.attempt(submitted.attempt) {
                    // Later records of the same attempt only move its deadline.
                    attempt.submitted_at.get_or_insert(at);
                }
            }
            Event::AttemptEnded(ended) => self.attempt_ended(ended, at),
            Event::EffectSettled(settled) => self.effect_settled(settled, at),
            Event::EffectObserved(seen) => self.effect_observed(seen, at),
            Event::Compensating(undoing) => self.undoing(undoing, at),
            Event::CompensationEnded(ended) => self.undoing_ended(ended, at),
            Event::Persisted(persisted) => self.persistence.push((at, persisted.clone())),
            Event::Redacted(redacted) => self.redaction = Some(redacted.clone()),
            Event::ResultCreated(ResultCreated { result, status, is_error }) => {
                let (kept, status, is_error) = (result.clone(), *status, *is_error);
                self.result = Some(CallOutcome { kept, status, is_error, at });
            }
            Event::Queued(queued) => self.queued = Some(queued.clone()),
            Event::Yielded(_) | Event::BatchReleased(_) => self.released_at = Some(at),
            Event::BatchDiscarded(discarded) => self.discarded = Some((at, discarded.clone())),
            Event::ContextModified(modified) => {
                self.context_modifiers.push((at, modified.as_ref().clone()));
            }
            Event::Declared(_)
            | Event::SurfaceCreated(_)
            | Event::SurfaceUpdated(_)
            | Event::DeferredDiscovered(_)
            | Event::DeferredLoaded(_)
            | Event::Planned(_)
            | Event::ValidationFailed(_)
            | Event::PreHookStarted(_)
            | Event::PostHookStarted(_)
            | Event::Succeeded(_)
            | Event::Failed(_)
            | Event::Canceled(_)
            | Event::TimedOut(_)
            | Event::StandingGiven(_)
            | Event::StandingRevoked(_)
            | Event::TokenIssued(_)
            | Event::TokenRevoked(_)
            | Event::TakenOver(_)
            | Event::BatchPlanned(_)
            | Event::Note(_) => {}
        }
    }

    fn planned(&mut self, planned: &Planned, at: Timestamp) {
        self.created_at = at;
        self.tool_id = format!("unresolved:{}", planned.requested);
        self.requested.clone_from(&planned.requested);
        self.actor = Some(planned.actor.clone());
        self.channel.clone_from(&planned.channel);
        self.surface.clone_from(&planned.surface);
        self.revision = planned.revision;
        self.inputs.model = Some(planned.model_input.clone());
        self.context.clone_from(&planned.context);
        self.native.extend(planned.native.iter().cloned());
        self.key.clone_from(&planned.key);
        self.parent.clone_from(&planned.parent);
        self.compensates.clone_from(&planned.compensates);
        self.batch.clone_from(&planned.batch);
    }

    fn asked(&mut self, question: &Question) {
        let decision = Box::new(question.decision.clone());
        self.decisions.push(Judgement::Asked(decision, question.id.clone()));
        self.open(question);
    }

    fn open(&mut self, question: &Question) {
        let question = question.clone();
        self.questions.push(QuestionRecord {
            question,
            state: QuestionState::Open,
            answers: Vec::new(),
        });
    }

    fn decided(&mut self, decided: &Decided, at: Timestamp) {
        self.inputs.permission = Some(decided.permission_input.clone());
        self.driver_state = decided.driver_state.clone();
        self.mutations.extend(decided.mutations.iter().map(|one| (at, one.clone())));
        if let Some(input) = &decided.call_input {
            self.inputs.call = Some(input.clone());
            if let Some(asked) = decided.question.as_ref().and_then(|id| self.question(id)) {
                settle(asked, QuestionState::Approved);
            }
        }
        self.decisions.push(Judgement::Settled(Box::new(decided.clone())));
    }

    fn started(&mut self, started: &Started, at: Timestamp) {
        self.started_at.get_or_insert(at);
        if self.driver.as_ref().is_none_or(|(known, _)| *known != started.driver) {
            // Another plan replaced the first one.
            self.driver = Some((started.driver.clone(), None));
        }
        self.attempts.push(Attempt {
            number: started.attempt,
            driver: started.driver.clone(),
            started_at: at,
            submitted_at: None,
            ended_at: None,
            effect: None,
            code: None,
            native: Vec::new(),
        });
    }

    fn attempt_ended(&mut self, ended: &AttemptEnded, at: Timestamp) {
        self.effect_state = self.effect_state.learn(ended.effect);
        self.native.extend(ended.native.iter().cloned());
        if let Some(attempt) = self.attempt(ended.attempt) {
            attempt.ended_at = Some(at);
            attempt.effect = Some(ended.effect);
            attempt.code = ended.code;
            attempt.native.clone_from(&ended.native);
        }
    }

    fn ended(&mut self, end: &Ended, at: Timestamp) {
        self.effect_state = self.effect_state.learn(end.effect);
        self.error_code = end.code;
        self.error_message.clone_from(&end.message);
        self.ended_at = Some(at);
    }

    fn attempt(&mut self, number: u32) -> Option<&mut Attempt> {
        self.attempts.iter_mut().rev().find(|attempt| attempt.number == number)
    }

    fn question(&mut self, id: &QuestionId) -> Option<&mut QuestionRecord> {
        self.questions.iter_mut().find(|asked| asked.question.id == *id)
    }
}

/// A settled question stays settled.
fn settle(record: &mut QuestionRecord, state: QuestionState) {
    if record.state == QuestionState::Open {
        record.state = state;
    }
}

/// A line of the phase log with wall clock times.
fn span(created: Timestamp, line: PhaseLine) -> PhaseSpan {
    let after =
        |micros| created.checked_add(Duration::from_micros(micros)).unwrap_or(Timestamp::MAX);
    PhaseSpan { line, started_at: after(line.from), ended_at: after(line.to) }
}
