//! One round of a conformance case: runs the driver, answers its messages and reports what
//! happened.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use haft_model::{Code, DualTime, EffectState, Stop, Timestamp};

use super::{ConformanceCase, SOON};
use crate::{
    Attempt, BoxFuture, Cancel, Clearance, Driver, DriverMessage, Failure, Link, Listener, Output,
    Vault,
};

/// Conditions of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Reply to a submission.
    pub(super) answer: SubmitReply,
    /// Time until cancellation; `None` for no cancellation.
    pub(super) cancel: Option<Duration>,
    /// Time until the deadline.
    pub(super) deadline: Duration,
}

/// Reply to a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubmitReply {
    Recorded,
    Refused,
    /// A clearance that passes this many checks and then expires, as in a process that was
    /// suspended.
    Expires(usize),
}

/// What a round observed.
#[derive(Debug, Default)]
pub(super) struct RoundReport {
    /// Result; `None` if the driver did not end in time.
    pub(super) result: Option<Result<Output, Failure>>,
    /// The driver panicked.
    pub(super) panicked: bool,
    /// Messages that the driver sent, as text.
    pub(super) said: Vec<String>,
    /// Number of submissions.
    pub(super) submissions: usize,
    /// The effect happened before the submission was answered.
    pub(super) before_submission: bool,
    /// Number of clearance checks, with an expiring clearance.
    pub(super) checks: Arc<AtomicUsize>,
    /// Number of effects in this round, where they can be observed.
    pub(super) effects: usize,
}

/// Runs a case once.
pub(super) async fn carry_out(
    driver: &dyn Driver,
    case: &ConformanceCase<'_>,
    round: Round,
    vault: Option<Arc<dyn Vault>>,
) -> RoundReport {
    let count = || case.effects.map_or(0, |effects| effects());
    let before = count();
    let cancel = Cancel::new();
    if round.cancel == Some(Duration::ZERO) {
        cancel.cancel();
    }
    let (link, heard) = Link::new();
    let over = Instant::now() + round.deadline;
    let attempt = Attempt::new(case.permit, case.plan, 1, over, cancel.clone(), link);
    let mut seen = match attempt {
        Ok(attempt) => {
            let run = Box::pin(async move { driver.run(attempt.with(vault)).await });
            round.attend(run, heard, &cancel, &|| count() > before).await
        }
        Err(stop) => {
            let failure = Failure::new(stop, EffectState::NotSubmitted);
            RoundReport { result: Some(Err(failure)), ..RoundReport::default() }
        }
    };
    seen.effects = count().saturating_sub(before);
    seen
}

impl Round {
    /// Answers the driver's messages and cancels it when the round says so, until it ends.
    async fn attend(
        self,
        mut run: BoxFuture<'_, Result<Output, Failure>>,
        mut heard: Listener,
        cancel: &Cancel,
        happened: &(dyn Fn() -> bool + Sync),
    ) -> RoundReport {
        let mut seen = RoundReport::default();
        let end = self.cancel.unwrap_or(self.deadline);
        let (called_off, too_long) = (tokio::time::sleep(end), tokio::time::sleep(end + SOON));
        tokio::pin!(called_off, too_long);
        loop {
            tokio::select! {
                result = careful(&mut run) => {
                    (seen.panicked, seen.result) = (result.is_none(), result);
                    while let Some(said) = heard.unheard() {
                        self.hear(said, &mut seen, happened);
                    }
                    return seen;
                }
                said = heard.next() => self.hear(said, &mut seen, happened),
                () = &mut called_off, if self.cancel.is_some() && !cancel.is_cancelled() => {
                    cancel.cancel();
                }
                () = &mut too_long => return seen,
            }
        }
    }

    fn hear(
        self,
        said: DriverMessage,
        seen: &mut RoundReport,
        happened: &(dyn Fn() -> bool + Sync),
    ) {
        match said {
            DriverMessage::Submit(answer) => {
                seen.submissions += 1;
                seen.before_submission |= happened();
                let _ = answer.send(self.answer.given(&seen.checks));
            }
            DriverMessage::Wanted { reply, .. } => drop(reply.send(Ok(()))),
            DriverMessage::Progress(progress) => seen.said.push(format!("{progress:?}")),
            DriverMessage::Partial(content) => seen.said.push(format!("{content:?}")),
            // Dropping a request means that it gets no answer.
            DriverMessage::Hide(_)
            | DriverMessage::CancelHeard
            | DriverMessage::Ask { .. }
            | DriverMessage::Backgrounded
            | DriverMessage::Remark(_) => {}
        }
    }
}

/// Result of the run; `None` if it panics.
async fn careful(
    run: &mut BoxFuture<'_, Result<Output, Failure>>,
) -> Option<Result<Output, Failure>> {
    std::future::poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(context)));
        match polled {
            Ok(polled) => polled.map(Some),
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}

impl SubmitReply {
    fn given(self, checks: &Arc<AtomicUsize>) -> Result<Clearance, Stop> {
        match self {
            SubmitReply::Recorded => Ok(Clearance::default()),
            SubmitReply::Expires(passes) => {
                let (checks, expiry) = (Arc::clone(checks), DualTime::from(Timestamp::UNIX_EPOCH));
                Ok(Clearance::until(expiry, move || {
                    let passed = checks.fetch_add(1, Ordering::SeqCst) < passes;
                    let now = if passed { Timestamp::MIN } else { Timestamp::MAX };
                    DualTime::from(now)
                }))
            }
            SubmitReply::Refused => {
                Err(Stop::new(Code::Internal, "the submission is not recorded"))
            }
        }
    }
}

impl RoundReport {
    /// Returns true if a clearance check failed.
    pub(super) fn was_withheld(&self, answer: SubmitReply) -> bool {
        match answer {
            SubmitReply::Expires(passes) => self.checks.load(Ordering::SeqCst) > passes,
            SubmitReply::Recorded | SubmitReply::Refused => false,
        }
    }
}
