//! Wishes about calls of a batch that come from outside it: interrupted, or superseded.

use std::sync::atomic::Ordering;

use haft_driver::Cancel;
use haft_model::{Event, InterruptBehavior, Reported};

use super::{CallStage, Course, Member};
use crate::batch::seat::DeferredModifiers;

/// Where a call was when nobody wanted it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::batch) enum Caught {
    /// Before it began.
    Waiting,
    /// While it ran, and before its effect could begin.
    Running,
    /// After its effect may have begun.
    Submitted,
    /// After it was left to people.
    Asking,
    /// After its end.
    Over,
}

impl Course {
    /// What a call takes for its caller's wish.
    pub(in crate::batch) fn caller(&self, index: usize) -> Cancel {
        self.members().get(index).map(|member| member.caller.clone()).unwrap_or_default()
    }

    /// The caller wants no more: what has not begun does not begin, and what runs is told so only
    /// where the batch wants that.
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

    /// Whether a call that has its turn may reach its driver. Whoever wants it to stop from here on
    /// has to tell the driver.
    pub(in crate::batch) fn clear(&self, index: usize) -> bool {
        let mut members = self.members();
        let Some(member) = members.get_mut(index) else { return false };
        member.cleared = member.discarded.is_none()
            && member.taken_by.is_none()
            && !self.interrupted.load(Ordering::Relaxed);
        member.cleared
    }

    /// Nobody wants a call any more. What may have changed something is left alone.
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

    /// Why nobody wants a call any more, if so.
    pub(in crate::batch) fn discarded(&self, index: usize) -> Option<String> {
        self.members().get(index).and_then(|member| member.discarded.clone())
    }

    /// Hears what goes on record about a call.
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

    /// Whether it stands in the record of a call that its result was handed over.
    pub(in crate::batch) fn has_yielded(&self, index: usize) -> bool {
        self.members().get(index).is_some_and(|member| member.yielded)
    }

    /// Keeps context modifiers until the batch is over.
    pub(in crate::batch) fn defer(&self, index: usize, deferred: DeferredModifiers) {
        if let Some(member) = self.members().get_mut(index) {
            member.deferred = Some(deferred);
        }
    }

    /// What was kept, in the order of the request.
    pub(in crate::batch) fn take_deferred(&self) -> Vec<(usize, DeferredModifiers)> {
        let mut members = self.members();
        let taken = members.iter_mut().map(|member| member.deferred.take()).enumerate();
        taken.filter_map(|(index, deferred)| Some((index, deferred?))).collect()
    }

    /// Hears how far a call is.
    pub(in crate::batch) fn told(&self, index: usize, reports: Vec<Reported>) {
        self.reports().extend(reports.into_iter().map(|report| (index, report)));
    }
}
