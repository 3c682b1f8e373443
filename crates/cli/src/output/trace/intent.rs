//! Idempotency section: the identity of a call, and its repeats.

use anyhow::Result;
use haft_model::{IntentState, KeySource};

use super::super::{clock, line, visible};
use super::TracePage;

impl TracePage<'_> {
    /// By what its intent is known, how far that is, and how often it was sent again.
    pub(super) fn intent(&self) -> Result<()> {
        let story = self.story;
        let Some((intent, state)) = story.intent.as_ref().zip(story.intent_state()) else {
            return Ok(());
        };
        let known_by = match intent.source {
            KeySource::Caller => "by the caller's key",
            KeySource::Contract => "by the contract's key",
            KeySource::Intent => "by what was asked",
        };
        let until = clock(intent.until);
        let stands = match state {
            IntentState::Open => format!("not over yet; remembered until {until}"),
            IntentState::Done => format!("done; remembered until {until}"),
            // A key outlives its expiry for as long as the outcome is unknown.
            IntentState::Unknown => "its effect is unknown".to_owned(),
            IntentState::Free => "nothing happened, so it may be sent again".to_owned(),
        };
        line(format!("intent    {known_by}: {stands}"))?;
        self.sent_again()
    }

    fn sent_again(&self) -> Result<()> {
        let again = &self.story.sent_again;
        let Some((at, last)) = again.last() else { return Ok(()) };
        let times = match again.len() {
            1 => "once".to_owned(),
            more => format!("{more} times"),
        };
        let (at, channel) = (clock(*at), visible(&last.channel));
        line(format!("again     sent again {times}, last at {at}, by {channel}"))
    }
}
