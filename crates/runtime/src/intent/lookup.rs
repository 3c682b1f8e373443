//! Finding out what became of a call of which nobody knew, before the same is sent once more.

use std::time::Duration;

use haft_catalog::Entry;
use haft_driver::Output;
use haft_ledger::IntentRecord;
use haft_model::{Call, DualTime, EffectSettled, EffectState, Envelope, Event, InvocationId};
use serde_json::Value;
use tokio::time::Instant;

use super::no_longer_wanted;
use crate::execute::Became;
use crate::walk::{Halt, Walk};
use crate::{Manner, Runtime};

impl Walk<'_> {
    /// Asks the backend. Goes on only where the call before did not happen.
    pub(super) async fn find_out(
        &mut self,
        call: &Call,
        entry: &Entry,
        input: &Value,
        record: &IntentRecord,
        manner: &Manner<'_>,
    ) -> Result<(), Halt> {
        let began = Instant::now();
        loop {
            let until = match self.asked(call, entry, input, record).await {
                Some((Became::Absent, _)) => return Ok(()),
                Some((Became::Committed(output), _)) => {
                    self.runtime.delivery.learn(record);
                    let envelope = self.adopted(record, output);
                    return Err(self.sent_again(call, envelope).await);
                }
                Some((Became::Possible(until), time)) if self.in_time(&until, began + time) => {
                    until
                }
                Some((Became::Possible(until), _)) => {
                    return Err(self.told_possible(call, record, &until, manner).await);
                }
                None => return Err(self.first_answer(call, Some(record.clone()), manner).await),
            };
            // Nothing that would be done now could be told from what may still happen.
            let left = until.remaining(&self.runtime.clock.time());
            let wait = tokio::time::sleep(left.max(self.runtime.options.look));
            let id = &record.run.invocation_id;
            self.unless_called_off(manner, wait).await.ok_or_else(|| no_longer_wanted(id))?;
        }
    }

    /// Whether something is over before the call's own time is.
    fn in_time(&self, until: &DualTime, deadline: Instant) -> bool {
        Instant::now() + until.remaining(&self.runtime.clock.time()) < deadline
    }

    /// The answer of a call that may still happen, and until when.
    async fn told_possible(
        &mut self,
        call: &Call,
        record: &IntentRecord,
        until: &DualTime,
        manner: &Manner<'_>,
    ) -> Halt {
        match self.first_answer(call, Some(record.clone()), manner).await {
            Halt::Answered(mut envelope) => {
                if let Some(error) = &mut envelope.error {
                    error.until = Some(until.at);
                }
                Halt::Answered(envelope)
            }
            halt => halt,
        }
    }

    /// What the backend says, which is put on record for the call before, and how much time a call has.
    async fn asked(
        &self,
        call: &Call,
        entry: &Entry,
        input: &Value,
        record: &IntentRecord,
    ) -> Option<(Became, Duration)> {
        let entry = self.world.snapshot.find(&entry.contract.key().to_string())?;
        let understood = self.bind(call, entry, input.clone()).ok()?;
        let id = &record.run.invocation_id;
        let until = self.runtime.past(id).await.ok()?.until();
        let time = Duration::from_millis(understood.plan.limits.timeout_ms);
        let key = &record.intent.key;
        let (became, answer) = self.runtime.became(id, key, &understood, until.as_ref()).await?;
        let effect = match &became {
            Became::Committed(_) => EffectState::Committed,
            Became::Absent => EffectState::NotCommitted,
            Became::Possible(_) => return Some((became, time)),
        };
        self.runtime.learned(id, call, effect, &answer.invocation_id).await;
        Some((became, time))
    }

    /// The answer of a call that turned out to have happened.
    fn adopted(&self, record: &IntentRecord, output: Output) -> Envelope {
        self.answer_of(&record.run.invocation_id, self.came_to(output))
    }
}

impl Runtime {
    /// Puts on record what was found out about a call that is over.
    pub(crate) async fn learned(
        &self,
        id: &InvocationId,
        call: &Call,
        effect: EffectState,
        asked_by: &InvocationId,
    ) {
        let Ok(story) = self.told(id, &call.actor.tenant).await else { return };
        if story.effect_state != EffectState::Unknown {
            return;
        }
        let reason = format!("the backend said so when `{asked_by}` asked");
        let settled = EffectSettled { effect, by: call.actor.id.clone(), reason };
        // Somebody else may have found it out first, and said the same.
        let _ = self.add(&story, &call.actor, Event::EffectSettled(settled)).await;
    }
}
