//! End of a compensation: derives the original's effect state and records it there.

use haft_driver::Failure;
use haft_ledger::{OpenUndoing, RunFilter, Story};
use haft_model::{
    Actor, CauseDetail, Code, CompensationEnded, EffectState, Envelope, Event, InvocationId, Stop,
    ToolError,
};

use crate::Runtime;
use crate::context::CallContext;
use crate::pipeline::Halt;
use crate::recorder::unrecorded;

/// Most retries of the append after conflicts with concurrent writers.
const TRIES: usize = 8;

/// Outcome of a compensation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompensationOutcome {
    /// It was refused, cancelled or failed before its driver was reached.
    Untried,
    /// The effect is undone.
    Undone,
    /// It failed, or its effect is unknown.
    Failed,
}

impl CompensationOutcome {
    fn of(tried: bool, failed: bool, effect: EffectState) -> CompensationOutcome {
        match (tried, failed) {
            (false, _) => CompensationOutcome::Untried,
            (true, false) => CompensationOutcome::Undone,
            // The effect is committed; only the output is invalid.
            (true, true) if effect == EffectState::Committed => CompensationOutcome::Undone,
            (true, true) => CompensationOutcome::Failed,
        }
    }

    fn effect(self, before: EffectState) -> EffectState {
        let after = match self {
            CompensationOutcome::Untried => before,
            CompensationOutcome::Undone => EffectState::Compensated,
            CompensationOutcome::Failed => EffectState::CompensationFailed,
        };
        if before.may_become(after) { after } else { before }
    }
}

impl CallContext<'_> {
    /// Reports a failed compensation as `CompensationFailed`, with the failure as its cause.
    pub(crate) fn undoing_failed(&self, halt: Halt) -> Halt {
        let Some(undoing) = &self.compensating else { return halt };
        match halt {
            Halt::Stopped(failure)
                if CompensationOutcome::of(self.attempts.executed, true, failure.effect)
                    == CompensationOutcome::Failed =>
            {
                let Failure { stop, effect, native, partial, report } = *failure;
                let stop = self.privacy.redactor.stop(stop);
                let original = &undoing.original;
                let words = format!("undoing `{original}` failed: {}", stop.message);
                let help = stop.help.clone().unwrap_or_else(|| {
                    format!("`haft compensate {original}` tries again, once it is known why")
                });
                let inner = ToolError::new(stop, effect);
                let stop = Stop::new(Code::CompensationFailed, words).help(help).because([
                    CauseDetail::Compensates(original.clone()),
                    CauseDetail::Error(Box::new(inner)),
                ]);
                let partial = report.or(partial);
                Halt::Stopped(Box::new(Failure { stop, effect, native, partial, report: None }))
            }
            halt => halt,
        }
    }

    /// Records the outcome with the original call.
    pub(crate) async fn tell_original(&self, envelope: &Envelope) {
        let Some(undoing) = &self.compensating else { return };
        // A call whose end is not on record may continue elsewhere; the process that ends it
        // records the outcome.
        if !envelope.final_status.is_terminal() || envelope.unrecorded.is_some() {
            return;
        }
        let outcome = CompensationOutcome::of(
            self.attempts.executed,
            envelope.is_error,
            envelope.effect_state,
        );
        // A failed append can be derived from this call's own record: recovery does it, at the
        // latest before the next compensation of the same call.
        let _ = self
            .runtime
            .undoing_ended(&undoing.original, &envelope.invocation_id, &undoing.actor, outcome)
            .await;
    }
}

impl Runtime {
    async fn undoing_ended(
        &self,
        original: &InvocationId,
        by: &InvocationId,
        actor: &Actor,
        outcome: CompensationOutcome,
    ) -> Result<(), Stop> {
        let mut tries = 0;
        loop {
            let story = self.told(original, &actor.tenant).await?;
            if story.open_undoing() != Some(by) {
                return Ok(());
            }
            let effect = outcome.effect(story.effect_state);
            let ended = CompensationEnded { by: by.clone(), effect };
            match self.add(&story, actor, Event::CompensationEnded(ended)).await {
                Err(stop) if stop.code == Code::Conflict && tries < TRIES => tries += 1,
                ended => return ended,
            }
        }
    }

    /// Recovery: records the outcome of compensations whose process died before it did.
    pub(crate) async fn record_compensations(&self) -> Result<(), Stop> {
        for OpenUndoing { original, by } in self.store.undoings().await.map_err(unrecorded)? {
            let filter = RunFilter { id: Some(by.clone()), ..RunFilter::default() };
            let run = self.store.runs(&filter).await.map_err(unrecorded)?.pop();
            let Some(run) = run.filter(|run| run.ended_at.is_some()) else { continue };
            let undoing = self.told(&by, &run.tenant).await?;
            if let Some(actor) = &undoing.actor {
                self.caught_up(&original, actor).await?;
            }
        }
        Ok(())
    }

    /// The ledger's history of a call, after recording the outcome of a compensation whose process
    /// died.
    pub(super) async fn caught_up(&self, id: &InvocationId, actor: &Actor) -> Result<Story, Stop> {
        let story = self.told(id, &actor.tenant).await?;
        let Some(by) = story.open_undoing() else { return Ok(story) };
        let undoing = self.told(by, &actor.tenant).await?;
        if undoing.ended_at.is_none() {
            return Ok(story);
        }
        let tried = !undoing.attempts.is_empty();
        let outcome =
            CompensationOutcome::of(tried, undoing.error_code.is_some(), undoing.effect_state);
        self.undoing_ended(id, by, actor, outcome).await?;
        self.told(id, &actor.tenant).await
    }
}
