//! Code driver: its bodies are functions of this program.

use std::any::Any;
use std::collections::HashMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;

use haft_driver::{Allowance, Attempt, BoxFuture, Cancel, Driver, Failure, Output};
use haft_model::{Code, EffectState, Plan, Stop, ToolId};
use serde_json::Value;

use super::body::{Args, JsonFunction, ToolFailure};

/// Grace period of a body after its cancellation.
const GRACE: Duration = Duration::from_secs(1);

/// Bodies by the id of the tool they are for.
pub(super) struct CodeDriver {
    pub(super) bodies: HashMap<ToolId, JsonFunction>,
}

impl Driver for CodeDriver {
    fn preflight(&self, plan: &Plan) -> Result<(), Stop> {
        match self.bodies.get(&plan.tool.id) {
            Some(body) => body.check(&plan.mapped()),
            None => Err(no_body(plan)),
        }
    }

    fn reports_submission(&self, plan: &Plan) -> bool {
        self.bodies.get(&plan.tool.id).is_some_and(|body| body.reports_submission)
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let plan = attempt.plan;
            let may_mutate = plan.effects.may_mutate();
            let Some(body) = self.bodies.get(&plan.tool.id) else {
                return Err(nothing_sent(no_body(plan), may_mutate));
            };
            let told = attempt.cancel.child_token();
            let work = body.run(Args {
                input: attempt.input.into_owned(),
                context: plan.context.clone(),
                cancel: told.clone(),
                link: attempt.link,
                deadline: attempt.deadline,
            });
            let ended = ended(work, &attempt.cancel, &attempt.time, &told).await;
            match ended {
                BodyOutcome::Done(Ok(value)) if may_mutate => Ok(Output::committed(value)),
                BodyOutcome::Done(Ok(value)) => Ok(Output::read(value)),
                BodyOutcome::Done(Err(failure)) => Err(failure.of_attempt(may_mutate)),
                BodyOutcome::Panicked(cause) => {
                    let message = format!("`{}` panicked: {cause}", plan.tool.id);
                    Err(ToolFailure::new(message).of_attempt(may_mutate))
                }
                BodyOutcome::Dropped(end) => Err(dropped(plan, end, may_mutate)),
            }
        })
    }
}

/// How a body ended.
enum BodyOutcome {
    /// The body returned.
    Done(Result<Value, ToolFailure>),
    /// The body panicked, with this message.
    Panicked(String),
    /// The body outlasted the grace period and was dropped.
    Dropped(StopReason),
}

/// Why a body had to stop.
#[derive(Clone, Copy)]
enum StopReason {
    CalledOff,
    OutOfTime,
}

async fn ended(
    mut work: BoxFuture<'static, Result<Value, ToolFailure>>,
    cancel: &Cancel,
    time: &Allowance,
    told: &Cancel,
) -> BodyOutcome {
    // A body may panic at any poll; the panic is caught and fails this call alone.
    let mut guarded =
        poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(Poll::Ready(done)) => Poll::Ready(BodyOutcome::Done(done)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => Poll::Ready(BodyOutcome::Panicked(said(&*panic))),
        });
    let end = tokio::select! {
        biased;
        done = &mut guarded => return done,
        () = cancel.cancelled() => StopReason::CalledOff,
        () = time.over() => StopReason::OutOfTime,
    };
    told.cancel();
    tokio::time::timeout(GRACE, guarded).await.unwrap_or(BodyOutcome::Dropped(end))
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no words".into())
}

fn dropped(plan: &Plan, end: StopReason, may_mutate: bool) -> Failure {
    let tool = &plan.tool.id;
    let stop = match (end, may_mutate) {
        (StopReason::CalledOff, _) => {
            Stop::new(Code::CanceledCaller, format!("`{tool}` was called off"))
        }
        (StopReason::OutOfTime, true) => Stop::new(
            Code::TimeoutUnknownCommit,
            format!("`{tool}` ran out of time, and may have changed something"),
        ),
        (StopReason::OutOfTime, false) => {
            Stop::new(Code::TimeoutUnknownCommit, format!("`{tool}` ran out of time"))
        }
    };
    ToolFailure::from(stop).of_attempt(may_mutate)
}

fn no_body(plan: &Plan) -> Stop {
    let Plan { tool, route, .. } = plan;
    let message = format!("`{}` has no body for `{}`", route.driver, tool.id);
    Stop::new(Code::DependencyUnavailable, message)
}

fn nothing_sent(stop: Stop, may_mutate: bool) -> Failure {
    ToolFailure::from(stop).effect(EffectState::NotSubmitted).of_attempt(may_mutate)
}
