//! Retry loop of one permitted call: retries only where the effect of the last attempt allows it.

use std::time::Duration;

use haft_driver::{BoxFuture, Failure, Output};
use haft_model::{
    AttemptEnded, Call, CauseDetail, Code, Digest, DriverId, DualTime, EffectState, Envelope,
    Event, IdempotencyMode, InvocationId, Plan, ResultStatus, Stop,
};
use haft_notation::{Condition, fill};
use serde_json::json;
use tokio::time::Instant;

use crate::context::CallContext;
use crate::idempotency::{Origin, backend_key};
use crate::permit::PermittedCall;
use crate::plan::{BoundPlan, PlannedCall};
use crate::retry::{self, Next, RetryKind};
use crate::runtime::called_off;
use crate::{CallOptions, Patience, Runtime};

/// Effect of a call by the contract's status operation.
pub(crate) enum Became {
    /// Committed, with this output.
    Committed(Box<Output>),
    /// Not committed, and it will not be.
    Absent,
    /// Unknown to the backend, and it may still commit until this time.
    Possible(DualTime),
}

impl CallContext<'_> {
    /// Runs a call by one driver until the deadline, in as many attempts as the contract's retry
    /// policy and the effect allow.
    pub(super) async fn attempts(
        &mut self,
        permitted: &PermittedCall,
        options: &CallOptions<'_>,
        until: Instant,
    ) -> Result<Output, Failure> {
        let limits = permitted.planned().plan.limits;
        let kind = kind(permitted);
        let first = self.attempts.number;
        // Whether the effect of an earlier attempt is unknown.
        let mut lost = false;
        loop {
            let mut failure = match self.execute(permitted, options, until).await {
                Ok(output) => return Ok(output),
                Err(failure) if lost => after_a_lost_one(failure),
                Err(failure) => failure,
            };
            let mut next = retry::next(&failure, kind, is_declared(permitted, &failure));
            lost = next == Next::AskStatus;
            if next == Next::AskStatus {
                match self.became(permitted.planned()).await {
                    Some(Became::Committed(output)) => return Ok(*output),
                    // People declined the form or let it expire; another attempt must not ask
                    // again.
                    Some(Became::Absent) if is_of_people(&failure) => {
                        return Err(Failure { effect: EffectState::NotCommitted, ..failure });
                    }
                    Some(Became::Possible(until)) if is_of_people(&failure) => {
                        return Err(possible(failure, &until));
                    }
                    None if is_of_people(&failure) => return Err(failure),
                    Some(Became::Absent) => {
                        lost = false;
                        failure = absent(failure);
                        next = Next::Again;
                    }
                    // The earlier attempt may still commit, so only an idempotent call is retried.
                    Some(Became::Possible(until)) => {
                        failure = possible(failure, &until);
                        next = if kind == RetryKind::Idempotent { Next::Again } else { Next::Stop };
                    }
                    // Without a status, only an idempotent call is retried.
                    None if kind == RetryKind::Idempotent => next = Next::Again,
                    None => next = Next::Stop,
                }
            }
            let made = self.attempts.number - first + 1;
            let Some(policy) = limits.retry.filter(|policy| made < policy.max_attempts) else {
                return Err(failure);
            };
            if next != Next::Again {
                return Err(failure);
            }
            let pause = retry::pause(policy, made + 1, &failure, self.jitter());
            // A backend may ask for any delay; the call keeps its own deadline.
            if Instant::now().checked_add(pause).is_none_or(|again| again >= until) {
                return Err(failure);
            }
            self.rest(pause, options, &failure).await?;
            if !self.another_fits(permitted).await {
                return Err(failure);
            }
            self.attempts.number += 1;
        }
    }

    /// Backoff before the next attempt, unless the call is cancelled meanwhile.
    async fn rest(
        &mut self,
        pause: Duration,
        options: &CallOptions<'_>,
        failure: &Failure,
    ) -> Result<(), Failure> {
        // Shows the attempts so far in the ledger.
        let _ = self.recorder.show(&self.runtime.options).await;
        let rested = self.in_sight(options, tokio::time::sleep(pause)).await;
        rested.ok_or_else(|| Failure::new(called_off("between two attempts"), failure.effect))
    }

    /// Queries the effect of a call through the contract's status operation. `None` where there is
    /// no such operation or it gives no clear answer.
    pub(crate) async fn became(&mut self, planned: &PlannedCall) -> Option<Became> {
        let (id, key, runtime) =
            (self.recorder.id().clone(), self.key(planned.origin()), self.runtime);
        let until = self.attempts.possible_until.clone();
        let asked = runtime.became(&id, &key, planned, until.as_ref());
        let (became, answer) = self.holding_on(asked).await?;
        self.attempts.looked_up |= matches!(became, Became::Committed(_));
        self.told(&became, &answer);
        Some(became)
    }

    /// Records the status answer and the id of the call that queried it.
    fn told(&mut self, became: &Became, answer: &Envelope) {
        let effect = match became {
            Became::Committed(_) => EffectState::Committed,
            Became::Absent => EffectState::NotCommitted,
            Became::Possible(_) => EffectState::Unknown,
        };
        let mut query = json!({ "source": "haft", "status_query": answer.invocation_id });
        if let (Became::Possible(until), Some(fields)) = (became, query.as_object_mut()) {
            fields.insert("absent_until".to_owned(), json!(until.at));
        }
        self.recorder.note(Event::AttemptEnded(Box::new(AttemptEnded {
            attempt: self.attempts.number,
            effect,
            code: None,
            native: vec![query],
        })));
    }

    /// Jitter from 0 to 1, so that calls that failed together do not retry together. It is derived
    /// from the random id, so that a call can be replayed.
    fn jitter(&self) -> f64 {
        let digest = Digest::of_parts(&[
            self.recorder.id().as_str().as_bytes(),
            &self.attempts.number.to_be_bytes(),
        ]);
        let bits = digest.half().unwrap_or_default() as u32;
        f64::from(bits) / f64::from(u32::MAX)
    }

    /// The idempotency key that the backend sees, the same in every attempt.
    pub(crate) fn key(&self, origin: &Origin) -> String {
        match &origin.intent {
            Some(intent) => intent.key.clone(),
            None => backend_key(&[self.recorder.id().as_str()]),
        }
    }
}

impl Runtime {
    /// Queries the effect of the call with this key, and returns it with the envelope of the query.
    /// `Absent` counts only if the query began after the deadline of the submission.
    pub(crate) async fn became(
        &self,
        id: &InvocationId,
        key: &str,
        planned: &BoundPlan,
        until: Option<&DualTime>,
    ) -> Option<(Became, Envelope)> {
        let status = planned.status.clone()?;
        let plan = &planned.plan;
        let scope = json!({
            "input": plan.input, "context": plan.context,
            "idempotency": { "key": key },
        });
        let input = fill(&status.input, &scope).ok()?;
        let mut question = Call::new(haft_model::Actor::clone(&plan.actor), status.tool, input);
        question.parent = Some(id.clone());
        question.pinned = self.witness(id, plan, &question.tool).await;
        let asked = self.clock.time();
        #[cfg(feature = "sabotage")]
        let until = until.filter(|_| !haft_ledger::sabotage::Mechanism::AbsentDeadline.is_off());
        let answer = self.ask_status(question).await;
        if answer.status != ResultStatus::Succeeded || answer.is_error {
            return None;
        }
        let output = answer.output().unwrap_or_default();
        let told = json!({ "output": output, "input": plan.input });
        let holds = |text: &Option<String>| {
            let condition = Condition::parse(text.as_deref()?, &["output", "input"]).ok()?;
            condition.holds(&told).ok()
        };
        let (committed, absent) = (holds(&status.committed), holds(&status.absent));
        let became = match (committed, absent) {
            (Some(true), None | Some(false)) => {
                let adopted = fill(&status.output, &told).ok()?;
                Became::Committed(Box::new(Output::committed(adopted)))
            }
            (None | Some(false), Some(true)) => match until {
                Some(until) if !until.is_past(&asked) => Became::Possible(until.clone()),
                Some(_) | None => Became::Absent,
            },
            // Both conditions, or neither, is no answer.
            (_, _) => return None,
        };
        Some((became, answer))
    }

    /// The driver of the last attempt, if it serves the status operation too: another driver may
    /// use another backend, which does not know the call.
    async fn witness(&self, id: &InvocationId, plan: &Plan, status: &str) -> Option<DriverId> {
        let story = self.told(id, &plan.actor.tenant).await.ok();
        let attempt = story.and_then(|mut story| story.attempts.pop());
        let driver = attempt.map_or_else(|| plan.route.driver.clone(), |attempt| attempt.driver);
        let world = self.world();
        let mut bindings = world.snapshot.find(status)?.bindings.iter();
        let serves = bindings.any(|one| one.driver.id == driver && one.refused.is_none());
        serves.then_some(driver)
    }

    /// Makes the status call; it does not wait for approval.
    fn ask_status(&self, question: Call) -> BoxFuture<'_, Envelope> {
        let options = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
        Box::pin(self.call(question, options))
    }
}

/// The retry kind of the call: read, idempotent write or other write.
fn kind(permitted: &PermittedCall) -> RetryKind {
    let contract = &permitted.planned().entry.contract;
    let mode = contract.tool.extras.idempotency.as_ref().and_then(|spec| spec.mode);
    let harmless = contract.tool.idempotent || mode == Some(IdempotencyMode::Natural);
    match permitted.planned().plan.effects.may_mutate() {
        false => RetryKind::Read,
        true if harmless || permitted.planned().enforces_key => RetryKind::Idempotent,
        true => RetryKind::Write,
    }
}

/// Whether the attempt failed because people did not fill in a form.
fn is_of_people(failure: &Failure) -> bool {
    matches!(
        failure.stop.code,
        Code::ApprovalRejected | Code::ApprovalExpired | Code::ApprovalRequired
    )
}

/// Whether the contract declares the native error as retryable.
fn is_declared(permitted: &PermittedCall, failure: &Failure) -> bool {
    let native = failure.stop.cause.native();
    let errors = &permitted.planned().entry.contract.tool.extras.errors;
    errors.iter().any(|error| Some(error.code.as_str()) == native && error.retryable)
}

/// The failure of a call that the backend reports as not committed.
fn absent(failure: Failure) -> Failure {
    let stop = Stop::new(
        Code::DependencyUnavailable,
        format!("{}; the backend says that it did not take effect", failure.stop.message),
    );
    Failure { stop: stop.because(failure.stop.cause), effect: EffectState::NotCommitted, ..failure }
}

/// The failure of a call that may still commit until a time.
fn possible(failure: Failure, until: &DualTime) -> Failure {
    let stop = still_possible(failure.stop, until);
    Failure { stop, effect: EffectState::Unknown, ..failure }
}

/// Adds the deadline to the refusal of a call that its backend does not know yet.
pub(crate) fn still_possible(mut stop: Stop, until: &DualTime) -> Stop {
    stop.message = format!(
        "{}; the backend knows nothing of it, and it may still take effect until {}",
        stop.message, until.at
    );
    stop.cause.insert(CauseDetail::Until(until.at));
    stop.help("the same call, sent again after that, finds out what became of it")
}

/// The failure of an attempt that follows one with an unknown effect: the effect of the call stays
/// unknown, since the earlier attempt may have committed.
fn after_a_lost_one(failure: Failure) -> Failure {
    if failure.effect.may_have_happened() {
        return failure;
    }
    let mut stop = failure.stop;
    stop.message = format!("{}; the effect of the attempt before is unknown", stop.message);
    if stop.code == Code::TimeoutBeforeSubmit {
        stop.code = Code::TimeoutUnknownCommit;
    }
    Failure { stop, effect: EffectState::Unknown, ..failure }
}
