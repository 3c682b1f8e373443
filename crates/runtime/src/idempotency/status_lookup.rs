//! Status lookup: queries the backend about an unknown effect before its intent is executed again.

use std::sync::Arc;
use std::time::Duration;

use haft_catalog::CatalogEntry;
use haft_driver::Output;
use haft_ledger::IntentRecord;
use haft_model::{
    Call, Code, DualTime, EffectSettled, EffectState, Envelope, Event, InvocationId, Stop,
};
use tokio::time::Instant;

use super::{Origin, no_longer_wanted};
use crate::context::CallContext;
use crate::execute::Became;
use crate::parse::ValidInput;
use crate::pipeline::{Halt, Reached};
use crate::{CallOptions, Runtime};

/// Most retries of the append after conflicts with concurrent writers.
const TRIES: usize = 8;

/// Outcome of a lookup.
struct StatusLookup {
    became: Became,
    /// Timeout of a call by its contract.
    time: Duration,
    /// Whether the append of the learned effect succeeded.
    recorded: Result<(), Stop>,
}

impl CallContext<'_> {
    /// Queries the backend; returns `Ok` only where the call on record did not commit.
    pub(super) async fn look_up_unknown(
        &mut self,
        origin: &Origin,
        input: &ValidInput,
        record: &IntentRecord,
        options: &CallOptions<'_>,
    ) -> Result<(), Halt> {
        let (call, entry) = (&*origin.call, &input.entry);
        let began = Instant::now();
        loop {
            let Some(asked) = self.asked(origin, input, record).await else {
                return Err(self.replay_result(call, entry, Some(record.clone()), options).await);
            };
            let until = match asked.became {
                // An absence that is not recorded could not be told apart from a later effect.
                Became::Absent => return Ok(asked.recorded?),
                Became::Committed(output) => {
                    self.runtime.undelivered.learn(record);
                    let mut envelope = self.adopted(entry, record, *output);
                    envelope.unrecorded = asked.recorded.err().map(|stop| stop.message);
                    return Err(self.record_replay(call, envelope).await);
                }
                Became::Possible(until) if self.in_time(&until, began + asked.time) => until,
                Became::Possible(until) => {
                    return Err(self.told_possible(call, entry, (record, &until), options).await);
                }
            };
            // A new attempt could not be told apart from the earlier one, which may still commit.
            let left = until.remaining(&self.runtime.clock.time());
            let wait = tokio::time::sleep(left.max(self.runtime.options.look));
            let id = &record.run.invocation_id;
            self.unless_called_off(options, wait).await.ok_or_else(|| no_longer_wanted(id))?;
        }
    }

    /// Whether `until` passes before the call's own deadline.
    fn in_time(&self, until: &DualTime, deadline: Instant) -> bool {
        Instant::now() + until.remaining(&self.runtime.clock.time()) < deadline
    }

    /// The result of a call that may still commit, with the time until then.
    async fn told_possible(
        &mut self,
        call: &Call,
        entry: &Arc<CatalogEntry>,
        (record, until): (&IntentRecord, &DualTime),
        options: &CallOptions<'_>,
    ) -> Halt {
        match self.replay_result(call, entry, Some(record.clone()), options).await {
            Halt::Answered(mut envelope) => {
                if let Some(error) = &mut envelope.error {
                    error.until = Some(until.at);
                }
                Halt::Answered(envelope)
            }
            halt => halt,
        }
    }

    /// Queries the backend and records a definite effect with the call on record.
    async fn asked(
        &self,
        origin: &Origin,
        input: &ValidInput,
        record: &IntentRecord,
    ) -> Option<StatusLookup> {
        let entry = self.world.snapshot.find(&input.entry.contract.key().to_string())?;
        let planned = self.bind(origin, entry, input.value.clone(), Vec::new()).ok()?;
        let call = &*origin.call;
        let id = &record.run.invocation_id;
        let history = self.runtime.history(id).await.ok()?;
        let until = history.until_or_after(self.runtime.possible_for(&planned));
        let time = Duration::from_millis(planned.plan.limits.timeout_ms);
        let key = &record.intent.key;
        let (became, answer) = self.runtime.became(id, key, &planned, until.as_ref()).await?;
        let effect = match &became {
            Became::Committed(_) => EffectState::Committed,
            Became::Absent => EffectState::NotCommitted,
            Became::Possible(_) => return Some(StatusLookup { became, time, recorded: Ok(()) }),
        };
        let recorded = self.runtime.learned(id, call, effect, &answer.invocation_id).await;
        Some(StatusLookup { became, time, recorded })
    }

    /// The envelope of a call that the backend reports as committed.
    fn adopted(
        &self,
        entry: &Arc<CatalogEntry>,
        record: &IntentRecord,
        output: Output,
    ) -> Envelope {
        let reached = Reached { entry: Some(entry.clone()), ..Reached::default() };
        self.answer_of(&record.run.invocation_id, self.came_to(reached, output))
    }
}

impl Runtime {
    /// Records a learned effect with a call that has ended.
    pub(crate) async fn learned(
        &self,
        id: &InvocationId,
        call: &Call,
        effect: EffectState,
        asked_by: &InvocationId,
    ) -> Result<(), Stop> {
        let mut tries = 0;
        loop {
            let story = self.told(id, &call.actor.tenant).await?;
            if story.effect_state != EffectState::Unknown {
                return Ok(());
            }
            let reason = format!("the backend said so when `{asked_by}` asked");
            let settled = EffectSettled { effect, by: call.actor.id.clone(), reason };
            match self.add(&story, &call.actor, Event::EffectSettled(settled)).await {
                // A concurrent writer appended to the same call, perhaps the same fact.
                Err(stop) if stop.code == Code::Conflict && tries < TRIES => tries += 1,
                ended => return ended,
            }
        }
    }
}
