//! Finding out what became of a call of which nobody knew, before the same is sent once more.

use haft_catalog::Entry;
use haft_driver::Output;
use haft_ledger::IntentRecord;
use haft_model::{Call, EffectSettled, EffectState, Envelope, Event, InvocationId};
use serde_json::Value;

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
        match self.asked(call, entry, input, record).await {
            Some(Became::Absent) => Ok(()),
            Some(Became::Committed(output)) => {
                self.runtime.delivery.learn(record);
                let envelope = self.adopted(record, output);
                Err(self.sent_again(call, envelope).await)
            }
            None => Err(self.first_answer(call, Some(record.clone()), manner).await),
        }
    }

    /// What the backend says, which is put on record for the call before.
    async fn asked(
        &self,
        call: &Call,
        entry: &Entry,
        input: &Value,
        record: &IntentRecord,
    ) -> Option<Became> {
        let entry = self.world.snapshot.find(&entry.contract.key().to_string())?;
        let understood = self.bind(call, entry, input.clone()).ok()?;
        let id = &record.run.invocation_id;
        let (became, answer) = self.runtime.became(id, &record.intent.key, &understood).await?;
        let effect = match &became {
            Became::Committed(_) => EffectState::Committed,
            Became::Absent => EffectState::NotCommitted,
        };
        self.runtime.learned(id, call, effect, &answer.invocation_id).await;
        Some(became)
    }

    /// The answer of a call that turned out to have happened.
    fn adopted(&self, record: &IntentRecord, output: Output) -> Envelope {
        self.answer_of(&record.run.invocation_id, self.came_to(output))
    }
}

impl Runtime {
    /// Puts on record what was found out about a call that is over.
    async fn learned(
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
