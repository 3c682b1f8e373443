//! The end of a call that was to undo another, and what follows for that.

use haft_driver::{Failure, Output};
use haft_ledger::{OpenUndoing, RunFilter, Story};
use haft_model::{
    Actor, Code, CompensationEnded, EffectState, Envelope, Event, InvocationId, Stop, ToolError,
};
use serde_json::json;

use crate::Runtime;
use crate::pipeline::{CallPipeline, Halt};
use crate::recorder::unrecorded;

/// How often the end of an undoing is written while others write about the same call.
const TRIES: usize = 8;

/// What came of undoing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    /// It was refused, called off or broke before its driver was reached.
    Untried,
    /// It took place.
    Undone,
    /// It did not, or nobody knows.
    Failed,
}

impl Came {
    fn of(tried: bool, failed: bool, effect: EffectState) -> Came {
        match (tried, failed) {
            (false, _) => Came::Untried,
            (true, false) => Came::Undone,
            // An output that does not fit, say, is bad news about the output alone.
            (true, true) if effect == EffectState::Committed => Came::Undone,
            (true, true) => Came::Failed,
        }
    }

    fn effect(self, before: EffectState) -> EffectState {
        let after = match self {
            Came::Untried => before,
            Came::Undone => EffectState::Compensated,
            Came::Failed => EffectState::CompensationFailed,
        };
        if before.may_become(after) { after } else { before }
    }
}

impl CallPipeline<'_> {
    /// The failure of a call that was to undo another, under the name that says so.
    pub(crate) fn undoing_failed(&self, outcome: Result<Output, Halt>) -> Result<Output, Halt> {
        let Some(undoing) = &self.undoing else { return outcome };
        match outcome {
            Err(Halt::Stopped(failure))
                if Came::of(self.executed, true, failure.effect) == Came::Failed =>
            {
                let Failure { stop, effect, native, partial } = *failure;
                let stop = self.redactor.stop(stop);
                let original = &undoing.original;
                let words = format!("undoing `{original}` failed: {}", stop.message);
                let help = stop.help.clone().unwrap_or_else(|| {
                    format!("`haft compensate {original}` tries again, once it is known why")
                });
                let inner = ToolError::new(stop, effect);
                let stop = Stop::new(Code::CompensationFailed, words)
                    .help(help)
                    .because(json!({ "compensates": original, "error": inner }));
                Err(Halt::Stopped(Box::new(Failure { stop, effect, native, partial })))
            }
            outcome => outcome,
        }
    }

    /// Tells the call that was to be undone what came of it.
    pub(crate) async fn tell_original(&self, envelope: &Envelope) {
        let Some(undoing) = &self.undoing else { return };
        // What is not on record as over may go on elsewhere: whoever ends it tells.
        if !envelope.final_status.is_terminal() || envelope.unrecorded.is_some() {
            return;
        }
        let came = Came::of(self.executed, envelope.is_error, envelope.effect_state);
        // What cannot be written now follows from this call's own record, and is caught up with by
        // whoever recovers, at the latest before anybody undoes the same call again.
        let _ = self
            .runtime
            .undoing_ended(&undoing.original, &envelope.invocation_id, &undoing.actor, came)
            .await;
    }
}

impl Runtime {
    async fn undoing_ended(
        &self,
        original: &InvocationId,
        by: &InvocationId,
        actor: &Actor,
        came: Came,
    ) -> Result<(), Stop> {
        let mut tries = 0;
        loop {
            let story = self.told(original, &actor.tenant).await?;
            if story.open_undoing() != Some(by) {
                return Ok(());
            }
            let effect = came.effect(story.effect_state);
            let ended = CompensationEnded { by: by.clone(), effect };
            match self.add(&story, actor, Event::CompensationEnded(ended)).await {
                Err(stop) if stop.code == Code::Conflict && tries < TRIES => tries += 1,
                ended => return ended,
            }
        }
    }

    /// Tells every call that was undone by one whose process died before it could.
    pub(crate) async fn tell_originals(&self) -> Result<(), Stop> {
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

    /// What the ledger tells of a call, with the end of an undoing whose process died before it could
    /// tell.
    pub(super) async fn caught_up(&self, id: &InvocationId, actor: &Actor) -> Result<Story, Stop> {
        let story = self.told(id, &actor.tenant).await?;
        let Some(by) = story.open_undoing() else { return Ok(story) };
        let undoing = self.told(by, &actor.tenant).await?;
        if undoing.ended_at.is_none() {
            return Ok(story);
        }
        let tried = !undoing.attempts.is_empty();
        let came = Came::of(tried, undoing.error_code.is_some(), undoing.effect_state);
        self.undoing_ended(id, by, actor, came).await?;
        self.told(id, &actor.tenant).await
    }
}
