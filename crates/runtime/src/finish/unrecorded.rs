//! Ends of calls that this process cannot record under its lease: records an observed effect, or
//! leaves the call to recovery.

use haft_ledger::{Draft, Wait};
use haft_model::{Actor, Code, EffectObserved, EffectState, Envelope, Event, Fact, Stop};
use serde_json::Value;

use super::Came;
use crate::Unsent;
use crate::pipeline::CallPipeline;
use crate::recorder::unrecorded;

impl CallPipeline<'_> {
    /// Records an observed effect with its result. The append needs no lease: it is a fact,
    /// whatever the lease holder records.
    pub(super) async fn observed(&self, envelope: &Envelope) -> Result<(), Stop> {
        let bytes = serde_json::to_vec(envelope).unwrap_or_default();
        let (result, blob) = self.discretion.keep(&Value::Null, bytes);
        let event = Event::EffectObserved(Box::new(EffectObserved {
            attempt: self.attempt,
            fence: self.recorder.fence().map_or(0, |fence| fence.0),
            effect: envelope.effect_state,
            result,
        }));
        let draft = Draft {
            invocation: Some(self.recorder.id().clone()),
            actor: Some(Actor::clone(self.recorder.actor())),
            subject: self.recorder.subject(),
            facts: vec![Fact { at: self.recorder.now(), phases: Vec::new(), event }],
            blobs: vec![blob],
            ..Draft::default()
        };
        self.runtime.store.append(draft, Wait::Disk).await.map(|_| ()).map_err(unrecorded)
    }

    /// Whether recovery will run the call: its end is not on record, and nothing was sent.
    pub(super) fn may_run_later(&self, envelope: &Envelope) -> bool {
        let writes = self.entry.as_ref().is_some_and(|entry| entry.contract.effects.may_mutate());
        let unsent = !envelope.effect_state.may_have_happened();
        let runs = self.runtime.options.unsent == Unsent::Run;
        writes && unsent && runs && self.recorder.may_be_on_record()
    }

    /// The result of a call that sent nothing here, and that recovery may run.
    pub(super) fn left_open(&self) -> Envelope {
        let id = self.recorder.id();
        let words = format!("nothing was sent for `{id}`, and that cannot be put on record");
        let help =
            "make the same call again for its answer: the workspace carries out what was not sent";
        let effect = EffectState::Unknown;
        let error = self.error(Stop::new(Code::Internal, words).help(help), effect);
        let came = Came { output: None, error: Some(error), effect };
        self.composed(&came, self.looked_at(None))
    }
}
