//! Compensation and settlement: what was learned of an effect after the call ended.

use haft_model::{
    Compensating, CompensationEnded, EffectObserved, EffectSettled, EffectState, InvocationId,
    Timestamp,
};
use serde::Serialize;

use super::Story;

/// A compensating call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Undoing {
    /// Id of the compensating call.
    pub by: InvocationId,
    /// When it began.
    pub began_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Effect state after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectState>,
}

impl Story {
    /// The compensating call that is not known to be over.
    pub fn open_undoing(&self) -> Option<&InvocationId> {
        let last = self.undoings.last().filter(|last| last.ended_at.is_none());
        last.map(|last| &last.by)
    }

    pub(super) fn effect_settled(&mut self, settled: &EffectSettled, at: Timestamp) {
        self.effect_state = settled.effect;
        self.settlements.push((at, settled.clone()));
    }

    pub(super) fn effect_observed(&mut self, seen: &EffectObserved, at: Timestamp) {
        self.effect_state = self.effect_state.learn(seen.effect);
        self.observed.push((at, seen.clone()));
    }

    pub(super) fn undoing(&mut self, undoing: &Compensating, at: Timestamp) {
        let by = undoing.by.clone();
        self.undoings.push(Undoing { by, began_at: at, ended_at: None, effect: None });
    }

    pub(super) fn undoing_ended(&mut self, ended: &CompensationEnded, at: Timestamp) {
        self.effect_state = ended.effect;
        let found = self.undoings.iter_mut().rev().find(|undoing| undoing.by == ended.by);
        if let Some(undoing) = found {
            undoing.ended_at = Some(at);
            undoing.effect = Some(ended.effect);
        }
    }
}
