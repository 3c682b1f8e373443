//! Effect lookup in recovery: asks the backend for the outcome of a submitted call, once the effect
//! can no longer happen late.

use std::time::Duration;

use haft_driver::{BoxFuture, Failure};
use haft_ledger::{Run, RunFilter};
use haft_model::{Call, Code, DualTime, EffectState, InvocationId, Stop};
use serde_json::Value;

use super::history::CallHistory;
use super::{AT_ONCE, PAGE};
use crate::Runtime;
use crate::batch::TaskSet;
use crate::context::CallContext;
use crate::execute::{Became, ExecutedCall, still_possible};
use crate::idempotency::backend_key;
use crate::pipeline::{CallOutcome, Halt, Reached, new_id};
use crate::plan::PlannedCall;
use crate::recorder::unrecorded;

/// How long an unknown effect is looked up again.
const LOOKED_FOR: Duration = Duration::from_secs(60 * 60);

impl CallContext<'_> {
    /// Asks the backend for the outcome of a call that was submitted when its process died; the
    /// effect stays unknown where the backend cannot tell.
    pub(super) async fn look_up_effect(
        &mut self,
        history: &CallHistory,
        reached: &Reached,
        id: &InvocationId,
    ) -> CallOutcome {
        // The interrupted attempt is the last recorded one.
        self.attempts.number = history.attempts();
        #[cfg(feature = "sabotage")]
        if haft_ledger::sabotage::Mechanism::RecoveryLookup.is_off() {
            let stop = Stop::new(Code::DependencyUnavailable, "nothing was looked up");
            let failure = Failure::new(stop, EffectState::NotCommitted);
            return Err(reached.stopped(Halt::Stopped(Box::new(failure))));
        }
        let planned = self.restore_plan(history, reached, id, history.ran()).await.ok();
        let became = match &planned {
            Some(planned) => {
                let possible_for = self.runtime.possible_for(planned);
                self.attempts.possible_until = history.until_or_after(possible_for);
                self.became(planned).await
            }
            None => None,
        };
        let reached = planned.as_ref().map_or_else(|| reached.clone(), PlannedCall::reached);
        let failed = |stop: Stop, effect| {
            Err(reached.stopped(Halt::Stopped(Box::new(Failure::new(stop, effect)))))
        };
        let died = "the process died after the effect had begun";
        match became {
            Some(Became::Committed(output)) => Ok(ExecutedCall::of_record(reached, *output)),
            Some(Became::Absent) => {
                let words = format!("{died}; the backend says that it did not take effect");
                let stop = Stop::new(Code::DependencyUnavailable, words).help("call it again");
                failed(stop, EffectState::NotCommitted)
            }
            Some(Became::Possible(until)) => {
                let stop = still_possible(Stop::new(Code::ExecutionFailed, died), &until);
                failed(stop, EffectState::Unknown)
            }
            None => {
                let words = format!("{died}; its effect is unknown");
                let help = format!("look at the backend, and tell with `haft settle {id}`");
                failed(Stop::new(Code::ExecutionFailed, words).help(help), EffectState::Unknown)
            }
        }
    }
}

impl Runtime {
    /// Looks up unknown effects of finished calls, once they can no longer happen late. Repeats at
    /// each recovery, for an hour.
    pub(super) async fn retry_lookups(&self) -> Result<(), Stop> {
        let mut filter = RunFilter { unknown: true, most: PAGE, ..RunFilter::default() };
        loop {
            let page = self.store.runs(&filter).await.map_err(unrecorded)?;
            let over: Vec<&Run> = page.iter().filter(|run| run.ended_at.is_some()).collect();
            for some in over.chunks(AT_ONCE) {
                let works = some.iter().map(|run| -> BoxFuture<'_, _> {
                    Box::pin(self.settle_late(&run.invocation_id))
                });
                TaskSet::new(works).all().await.into_iter().collect::<Result<(), Stop>>()?;
            }
            match page.last().filter(|_| page.len() == PAGE) {
                Some(last) => filter.before = Some(last.invocation_id.clone()),
                None => return Ok(()),
            }
        }
    }

    /// Looks up one unknown effect and records what the backend says.
    async fn settle_late(&self, id: &InvocationId) -> Result<(), Stop> {
        let history = self.history(id).await?;
        let now = self.clock.time();
        let due = |until: &DualTime| until.is_past(&now) && !until.later(LOOKED_FOR).is_past(&now);
        let Some(until) = history.until().filter(due) else { return Ok(()) };
        let start = &history.start;
        let call = Call::new(start.actor.clone(), start.requested.clone(), Value::Null);
        // A pipeline that records nothing, to rebuild the plan.
        let mut context = CallContext::begin(self, &call, new_id());
        let reached = Reached::default();
        let planned = context.restore_plan(&history, &reached, id, history.ran()).await;
        let Ok(planned) = planned else { return Ok(()) };
        let key = history.intent().map_or_else(|| backend_key(&[id.as_str()]), |intent| intent.key);
        let became = self.became(id, &key, &planned, Some(&until)).await;
        let Some((became, answer)) = became else { return Ok(()) };
        let effect = match became {
            Became::Committed(_) => EffectState::Committed,
            Became::Absent => EffectState::NotCommitted,
            Became::Possible(_) => return Ok(()),
        };
        self.learned(id, planned.call(), effect, &answer.invocation_id).await
    }
}
