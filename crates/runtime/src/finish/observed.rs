//! What a process saw of a call that another one had taken over: a fact all the same.

use haft_ledger::{Draft, Wait};
use haft_model::{Actor, EffectObserved, Envelope, Event, Fact, Stop};
use serde_json::Value;

use crate::journal::unrecorded;
use crate::walk::Walk;

impl Walk<'_> {
    /// Puts on record that the effect took place, with the answer. It needs no right to write about the
    /// call: whatever the process says that has it, this is what happened.
    pub(super) async fn observed(&self, envelope: &Envelope) -> Result<(), Stop> {
        let bytes = serde_json::to_vec(envelope).unwrap_or_default();
        let (result, blob) = self.discretion.keep(&Value::Null, bytes);
        let event = Event::EffectObserved(Box::new(EffectObserved {
            attempt: self.attempt,
            fence: self.journal.fence().map_or(0, |fence| fence.0),
            effect: envelope.effect_state,
            result,
        }));
        let draft = Draft {
            invocation: Some(self.journal.id().clone()),
            actor: Some(Actor::clone(self.journal.actor())),
            subject: self.journal.subject(),
            facts: vec![Fact { at: self.journal.now(), phases: Vec::new(), event }],
            blobs: vec![blob],
            ..Draft::default()
        };
        self.runtime.store.append(draft, Wait::Disk).await.map(|_| ()).map_err(unrecorded)
    }
}
