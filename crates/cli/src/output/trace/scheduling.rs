//! Batch section: a call among the others of its batch.

use anyhow::Result;

use super::super::{clock, line, visible};
use super::{TracePage, between};

impl TracePage<'_> {
    /// Which batch it belongs to, by which rules, and when its result was handed over.
    pub(super) fn batch(&self) -> Result<()> {
        let story = self.story;
        let Some(place) = &story.batch else { return Ok(()) };
        line(format!("batch     {}, call {}", place.id, place.index))?;
        for needed in &place.depends_on {
            line(format!("          after {needed}"))?;
        }
        if let Some(policy) = &place.policy {
            line(format!(
                "rules     {}: {}, {}; interrupt {}, failure {}, context {}; {} at once",
                policy.scheduler_policy_id,
                policy.ordering_policy,
                policy.yield_policy,
                policy.interrupt_behavior,
                policy.sibling_failure_policy,
                policy.context_modifier_policy,
                policy.max_parallel,
            ))?;
        }
        let waited = story.ended_at.zip(story.released_at).filter(|(ended, out)| out > ended);
        let waited =
            waited.map(|(ended, out)| format!(", handed over {} later", between(ended, out)));
        match story.queue_state() {
            Some(state) => line(format!("queue     {state}{}", waited.unwrap_or_default())),
            None => Ok(()),
        }
    }

    /// Prints that the result was discarded.
    pub(super) fn discarded(&self) -> Result<()> {
        let Some((at, discarded)) = &self.story.discarded else { return Ok(()) };
        let kept = discarded.kept.as_ref().map(|why| format!("; its result stands: {why}"));
        let kept = kept.unwrap_or_default();
        line(format!("\ndiscarded {} at {}{kept}", visible(&discarded.reason), clock(*at)))
    }

    /// Prints the fate of context modifiers.
    pub(super) fn context(&self) -> Result<()> {
        for (at, one) in &self.story.context_modifiers {
            let reason = visible(&one.reason);
            line(format!(
                "\ncontext   {} of {} modifiers at {}: {reason}",
                one.outcome,
                one.count,
                clock(*at)
            ))?;
        }
        Ok(())
    }
}
