//! Degradation list: collects what one tool loses on its way into a format.

use std::collections::BTreeSet;

use haft_model::ToolKey;

use super::Degradation;

/// The losses of one tool.
pub(super) struct Losses {
    tool: String,
    lines: Vec<Degradation>,
    seen: BTreeSet<(String, String)>,
}

impl Losses {
    /// No losses yet.
    pub(super) fn of(key: &ToolKey) -> Losses {
        Losses { tool: key.to_string(), lines: Vec::new(), seen: BTreeSet::new() }
    }

    /// An empty list for the same tool, for an attempt that may come to nothing.
    pub(super) fn attempt(&self) -> Losses {
        Losses { tool: self.tool.clone(), lines: Vec::new(), seen: BTreeSet::new() }
    }

    /// Takes over the losses of an attempt that was used.
    pub(super) fn absorb(&mut self, attempt: Losses) {
        for line in attempt.lines {
            self.add(line.field, line.reason);
        }
    }

    /// Notes a loss; the same one is noted once.
    pub(super) fn add(&mut self, field: impl Into<String>, reason: impl Into<String>) {
        let (field, reason) = (field.into(), reason.into());
        if self.seen.insert((field.clone(), reason.clone())) {
            self.lines.push(Degradation { tool: self.tool.clone(), field, reason });
        }
    }

    /// The lines, in the order they were noted.
    pub(super) fn into_lines(self) -> Vec<Degradation> {
        self.lines
    }
}
