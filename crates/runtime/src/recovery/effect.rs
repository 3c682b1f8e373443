//! What became of an effect that had begun when its process died, or of which nothing was known at the
//! end of its call: what the backend says, once it is too late for another answer.

use std::time::Duration;

use haft_driver::{BoxFuture, Failure};
use haft_ledger::{Run, RunFilter};
use haft_model::{Call, Code, DualTime, EffectState, InvocationId, Stop};
use serde_json::Value;

use super::past::Past;
use super::{AT_ONCE, PAGE, RecoveryResult};
use crate::Runtime;
use crate::batch::Crew;
use crate::execute::{Became, still_possible};
use crate::idempotency::backend_key;
use crate::pipeline::{CallPipeline, Halt, new_id};
use crate::recorder::unrecorded;

/// How long an effect of which nothing is known is looked for.
const LOOKED_FOR: Duration = Duration::from_secs(60 * 60);

impl CallPipeline<'_> {
    /// What became of an effect that had begun when the process died: what the backend says, else
    /// nobody knows.
    pub(super) async fn found_out(&mut self, past: &Past, id: &InvocationId) -> RecoveryResult {
        // The attempt that was under way is the last one there was.
        self.attempt = past.attempts();
        #[cfg(feature = "sabotage")]
        if haft_ledger::sabotage::Mechanism::RecoveryLookup.is_off() {
            let stop = Stop::new(Code::DependencyUnavailable, "nothing was looked up");
            return Err(Halt::Stopped(Box::new(Failure::new(stop, EffectState::NotCommitted))));
        }
        let became = match self.as_it_was(past, id, past.ran()).await {
            Ok((_, understood)) => {
                self.plan = Some(understood.plan.clone());
                let possible_for = self.runtime.possible_for(&understood);
                self.possible_until = past.until_or_after(possible_for);
                self.became(&understood).await
            }
            Err(_) => None,
        };
        let failed = |stop: Stop, effect| Err(Halt::Stopped(Box::new(Failure::new(stop, effect))));
        let died = "the process died after the effect had begun";
        match became {
            Some(Became::Committed(output)) => Ok(output),
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
                let words = format!("{died}; nobody knows what became of it");
                let help = format!("look at the backend, and tell with `haft settle {id}`");
                failed(Stop::new(Code::ExecutionFailed, words).help(help), EffectState::Unknown)
            }
        }
    }
}

impl Runtime {
    /// Looks again at effects of which nothing is known, once they can no longer take place by
    /// themselves. What cannot be found out now is looked at the next time, for an hour.
    pub(super) async fn look_again(&self) -> Result<(), Stop> {
        let mut filter = RunFilter { unknown: true, most: PAGE, ..RunFilter::default() };
        loop {
            let page = self.store.runs(&filter).await.map_err(unrecorded)?;
            let over: Vec<&Run> = page.iter().filter(|run| run.ended_at.is_some()).collect();
            for some in over.chunks(AT_ONCE) {
                let works = some.iter().map(|run| -> BoxFuture<'_, _> {
                    Box::pin(self.settled_late(&run.invocation_id))
                });
                Crew::new(works).all().await.into_iter().collect::<Result<(), Stop>>()?;
            }
            match page.last().filter(|_| page.len() == PAGE) {
                Some(last) => filter.before = Some(last.invocation_id.clone()),
                None => return Ok(()),
            }
        }
    }

    /// Asks once more about one effect, and puts what the backend says on record.
    async fn settled_late(&self, id: &InvocationId) -> Result<(), Stop> {
        let past = self.past(id).await?;
        let now = self.clock.time();
        let due = |until: &DualTime| until.is_past(&now) && !until.later(LOOKED_FOR).is_past(&now);
        let Some(until) = past.until().filter(due) else { return Ok(()) };
        let planned = &past.planned;
        let call = Call::new(planned.actor.clone(), planned.requested.clone(), Value::Null);
        // A walk that leaves nothing behind, to understand the call as it was.
        let mut walk = CallPipeline::begin(self, &call, new_id());
        let understood = walk.as_it_was(&past, id, past.ran()).await;
        let Ok((call, understood)) = understood else { return Ok(()) };
        let key = past.intent().map_or_else(|| backend_key(&[id.as_str()]), |intent| intent.key);
        let became = self.became(id, &key, &understood, Some(&until)).await;
        let Some((became, answer)) = became else { return Ok(()) };
        let effect = match became {
            Became::Committed(_) => EffectState::Committed,
            Became::Absent => EffectState::NotCommitted,
            Became::Possible(_) => return Ok(()),
        };
        self.learned(id, &call, effect, &answer.invocation_id).await
    }
}
