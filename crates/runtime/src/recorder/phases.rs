//! The phases of a call, each noted once and with the time it took.

use haft_model::{CallPhase, PhaseLine, PhaseOutcome};

use super::Recorder;

impl Recorder {
    /// Notes that a phase is over.
    pub(crate) fn phase(&mut self, phase: CallPhase, outcome: PhaseOutcome) {
        // A call that is taken up again, or asked about again, passes some phases twice.
        if self.seen & (1 << phase.number()) != 0 {
            return;
        }
        let to = self.began.elapsed().as_micros() as u64;
        self.phases.push(PhaseLine { phase, outcome, from: self.phase_from, to });
        self.seen |= 1 << phase.number();
        self.phase_from = to;
    }

    /// Notes how a phase ended, and hands its answer on.
    pub(crate) fn phase_of<T, E>(
        &mut self,
        phase: CallPhase,
        answer: Result<T, E>,
    ) -> Result<T, E> {
        let outcome = if answer.is_ok() { PhaseOutcome::Ok } else { PhaseOutcome::Failed };
        self.phase(phase, outcome);
        answer
    }

    /// Notes how a phase ended that is not over while there is something in its way.
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

    /// Notes every phase up to one that was never entered.
    pub(crate) fn skip_to(&mut self, last: CallPhase) {
        for phase in CallPhase::ALL.iter().filter(|phase| **phase <= last) {
            if self.seen & (1 << phase.number()) == 0 {
                self.phase(*phase, PhaseOutcome::Skipped);
            }
        }
    }
}
