//! Collecting what one tool loses on its way into a format.

use haft_model::ToolKey;

use super::Degradation;

/// The losses of one tool.
pub(super) struct Losses {
    tool: String,
    lines: Vec<Degradation>,
}

impl Losses {
    /// No losses yet.
    pub(super) fn of(key: &ToolKey) -> Losses {
        Losses { tool: key.to_string(), lines: Vec::new() }
    }

    /// An empty list for the same tool, for an attempt that may come to nothing.
    pub(super) fn attempt(&self) -> Losses {
        Losses { tool: self.tool.clone(), lines: Vec::new() }
    }

    /// Takes over the losses of an attempt that was used.
    pub(super) fn absorb(&mut self, attempt: Losses) {
        self.lines.extend(attempt.lines);
    }

    /// Notes a loss; the same one is noted once.
    pub(super) fn add(&mut self, field: impl Into<String>, reason: impl Into<String>) {
        let line =
            Degradation { tool: self.tool.clone(), field: field.into(), reason: reason.into() };
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// The lines, in the order they were noted.
    pub(super) fn into_lines(self) -> Vec<Degradation> {
        self.lines
    }
}
