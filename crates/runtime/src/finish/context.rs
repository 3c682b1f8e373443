//! Context modifiers (phase 13): applies, defers or rejects what a driver changes for its caller.

use haft_model::{ContextGiven, ContextModified, ContextOutcome, ContextPolicy, Envelope, Event};
use serde_json::Value;

use super::Completion;
use crate::batch::DeferredModifiers;
use crate::context::CallContext;
use crate::pipeline::Reached;
use crate::plan::facts;

impl CallContext<'_> {
    /// Records what becomes of an output's modifiers and reports it to the caller. The effect
    /// stands in any case.
    pub(super) fn context_modifiers(&mut self, completion: &Completion, envelope: &mut Envelope) {
        let given = completion.output.as_ref().map(|output| output.context_modifiers.clone());
        let Some(mut modifiers) = given.filter(|given| !given.is_empty()) else { return };
        for modifier in &mut modifiers {
            self.privacy.redactor.everywhere(modifier);
        }
        let policy =
            self.request.scheduler_policy.as_ref().map(|policy| policy.context_modifier_policy);
        let policy = policy.unwrap_or(ContextPolicy::AllowSerialOnly);
        let (outcome, reason) = self.weigh_context(policy, completion);
        let bytes = serde_json::to_vec(&modifiers).unwrap_or_default();
        let kept = self.privacy.discretion.keep(&Value::Null, bytes);
        let fact = ContextModified {
            policy,
            outcome,
            count: modifiers.len() as u64,
            modifiers: self.recorder.keep(kept),
            reason: reason.to_owned(),
        };
        self.recorder.note(Event::ContextModified(Box::new(fact.clone())));
        let mut told = ContextGiven { outcome, reason: reason.to_owned(), modifiers: Vec::new() };
        match (outcome, self.recorder.membership()) {
            (ContextOutcome::Applied, _) => told.modifiers = modifiers,
            (ContextOutcome::Deferred, Some(membership)) => {
                membership.defer(DeferredModifiers { fact, modifiers })
            }
            (ContextOutcome::Deferred | ContextOutcome::Rejected, _) => {
                let words = format!("its context modifiers do not count: {reason}");
                envelope.warnings.push(words);
            }
        }
        envelope.context_modifiers = Some(told);
    }

    fn weigh_context(
        &self,
        policy: ContextPolicy,
        completion: &Completion,
    ) -> (ContextOutcome, &'static str) {
        use ContextOutcome::{Applied, Deferred, Rejected};
        if completion.error.is_some() {
            return (Rejected, "the call did not succeed");
        }
        match (policy, self.recorder.membership()) {
            (ContextPolicy::Forbid, _) => (Rejected, "the batch allows none"),
            (ContextPolicy::DeferUntilBatchComplete, Some(_)) => {
                (Deferred, "they wait for the end of the batch")
            }
            (ContextPolicy::DeferUntilBatchComplete, None) => {
                (Rejected, "its batch is gone, so its end cannot be awaited")
            }
            (ContextPolicy::AllowSerialOnly, None) => (Applied, "the call ran alone"),
            (ContextPolicy::AllowSerialOnly, Some(membership))
                if membership.alone || !is_safe(&completion.reached) =>
            {
                (Applied, "the call ran alone")
            }
            (ContextPolicy::AllowSerialOnly, Some(_)) => {
                (Rejected, "other calls of the batch could run beside it")
            }
        }
    }
}

/// Whether the call is concurrency-safe.
fn is_safe(reached: &Reached) -> bool {
    let known = reached.entry.as_ref().zip(reached.plan.as_ref());
    known.is_some_and(|(entry, plan)| facts(entry, &plan.input).is_concurrency_safe)
}
