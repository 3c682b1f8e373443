//! Replay: returns the recorded result of the first call to a repeat.

use std::sync::Arc;

use haft_catalog::CatalogEntry;
use haft_ledger::{Draft, IntentRecord, QuestionFilter, RunFilter, Wait};
use haft_model::{
    Actor, Call, Code, Content, Envelope, Event, Fact, InvocationId, QuestionState, ResultStatus,
    SentAgain, Status, Stop, ToolError,
};

use super::no_longer_wanted;
use crate::context::CallContext;
use crate::pipeline::{Halt, Reached};
use crate::recorder::unrecorded;
use crate::recovery::Attendance;
use crate::{CallOptions, Patience, RecoveryOutcome};

impl CallContext<'_> {
    /// Ends a repeat with the result of the call on record.
    pub(super) async fn replay_result(
        &mut self,
        call: &Call,
        entry: &Arc<CatalogEntry>,
        record: Option<IntentRecord>,
        options: &CallOptions<'_>,
    ) -> Halt {
        let Some(record) = record else { return super::lost() };
        match self.await_result(entry, record, options).await {
            Ok(envelope) => self.record_replay(call, envelope).await,
            Err(halt) => halt,
        }
    }

    /// Waits for the end of the call on record and returns its result. Takes the call over first if
    /// no process holds it.
    async fn await_result(
        &mut self,
        entry: &Arc<CatalogEntry>,
        mut record: IntentRecord,
        options: &CallOptions<'_>,
    ) -> Result<Envelope, Halt> {
        self.stand_aside(true);
        let id = record.run.invocation_id.clone();
        let (intent, source) = (record.intent.intent.clone(), record.intent.source);
        loop {
            if record.run.ended_at.is_some() {
                self.runtime.undelivered.learn(&record);
                return Ok(self.recorded_result(&id, &record).await?);
            }
            if let Some(envelope) = self.finish_orphaned(&id, &record).await? {
                return Ok(envelope);
            }
            if options.patience == Patience::Leave && record.run.status.waits_for_people() {
                return Ok(self.still_waits(entry, &record));
            }
            let look = tokio::time::sleep(self.runtime.options.look);
            self.unless_called_off(options, look).await.ok_or_else(|| no_longer_wanted(&id))?;
            let again = self.runtime.store.intent(&intent, source).await.map_err(unrecorded)?;
            record = match again.filter(|again| again.run.invocation_id == id) {
                Some(again) => again,
                None => self.without_its_intent(record).await?,
            };
        }
    }

    /// Reads a call whose intent passed to a later call: it has ended, and its result is still the
    /// answer.
    async fn without_its_intent(&self, record: IntentRecord) -> Result<IntentRecord, Halt> {
        let filter = RunFilter { id: Some(record.run.invocation_id), ..RunFilter::default() };
        let runs = self.runtime.store.runs(&filter).await.map_err(unrecorded)?;
        let run = runs.into_iter().next().ok_or_else(super::lost)?;
        Ok(IntentRecord { run, lease: None, ..record })
    }

    /// Takes over a call without a live lease and resumes it; `None` where it cannot go on.
    async fn finish_orphaned(
        &self,
        id: &InvocationId,
        record: &IntentRecord,
    ) -> Result<Option<Envelope>, Stop> {
        // A form that is open during an attempt ends with the process that asked it.
        let before = record.run.status != Status::NeedsInput;
        if let Some(question) = record.run.approval_id.as_ref().filter(|_| before) {
            let filter = QuestionFilter { id: Some(question.clone()), ..QuestionFilter::default() };
            let asked = self.runtime.questions(&filter).await?;
            if asked.iter().any(|asked| asked.state == QuestionState::Open) {
                return Ok(None);
            }
        }
        let Some(claimed) = self.runtime.claim(id).await? else { return Ok(None) };
        match Box::pin(self.runtime.resume(id, claimed, Attendance::No)).await? {
            RecoveryOutcome::Finished(envelope) => Ok(Some(*envelope)),
            RecoveryOutcome::StillWaiting | RecoveryOutcome::Elsewhere => Ok(None),
        }
    }

    /// The recorded envelope, with the effect state as known now.
    async fn recorded_result(
        &self,
        id: &InvocationId,
        record: &IntentRecord,
    ) -> Result<Envelope, Stop> {
        let gone = || {
            let effect = record.run.effect_state;
            let words =
                format!("`{id}` did the same before (its effect: {effect}), and its answer");
            Stop::new(Code::Conflict, format!("{words} is not kept any more"))
                .help(format!("`haft trace {id}` tells what is known"))
        };
        let mut envelope = self.runtime.reader().result(id).await?.ok_or_else(gone)?;
        let known = record.run.effect_state;
        if !envelope.effect_state.is_done() && known.is_done() {
            let words = format!("`{id}` took effect, as was found out later; its answer is lost");
            let help = format!("do not call it again for the answer; `haft trace {id}` tells more");
            let stop = Stop::new(Code::OutputInvalid, words.clone()).help(help);
            let stop = stop.told_to(self.request.audience);
            envelope.error = Some(ToolError::new(stop, known));
            envelope.model_facing_content = vec![Content::text(words.clone())];
            envelope.ui_facing_summary = words.clone();
            envelope.summary = words;
        }
        envelope.effect_state = known;
        Ok(envelope)
    }

    /// The pending envelope of a call that waits for approval.
    fn still_waits(&self, entry: &Arc<CatalogEntry>, record: &IntentRecord) -> Envelope {
        let reached = Reached { entry: Some(entry.clone()), ..Reached::default() };
        let id = &record.run.invocation_id;
        let question = record.run.approval_id.clone();
        let words = match &question {
            Some(question) => self.waits_for("it waits", question, "approve it"),
            None => "it waits for a person".to_owned(),
        };
        self.answer_of(id, self.waiting(&reached, question, words, record.run.status))
    }

    /// An envelope of this call, under the id of another.
    pub(super) fn answer_of(&self, id: &InvocationId, envelope: Envelope) -> Envelope {
        Envelope {
            invocation_id: id.clone(),
            result_id: id.part("res"),
            evidence_refs: vec![format!("haft://invocations/{id}")],
            ..envelope
        }
    }

    /// Records the repeat with the first call, and ends it with that call's envelope.
    pub(super) async fn record_replay(&self, call: &Call, mut envelope: Envelope) -> Halt {
        envelope.replayed = envelope.status != ResultStatus::Pending;
        let again = SentAgain { channel: call.channel.to_owned(), native: call.native.clone() };
        let fact =
            Fact { at: self.recorder.now(), phases: Vec::new(), event: Event::SentAgain(again) };
        let draft = Draft {
            invocation: Some(envelope.invocation_id.clone()),
            actor: Some(Actor::clone(&call.actor)),
            subject: self.recorder.subject(),
            facts: vec![fact],
            ..Draft::default()
        };
        // The replay does not depend on this append.
        let _ = self.runtime.store.append(draft, Wait::Queue).await;
        Halt::Answered(Box::new(envelope))
    }
}
