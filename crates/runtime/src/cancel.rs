//! Cancellation of a call: records the request first, then signals the process that runs the call.

use haft_ledger::{Draft, Guard, RunFilter, Wait};
use haft_model::{
    AbortReason, Actor, CancelRequested, Code, Event, Fact, InvocationId, Status, Stop,
};

use crate::people::may_change;
use crate::recorder::unrecorded;
use crate::{Reader, Runtime};

/// Outcome of a cancellation request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelAnswer {
    /// The call runs or waits in this or another process, which sees the request.
    Told,
    /// No process held the call; it is cancelled now.
    Over,
}

impl Runtime {
    /// Requests cancellation of a call and records the request first. Only the call's actor or a
    /// person of its tenant may do it, and no auditor; a call that has ended is a conflict.
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
            // The call ended between the read and the append, which is no fault of the store.
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

    /// Whether the ledger holds a cancellation request for the call.
    pub(crate) async fn cancel_requested(&self, id: &InvocationId) -> Result<bool, Stop> {
        let entries = self.store.story(id).await.map_err(unrecorded)?;
        for entry in &entries {
            // A text search comes first: most entries are other events, and some only mention it.
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
