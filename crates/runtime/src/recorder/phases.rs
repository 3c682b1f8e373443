//! Phase timing of a call: records each phase once, with its outcome and duration.

use std::time::Duration;

use haft_model::{CallPhase, PhaseLine, PhaseOutcome};
use tokio::time::Instant;

use super::{Recorder, TakenUp};

/// Phases of one call.
pub(super) struct PhaseLog {
    /// When the call began, a recovered one in its first process.
    began: Instant,
    /// Phases that ended since the last fact.
    lines: Vec<PhaseLine>,
    /// Microseconds from the beginning to the end of the last phase.
    from: u64,
    /// Numbers of the phases that ended, as a bit set.
    ended: u16,
}

impl PhaseLog {
    pub(super) fn open(taken_up: Option<&TakenUp>) -> PhaseLog {
        let age = taken_up.map_or(0, |taken| taken.age);
        let now = Instant::now();
        PhaseLog {
            began: now.checked_sub(Duration::from_micros(age)).unwrap_or(now),
            lines: Vec::with_capacity(8),
            from: age,
            ended: taken_up.map_or(0, |taken| {
                taken.phases.iter().fold(0, |ended, phase| ended | (1 << phase.number()))
            }),
        }
    }

    /// Takes the phases that ended since the last fact.
    pub(super) fn take(&mut self) -> Vec<PhaseLine> {
        std::mem::take(&mut self.lines)
    }

    /// Puts the phases of retracted facts before those that ended since.
    pub(super) fn put_back(&mut self, mut earlier: Vec<PhaseLine>) {
        earlier.append(&mut self.lines);
        self.lines = earlier;
    }

    fn has_ended(&self, phase: CallPhase) -> bool {
        self.ended & (1 << phase.number()) != 0
    }

    fn end(&mut self, phase: CallPhase, outcome: PhaseOutcome) {
        // A recovered or reauthorized call passes some phases twice.
        if self.has_ended(phase) {
            return;
        }
        let to = self.began.elapsed().as_micros() as u64;
        self.lines.push(PhaseLine { phase, outcome, from: self.from, to });
        self.ended |= 1 << phase.number();
        self.from = to;
    }
}

impl Recorder {
    /// Records the end of a phase; the time counts from the end of the one before.
    pub(crate) fn phase(&mut self, phase: CallPhase, outcome: PhaseOutcome) {
        self.phases.end(phase, outcome);
    }

    /// Records the outcome of a phase and returns its result.
    pub(crate) fn phase_of<T, E>(
        &mut self,
        phase: CallPhase,
        answer: Result<T, E>,
    ) -> Result<T, E> {
        let outcome = if answer.is_ok() { PhaseOutcome::Ok } else { PhaseOutcome::Failed };
        self.phase(phase, outcome);
        answer
    }

    /// Records the outcome of a phase, unless `Some` says that it is not over yet.
    pub(crate) fn phase_unless<T, E>(
        &mut self,
        phase: CallPhase,
        answer: Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        match answer {
            Ok(Some(in_the_way)) => Ok(Some(in_the_way)),
            ended => self.phase_of(phase, ended),
        }
    }

    /// Records every phase up to `last` that was never entered as skipped.
    pub(crate) fn skip_to(&mut self, last: CallPhase) {
        for phase in CallPhase::ALL.iter().filter(|phase| **phase <= last) {
            self.phase(*phase, PhaseOutcome::Skipped);
        }
    }
}
