//! Idempotency state of a call, derived from its history.

use haft_model::{EffectState, IntentState};

use super::Story;

impl Story {
    /// State of the intent; `None` where the call carries none out.
    pub fn intent_state(&self) -> Option<IntentState> {
        self.intent.as_ref()?;
        Some(match (self.ended_at, self.effect_state) {
            (None, _) => IntentState::Open,
            (Some(_), EffectState::Unknown | EffectState::Submitted) => IntentState::Unknown,
            (Some(_), effect) if effect.may_have_happened() => IntentState::Done,
            (Some(_), _) => IntentState::Free,
        })
    }
}
