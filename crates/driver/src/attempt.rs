//! Attempt: one try at a permitted call, with its idempotency key, deadline and cancellation token.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use haft_model::{Plan, Stop, TRACEPARENT, TRACESTATE, Trace};
use haft_policy::{Permit, TargetGuard};
use serde_json::Value;

use crate::{Abilities, Allowance, Cancel, Link, Safe, Vault};

/// Everything that a driver receives. INVARIANT: no attempt exists without a permit for its plan.
#[derive(Debug)]
pub struct Attempt<'a> {
    /// The authorized plan.
    pub plan: &'a Plan,
    /// The input, with the backend's field names.
    pub input: Cow<'a, Value>,
    /// Idempotency key at the backend, the same in every attempt.
    pub key: Option<String>,
    /// Number of the attempt, from 1.
    pub number: u32,
    /// Deadline of the attempt.
    pub deadline: Instant,
    /// The same deadline, paused while people answer on the attempt's behalf.
    pub time: Allowance,
    /// Cancellation token.
    pub cancel: Cancel,
    /// Channel to the runtime while the attempt runs.
    pub link: Link,
    /// Secrets that the attempt may open.
    pub safe: Safe<'a>,
    /// What the caller can be asked through the link.
    pub abilities: Abilities,
    /// Trace context, for the backend.
    pub trace: Option<Trace>,
    /// Rules to check at the time of use, with the targets that were judged.
    pub guard: TargetGuard,
    permit: &'a Permit,
}

impl<'a> Attempt<'a> {
    /// Creates an attempt; an error if the permit is for another plan.
    pub fn new(
        permit: &'a Permit,
        plan: &'a Plan,
        number: u32,
        deadline: Instant,
        cancel: Cancel,
        link: Link,
    ) -> Result<Attempt<'a>, Stop> {
        if *permit.plan() != plan.digest {
            return Err(Stop::new(
                haft_model::Code::Internal,
                "the permit is for another plan, so nothing was run",
            ));
        }
        let input = plan.mapped();
        let safe = Safe::new(plan, link.clone(), None);
        let abilities = Abilities::default();
        let (key, trace) = (None, None);
        Ok(Attempt {
            plan,
            input,
            key,
            number,
            deadline,
            time: Allowance::until(deadline),
            cancel,
            link,
            safe,
            abilities,
            trace,
            guard: TargetGuard::default(),
            permit,
        })
    }

    /// Sets the idempotency key at the backend.
    pub fn known_by(self, key: Option<String>) -> Attempt<'a> {
        Attempt { key, ..self }
    }

    /// Sets the vault that opens secrets.
    pub fn with(self, vault: Option<Arc<dyn Vault>>) -> Attempt<'a> {
        let safe = Safe::new(self.plan, self.link.clone(), vault);
        Attempt { safe, ..self }
    }

    /// Sets what the caller can be asked.
    pub fn asking(self, abilities: Abilities) -> Attempt<'a> {
        Attempt { abilities, ..self }
    }

    /// Sets a deadline that the runtime can pause.
    pub fn timed(self, time: Allowance) -> Attempt<'a> {
        Attempt { time, ..self }
    }

    /// Sets the rules to check at the time of use.
    pub fn guarded(self, guard: TargetGuard) -> Attempt<'a> {
        Attempt { guard, ..self }
    }

    /// Sets the trace context.
    pub fn traced(self, trace: Option<Trace>) -> Attempt<'a> {
        Attempt { trace, ..self }
    }

    /// W3C trace context fields for the backend, by name.
    pub fn trace_fields(&self) -> impl Iterator<Item = (&'static str, String)> {
        let trace = self.trace.as_ref();
        let parent = trace.map(|trace| (TRACEPARENT, trace.to_string()));
        let state = trace.and_then(|trace| Some((TRACESTATE, trace.state()?.to_owned())));
        parent.into_iter().chain(state)
    }

    /// The permit that the attempt runs under.
    pub fn permit(&self) -> &Permit {
        self.permit
    }
}
