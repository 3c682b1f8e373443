//! Resolution and compensation section: what was learned of a call's effect after its end.

use anyhow::Result;

use super::super::{clock, effect_words, line, visible};
use super::{TracePage, heading};

impl TracePage<'_> {
    /// Prints who resolved its effect, and which calls were to compensate it.
    pub(super) fn since(&self) -> Result<()> {
        let story = self.story;
        if story.settlements.is_empty() && story.undoings.is_empty() && story.observed.is_empty() {
            return Ok(());
        }
        heading("since then")?;
        for (at, settled) in &story.settlements {
            let effect = effect_words(settled.effect);
            let reason = visible(&settled.reason);
            line(format!("  settled by {} at {}: {effect}; {reason}", settled.by, clock(*at)))?;
        }
        for (at, seen) in &story.observed {
            let effect = effect_words(seen.effect);
            line(format!(
                "  seen at {} by the process that had lost the call: {effect}",
                clock(*at)
            ))?;
        }
        for undoing in &story.undoings {
            let became = undoing.effect.map_or("not over yet", effect_words);
            line(format!("  undone by {} at {}: {became}", undoing.by, clock(undoing.began_at)))?;
        }
        Ok(())
    }
}
