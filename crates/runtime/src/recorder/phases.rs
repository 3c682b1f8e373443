//! Phase timing of a call: records each phase once, with its outcome and duration.

use haft_model::{CallPhase, PhaseLine, PhaseOutcome};

use super::Recorder;

impl Recorder {
    /// Records the end of a phase; the time counts from the end of the one before.
    pub(crate) fn phase(&mut self, phase: CallPhase, outcome: PhaseOutcome) {
        // A recovered or reauthorized call passes some phases twice.
        if self.seen & (1 << phase.number()) != 0 {
            return;
        }
        let to = self.began.elapsed().as_micros() as u64;
        self.phases.push(PhaseLine { phase, outcome, from: self.phase_from, to });
        self.seen |= 1 << phase.number();
        self.phase_from = to;
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
            if self.seen & (1 << phase.number()) == 0 {
                self.phase(*phase, PhaseOutcome::Skipped);
            }
        }
    }
}
