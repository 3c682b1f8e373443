//! Cancellation from outside the batch: interrupts by the caller, and discards of single calls.

use std::sync::atomic::Ordering;

use haft_driver::Cancel;
use haft_model::{Event, InterruptBehavior, Reported};

use super::{BatchScheduler, CallStage, Member};
use crate::batch::membership::DeferredModifiers;

/// Stage of a call at the moment of its discard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::batch) enum Caught {
    /// Before its driver could be reached.
    Waiting,
    /// Running, and not submitted.
    Running,
    /// Submitted: its effect may have happened.
    Submitted,
    /// Pending in the approval inbox.
    Asking,
    /// Ended with a result.
    Over,
}

impl BatchScheduler {
    /// The cancellation handle that a call observes as its caller's.
    pub(in crate::batch) fn caller(&self, index: usize) -> Cancel {
        self.members().get(index).map(|member| member.caller.clone()).unwrap_or_default()
    }

    /// Interrupts the batch: a call that has not started is cancelled; one that runs is cancelled
    /// only under `InterruptBehavior::Cancel`.
    pub(in crate::batch) fn interrupted(&self) {
        let members = self.members();
        self.interrupted.store(true, Ordering::Relaxed);
        for member in members.iter().filter(|member| member.stage != CallStage::Over) {
            match self.interrupt {
                InterruptBehavior::Block if member.started || member.cleared => {}
                InterruptBehavior::Block | InterruptBehavior::Cancel => member.caller.cancel(),
            }
        }
    }

    /// Whether a call that holds its turn may reach its driver. After `true`, a cancellation has to
    /// go through the driver.
    pub(in crate::batch) fn clear(&self, index: usize) -> bool {
        let mut members = self.members();
        let Some(member) = members.get_mut(index) else { return false };
        member.cleared = member.discarded.is_none()
            && member.taken_by.is_none()
            && !self.interrupted.load(Ordering::Relaxed);
        member.cleared
    }

    /// Discards a call. A submitted call keeps running, since its effect may have happened.
    pub(in crate::batch) fn discard(&self, index: usize, reason: &str) -> Option<Caught> {
        let mut members = self.members();
        let member = members.get_mut(index)?;
        let caught = match member {
            Member { stage: CallStage::Over, asks: true, .. } => Caught::Asking,
            Member { stage: CallStage::Over, .. } => Caught::Over,
            Member { submitted: true, .. } => Caught::Submitted,
            Member { started: true, .. } | Member { cleared: true, .. } => Caught::Running,
            Member { .. } => Caught::Waiting,
        };
        if !matches!(caught, Caught::Asking | Caught::Over) {
            member.discarded.get_or_insert_with(|| reason.to_owned());
        }
        if matches!(caught, Caught::Waiting | Caught::Running)
            && let Some(wish) = &member.wish
        {
            wish.cancel();
        }
        Some(caught)
    }

    /// Reason of the discard, if the call was discarded.
    pub(in crate::batch) fn discarded(&self, index: usize) -> Option<String> {
        self.members().get(index).and_then(|member| member.discarded.clone())
    }

    /// Observes an event that is recorded for a call.
    pub(in crate::batch) fn noted(&self, index: usize, event: &Event) {
        let mut members = self.members();
        let Some(member) = members.get_mut(index) else { return };
        match event {
            Event::Started(_) => member.started = true,
            Event::Submitted(_) => member.submitted = true,
            Event::Yielded(_) => member.yielded = true,
            _ => {}
        }
    }

    /// Whether the record of a call says that its result was yielded.
    pub(in crate::batch) fn has_yielded(&self, index: usize) -> bool {
        self.members().get(index).is_some_and(|member| member.yielded)
    }

    /// Defers context modifiers to the end of the batch.
    pub(in crate::batch) fn defer(&self, index: usize, deferred: DeferredModifiers) {
        if let Some(member) = self.members().get_mut(index) {
            member.deferred = Some(deferred);
        }
    }

    /// Takes the deferred context modifiers, in request order.
    pub(in crate::batch) fn take_deferred(&self) -> Vec<(usize, DeferredModifiers)> {
        let mut members = self.members();
        let taken = members.iter_mut().map(|member| member.deferred.take()).enumerate();
        taken.filter_map(|(index, deferred)| Some((index, deferred?))).collect()
    }

    /// Queues progress reports of a call for the result stream.
    pub(in crate::batch) fn told(&self, index: usize, reports: Vec<Reported>) {
        self.reports().extend(reports.into_iter().map(|report| (index, report)));
    }
}
