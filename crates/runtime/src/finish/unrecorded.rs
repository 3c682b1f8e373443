//! Ends of calls that this process cannot record under its lease: records an observed effect, or
//! leaves the call to recovery.

use haft_ledger::{Draft, Wait};
use haft_model::{Actor, Code, EffectObserved, EffectState, Envelope, Event, Fact, Stop};
use serde_json::Value;

use super::Completion;
use crate::Unsent;
use crate::context::CallContext;
use crate::pipeline::Reached;
use crate::recorder::unrecorded;

impl CallContext<'_> {
    /// Records an observed effect with its result. The append needs no lease: it is a fact,
    /// whatever the lease holder records.
    pub(super) async fn observed(&self, envelope: &Envelope) -> Result<(), Stop> {
        let bytes = serde_json::to_vec(envelope).unwrap_or_default();
        let (result, blob) = self.privacy.discretion.keep(&Value::Null, bytes);
        let event = Event::EffectObserved(Box::new(EffectObserved {
            attempt: self.attempts.number,
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
    pub(super) fn may_run_later(&self, reached: &Reached, envelope: &Envelope) -> bool {
        let unsent = !envelope.effect_state.may_have_happened();
        let runs = self.runtime.options.unsent == Unsent::Run;
        reached.may_mutate() && unsent && runs && self.recorder.may_be_on_record()
    }

    /// The result of a call that sent nothing here, and that recovery may run.
    pub(super) fn left_open(&self, reached: &Reached) -> Envelope {
        let id = self.recorder.id();
        let words = format!("nothing was sent for `{id}`, and that cannot be put on record");
        let help =
            "make the same call again for its answer: the workspace carries out what was not sent";
        self.unknown_to_us(reached, Stop::new(Code::Internal, words).help(help))
    }

    /// The result of a call whose effect this process cannot know.
    pub(super) fn unknown_to_us(&self, reached: &Reached, stop: Stop) -> Envelope {
        let effect = EffectState::Unknown;
        let error = Some(self.error(stop, effect));
        let completion =
            Completion { reached: reached.clone(), output: None, error, effect, is_report: false };
        self.composed(&completion, self.looked_at(reached, None))
    }
}
