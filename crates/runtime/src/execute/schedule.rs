//! Scheduling (phase 8): waits for locks, a slot and quotas under a permit that still holds.

use haft_model::{CallPhase, Code, Event, PhaseOutcome, Queued, Status, Stop};

use crate::CallOptions;
use crate::batch::Turns;
use crate::context::CallContext;
use crate::permit::PermittedCall;
use crate::pipeline::Halt;
use crate::queue;
use crate::quota::Lapse;
use crate::runtime::called_off;
use crate::validate;

impl CallContext<'_> {
    /// Waits for a slot under a permit that still holds; one that lapsed meanwhile is authorized
    /// again.
    pub(super) async fn await_turn(
        &mut self,
        mut permitted: PermittedCall,
        options: &CallOptions<'_>,
    ) -> Result<(PermittedCall, Turns), Halt> {
        loop {
            let slot = self.schedule(&permitted, options).await;
            let lapse = match &slot {
                Ok(_) => self.lapse(&permitted).await,
                Err(stop) => Err(stop.clone()),
            };
            let Some(lapse) = self.recorder.phase_unless(CallPhase::Schedule, lapse)? else {
                return Ok((permitted, slot?));
            };
            // The slot is free for others while an approver is asked.
            drop(slot);
            let planned = permitted.into_planned();
            let again = match lapse {
                Lapse::Permission => self.ask_again(planned, options).await,
                Lapse::Budget => self.judge_again(planned, options).await,
            };
            if let Err(Halt::Stopped(_)) = &again {
                self.recorder.phase(CallPhase::Schedule, PhaseOutcome::Failed);
            }
            permitted = again?;
        }
    }

    async fn schedule(
        &mut self,
        permitted: &PermittedCall,
        options: &CallOptions<'_>,
    ) -> Result<Turns, Stop> {
        let locks = queue::locks(permitted.planned(), permitted.planned().facts)?;
        if self.recorder.may_note(Status::Queued) {
            self.recorder.note(Event::Queued(Queued {
                locks: locks.iter().map(|lock| self.privacy.redactor.text(lock).0).collect(),
                is_concurrency_safe: permitted.planned().facts.is_concurrency_safe,
                max_parallel: self.runtime.queue.max_parallel(),
            }));
        }
        if self.request.nested {
            // The parent call holds a slot and the locks already.
            return Ok(Turns::of_another());
        }
        let planned = permitted.planned();
        let turn = self.turn(planned, &locks, planned.facts.is_concurrency_safe);
        let slot = self.in_sight(options, turn).await;
        slot.unwrap_or_else(|| Err(called_off("while it waited for its turn")))
    }

    /// Final check before the effect: the input is the authorized one and still valid.
    pub(super) fn verify_input_unchanged(&self, permitted: &PermittedCall) -> Result<(), Stop> {
        let planned = permitted.planned();
        if *planned.plan.input.digest() != permitted.call_input().digest {
            return Err(Stop::new(Code::InputMutation, "the input changed after it was judged"));
        }
        validate::check_input(&planned.entry, &planned.plan.input)
    }
}
