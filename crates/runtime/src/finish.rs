//! Result envelope (phases 10 to 13): validates, redacts, persists and emits one for every call.

mod context;
mod mapping;
mod pending;
mod persistence;
mod post_hooks;
mod unrecorded;

use haft_driver::{Failure, Output};
use haft_model::{
    AbortReason, CallPhase, CauseDetail, CausePhase, Code, Content, EffectState, Ended, Envelope,
    Event, PhaseOutcome, ResultCreated, ResultStatus, Status, Stop, ToolError, Yielded,
};
use serde_json::Value;

use crate::context::CallContext;
use crate::execute::ExecutedCall;
use crate::pipeline::{CallOutcome, Halt, Reached, StoppedCall};
use crate::render;
use crate::validate::Workload;
use persistence::PersistedResult;

/// Outcome of a call, before the envelope is composed.
struct Completion {
    reached: Reached,
    output: Option<Output>,
    error: Option<ToolError>,
    effect: EffectState,
    /// Whether the output is the backend's own account of the failure.
    is_report: bool,
}

impl CallContext<'_> {
    /// Ends a call, however far it came, with its one envelope.
    pub async fn finish(mut self, outcome: CallOutcome) -> Envelope {
        let (reached, outcome) = match outcome {
            Ok(ExecutedCall { reached, output }) => (reached, Ok(output)),
            Err(StoppedCall { reached, halt }) => match self.undoing_failed(halt) {
                Halt::Stopped(failure) => (reached, Err(*failure)),
                Halt::Pending(question) => return self.pending(&reached, *question).await,
                Halt::Answered(envelope) => return self.superseded(reached, *envelope).await,
            },
        };
        let envelope = self.conclude(reached, outcome).await;
        if let Some(flight) = self.waiters.flight.take() {
            flight.answered(&envelope);
        }
        envelope
    }

    async fn conclude(&mut self, reached: Reached, outcome: Result<Output, Failure>) -> Envelope {
        let completion = self.map(reached, outcome);
        let completion = self.post_hooks(completion).await;
        let workload = Workload::of_output(completion.output.as_ref());
        let envelope = workload.run(|| {
            let held = self.hold(&completion.reached, completion.output.as_ref());
            let completion = self.withheld(completion, &held);
            let envelope = self.envelope(&completion, held);
            (completion.reached, envelope)
        });
        let (reached, envelope) = envelope;
        let envelope = self.emit(&reached, envelope).await;
        self.tell_original(&envelope).await;
        envelope
    }

    /// Ends a repeat with the first call's result; a repeat that is on record ends as discarded.
    async fn superseded(mut self, reached: Reached, mut answer: Envelope) -> Envelope {
        if self.recorder.is_on_record() {
            let words = format!("it is `{}` sent again, and has its answer", answer.invocation_id);
            let stop = Stop::new(Code::CanceledDiscarded, words);
            self.conclude(reached, Err(Failure::new(stop, EffectState::None))).await;
        }
        if answer.unrecorded.is_none() {
            answer.unrecorded = self.runtime.is_recordable().err().map(|stop| stop.message);
        }
        answer.told_to(self.request.audience)
    }

    /// Effect state of a call that did not reach its driver: an unsent write, or a read without
    /// one.
    pub(crate) fn unsent(&self, reached: &Reached, effect: EffectState) -> EffectState {
        match effect {
            EffectState::None if reached.may_mutate() && !self.attempts.executed => {
                EffectState::NotSubmitted
            }
            known => known,
        }
    }

    /// The redacted error of a refusal. It must not suggest a retry of an effect that is committed.
    fn error(&self, mut stop: Stop, effect: EffectState) -> ToolError {
        if effect == EffectState::Committed && stop.help.is_none() {
            stop = stop.help("the effect took place: do not call it again for the output");
        }
        ToolError::new(
            self.privacy.redactor.stop(self.at_run(stop.told_to(self.request.audience))),
            effect,
        )
    }

    /// Reports a fully redacted result as an error; the effect state is unchanged.
    fn withheld(&self, completion: Completion, held: &PersistedResult) -> Completion {
        let full = held.redacted.as_ref().is_some_and(|redacted| redacted.state == "full");
        if completion.error.is_some() || !full {
            return completion;
        }
        let stop = Stop::new(Code::ResultRedacted, "everything in the result had to be withheld");
        let error = self.error(stop, completion.effect);
        Completion { error: Some(error), ..completion }
    }

    /// Marks a refusal that occurred while a driver ran.
    fn at_run(&self, mut stop: Stop) -> Stop {
        if self.attempts.executed {
            stop.cause.insert(CauseDetail::Phase(CausePhase::Run));
        }
        stop
    }

    /// Composes the envelope, and records redaction and persistence.
    fn envelope(&mut self, completion: &Completion, held: PersistedResult) -> Envelope {
        if let Some(redacted) = &held.redacted {
            self.recorder.note(Event::Redacted(redacted.clone()));
        }
        if completion.output.is_some() {
            self.recorder.note(Event::Persisted(held.persisted.clone()));
            self.recorder.phase(CallPhase::PersistResult, PhaseOutcome::Ok);
        }
        let mut envelope = self.composed(completion, held);
        self.context_modifiers(completion, &mut envelope);
        envelope
    }

    fn composed(&self, completion: &Completion, held: PersistedResult) -> Envelope {
        let status = match &completion.error {
            Some(error) => error.result_status(),
            None => ResultStatus::Succeeded,
        };
        let tool_id = self.tool_id(&completion.reached);
        let words = match &completion.error {
            Some(error) => format!("{tool_id} {}: {}", status.name(), error.message),
            None if held.empty => format!("{tool_id} succeeded and gave no output"),
            None => format!("{tool_id} succeeded"),
        };
        let is_output = completion.output.is_some();
        let model = match &completion.error {
            Some(_) if completion.is_report && !held.empty => held.model,
            Some(error) => error_shown(error, &held, is_output),
            None => held.model,
        };
        let warnings = rounded(held.exact);
        let persistence = is_output.then(|| self.recorder.id().part("per"));
        Envelope {
            schema_version: haft_model::record::SCHEMA_VERSION.into(),
            result_id: self.recorder.id().part("res"),
            invocation_id: self.recorder.id().clone(),
            tool_id,
            status,
            final_status: self.final_status(completion),
            is_error: completion.error.is_some(),
            effect_state: completion.effect,
            content: held.content,
            structured_content: held.structured,
            backend_meta: held.meta,
            model_facing_content: model,
            ui_facing_summary: render::line(&words),
            transcript_search_text: render::capped(&held.text, 2000).0.to_owned(),
            resource_refs: held.resources,
            artifact_refs: held.artifacts,
            evidence_refs: vec![format!("haft://invocations/{}", self.recorder.id())],
            policy_refs: self.approvals.policies.clone(),
            telemetry_refs: Vec::new(),
            persistence_refs: persistence.into_iter().collect(),
            summary: words,
            redaction_state: held.redacted.map_or_else(|| "none".to_owned(), |taken| taken.state),
            empty: held.empty && is_output,
            abort_reason: completion.error.as_ref().and_then(|error| self.taken_along(error)),
            driver: completion.reached.plan.as_ref().map(|plan| plan.route.driver.to_string()),
            created_at: self.recorder.now(),
            error: completion.error.clone(),
            context_modifiers: None,
            warnings,
            unrecorded: None,
            approval_id: None,
            replayed: false,
        }
    }

    /// The final status. Cancellation fits any status; other ends depend on the current status.
    fn final_status(&self, completion: &Completion) -> Status {
        let Some(error) = &completion.error else { return Status::Succeeded };
        let wished = error.final_status();
        let now = self.recorder.status();
        match error.error_code {
            _ if now.may_become(wished) => wished,
            // A hook's deny after an allow denies the call.
            Code::HookBlocked if now.may_become(Status::Denied) => Status::Denied,
            _ => Status::Failed,
        }
    }

    /// The abort reason of a call that was cancelled and did not fail by itself.
    fn taken_along(&self, error: &ToolError) -> Option<AbortReason> {
        match error.error_code {
            Code::CanceledSibling => Some(AbortReason::SiblingError),
            Code::CanceledDiscarded => Some(AbortReason::Fallback),
            Code::CanceledCaller if !self.attempts.executed => Some(AbortReason::UserInterruption),
            _ => None,
        }
    }

    fn tool_id(&self, reached: &Reached) -> String {
        match &reached.entry {
            Some(entry) => entry.contract.key().to_string(),
            None => format!("unresolved:{}", self.request.tool),
        }
    }

    /// Phase 13: stores the result before it records the end of the call.
    async fn emit(&mut self, reached: &Reached, mut envelope: Envelope) -> Envelope {
        let workload = Workload::of_result(envelope.structured_content.as_ref(), &envelope.content);
        let kept = workload.run(|| {
            let bytes = serde_json::to_vec(&envelope).unwrap_or_default();
            self.privacy.discretion.keep(&Value::Null, bytes)
        });
        let result = self.recorder.keep(kept);
        self.recorder.note(Event::ResultCreated(ResultCreated {
            result,
            status: envelope.status,
            is_error: envelope.is_error,
        }));
        // The batch yields a result that has to wait for others.
        let now = self.recorder.membership().is_none_or(|membership| membership.is_its_turn());
        if now && self.attempts.executed && self.recorder.status().may_become(Status::Yielded) {
            self.recorder.note(Event::Yielded(Yielded {}));
        }
        self.recorder.skip_to(CallPhase::PersistResult);
        self.recorder.phase(CallPhase::EmitTerminal, PhaseOutcome::Ok);
        let stage = match envelope.final_status {
            Status::SchemaParseFailed => Some("schema".to_owned()),
            Status::ValidationFailed => Some("values".to_owned()),
            _ => None,
        };
        self.recorder.note(Event::ending(Ended {
            final_status: envelope.final_status,
            effect: envelope.effect_state,
            code: envelope.error.as_ref().map(|error| error.error_code),
            message: envelope.error.as_ref().map(|error| error.message.clone()),
            stage,
        }));
        // A write that may have happened keeps its lease until its result is delivered.
        let keeps = reached.intent.is_some() && envelope.effect_state.may_have_happened();
        if !keeps {
            self.recorder.unbind();
        }
        #[cfg(feature = "sabotage")]
        if haft_ledger::sabotage::Mechanism::RecordFirst.is_off() {
            // The lease expires without renewal, and recovery finds the open call.
            return envelope;
        }
        let mut closed = self.recorder.close(keeps).await;
        // The status operation may report the effect of another call with the same key.
        let witnessed = envelope.effect_state.is_done() && !self.attempts.looked_up;
        if closed.is_err() && self.recorder.is_shut_out() && witnessed {
            closed = self.observed(&envelope).await;
        }
        if self.recorder.is_shut_out() && !envelope.effect_state.may_have_happened() {
            envelope = self.carried_on_elsewhere(reached);
        }
        if closed.is_err() && self.may_run_later(reached, &envelope) {
            envelope = self.left_open(reached);
        }
        if !self.recorder.is_shut_out() && !self.recorder.is_refused() {
            self.runtime.ended(self.recorder.id());
        }
        // A queued append may be lost while the store is down, so the envelope says so.
        let kept = closed.and_then(|()| match self.recorder.is_durable() {
            true => Ok(()),
            false => self.runtime.is_recordable(),
        });
        envelope.unrecorded = kept.err().map(|stop| stop.message);
        // An append that failed may still be stored, so delivery is tracked in that case too.
        match keeps.then(|| self.recorder.leave_fence()).flatten() {
            Some(fence) => {
                let told = envelope.effect_state;
                self.runtime.undelivered.expect(self.recorder.id(), fence, told);
                #[cfg(feature = "sabotage")]
                if haft_ledger::sabotage::Mechanism::DeliveryLease.is_off() {
                    self.runtime.confirm_delivery(self.recorder.id()).await;
                }
            }
            None => self.recorder.release().await,
        }
        envelope
    }

    /// The result of a write whose lease another process took over. Nothing was sent here, and only
    /// that process knows the effect.
    fn carried_on_elsewhere(&self, reached: &Reached) -> Envelope {
        let id = self.recorder.id();
        let words = format!("another process took `{id}` over, and knows what becomes of it");
        let stop = Stop::new(Code::Internal, words)
            .help(format!("make the same call again for its answer, or look at `haft trace {id}`"));
        self.unknown_to_us(reached, stop)
    }
}

/// Warning about numbers that the structured content rounds.
fn rounded(numbers: usize) -> Vec<String> {
    let words = format!(
        "{numbers} numbers of the output have more digits than the structured content keeps; \
         the text has them as the backend wrote them"
    );
    (numbers > 0).then_some(words).into_iter().collect()
}

/// Model-facing content of an error: the error first, then the output if there is one.
fn error_shown(error: &ToolError, held: &PersistedResult, is_output: bool) -> Vec<Content> {
    let help = error.help.as_ref().map(|help| format!("\n{help}")).unwrap_or_default();
    let text = format!("{} ({}){help}", error.message, error.error_code);
    let mut shown = vec![Content::text(text)];
    if is_output && !held.empty {
        shown.extend(held.model.iter().cloned());
    }
    shown
}
