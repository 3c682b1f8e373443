//! Cancellation of a call: records the request first, then signals the process that runs the call.

use haft_ledger::{Draft, Guard, RunFilter, Wait};
use haft_model::{
    AbortReason, Actor, CancelRequested, Code, Event, Fact, InvocationId, Status, Stop,
};

use crate::people::may_change;
use crate::recorder::unrecorded;
use crate::{Reader, Runtime};

/// What is known right after somebody asked for a call to be called off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelAnswer {
    /// It runs or waits in this or another process, which was told.
    Told,
    /// Nobody ran it; it is over now.
    Over,
}

impl Runtime {
    /// Asks for a call to be called off. The wish is put on record first.
    pub async fn cancel(&self, id: &InvocationId, by: &Actor) -> Result<CancelAnswer, Stop> {
        let filter = RunFilter { id: Some(id.clone()), ..RunFilter::default() };
        let runs = self.store.runs(&filter).await.map_err(unrecorded)?;
        let run = runs.into_iter().next().filter(|run| run.tenant == *by.tenant);
        let run = run.ok_or_else(|| {
            Stop::new(Code::ResourceNotFound, format!("there is no call `{id}`"))
                .help("`haft runs` lists those that there are")
        })?;
        may_change(by)?;
        if run.actor != by.id.as_str() && !by.is_person() {
            return Err(Stop::new(
                Code::PermissionDenied,
                format!("`{}` may not call off what `{}` called", by.id, run.actor),
            ));
        }
        if run.status.is_terminal() {
            return Err(Stop::new(
                Code::Conflict,
                format!("`{id}` has ended already, as {}", run.status),
            ));
        }
        let fact = Fact {
            at: self.clock.now(),
            phases: Vec::new(),
            event: Event::CancelRequested(CancelRequested {
                by: by.id.clone(),
                reason: AbortReason::UserInterruption,
            }),
        };
        let draft = Draft {
            invocation: Some(id.clone()),
            actor: Some(by.clone()),
            facts: vec![fact],
            guards: vec![Guard::NotEnded],
            ..Draft::default()
        };
        self.store.append(draft, Wait::Disk).await.map_err(|fault| match fault {
            // It ended between the look and the wish, which is no fault of the store.
            haft_ledger::Error::Forbidden(_) => {
                Stop::new(Code::Conflict, format!("`{id}` has ended already"))
            }
            fault => unrecorded(fault),
        })?;
        if let Some(cancel) = self.running().get(id) {
            cancel.cancel();
            return Ok(CancelAnswer::Told);
        }
        match run.status {
            Status::AwaitingApproval => match self.end_waiting(id).await? {
                true => Ok(CancelAnswer::Over),
                false => Ok(CancelAnswer::Told),
            },
            _ => Ok(CancelAnswer::Told),
        }
    }

    /// Whether somebody asked for a call to be called off.
    pub(crate) async fn cancel_requested(&self, id: &InvocationId) -> Result<bool, Stop> {
        let entries = self.store.story(id).await.map_err(unrecorded)?;
        for entry in &entries {
            // A cheap look first: most entries are something else, and some only speak of it.
            if entry.line.contains("haft.cancel.requested")
                && Reader::facts(entry)?
                    .iter()
                    .any(|fact| matches!(fact.event, Event::CancelRequested(_)))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
