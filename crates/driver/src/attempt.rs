//! One attempt at a permitted call.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use haft_model::{Plan, Stop, TRACEPARENT, TRACESTATE, Trace};
use haft_policy::{Permit, TargetGuard};
use serde_json::Value;

use crate::{Abilities, Allowance, Cancel, Link, Safe, Vault};

/// Everything a driver is given. There is none without a permit for its plan.
#[derive(Debug)]
pub struct Attempt<'a> {
    /// The plan that was judged.
    pub plan: &'a Plan,
    /// The input as the backend names its fields.
    pub input: Cow<'a, Value>,
    /// The key that the call is known by at the backend, the same in every attempt.
    pub key: Option<String>,
    /// Which attempt at it, from 1.
    pub number: u32,
    /// When it has to be over.
    pub deadline: Instant,
    /// The same as time that stands still while people are asked on its behalf.
    pub time: Allowance,
    /// Fires when it is to be called off.
    pub cancel: Cancel,
    /// The way back to the caller while it runs.
    pub link: Link,
    /// The secrets that it may open.
    pub safe: Safe<'a>,
    /// What whoever called can be asked through the link.
    pub abilities: Abilities,
    /// The trace that it is a part of, for the backend.
    pub trace: Option<Trace>,
    /// What it must not meet, and what it was judged by.
    pub guard: TargetGuard,
    permit: &'a Permit,
}

impl<'a> Attempt<'a> {
    /// An attempt, if the permit is for exactly this plan.
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

    /// The same, known to the backend by a key.
    pub fn known_by(self, key: Option<String>) -> Attempt<'a> {
        Attempt { key, ..self }
    }

    /// The same, with somewhere to open secrets.
    pub fn with(self, vault: Option<Arc<dyn Vault>>) -> Attempt<'a> {
        let safe = Safe::new(self.plan, self.link.clone(), vault);
        Attempt { safe, ..self }
    }

    /// The same, for a caller who can be asked things.
    pub fn asking(self, abilities: Abilities) -> Attempt<'a> {
        Attempt { abilities, ..self }
    }

    /// The same, with time that somebody else lets stand still.
    pub fn timed(self, time: Allowance) -> Attempt<'a> {
        Attempt { time, ..self }
    }

    /// The same, held against the rules while it runs.
    pub fn guarded(self, guard: TargetGuard) -> Attempt<'a> {
        Attempt { guard, ..self }
    }

    /// The same, as a part of a trace.
    pub fn traced(self, trace: Option<Trace>) -> Attempt<'a> {
        Attempt { trace, ..self }
    }

    /// What the backend is told of the trace: each name as the standard has it, with its value.
    pub fn trace_fields(&self) -> impl Iterator<Item = (&'static str, String)> {
        let trace = self.trace.as_ref();
        let parent = trace.map(|trace| (TRACEPARENT, trace.to_string()));
        let state = trace.and_then(|trace| Some((TRACESTATE, trace.state()?.to_owned())));
        parent.into_iter().chain(state)
    }

    /// The permit it runs under.
    pub fn permit(&self) -> &Permit {
        self.permit
    }
}
