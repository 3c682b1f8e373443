//! One way of carrying a case out, and what was seen of it.

use std::time::{Duration, Instant};

use haft_model::{Code, EffectState, Stop};

use super::{Case, SOON};
use crate::{Attempt, Cancel, Driver, Failure, Link, Output, Said};

/// How a case is carried out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// What a submission is answered with.
    pub(super) answer: Answer,
    /// After how long it is called off.
    pub(super) cancel: Option<Duration>,
    /// How much time it has.
    pub(super) deadline: Duration,
}

/// What a submission is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Recorded,
    Refused,
}

/// What was seen of a round.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// What came out; nothing if it did not end in time.
    pub(super) result: Option<Result<Output, Failure>>,
    /// How often it submitted.
    pub(super) submissions: usize,
    /// Whether the effect could be seen before the submission was answered.
    pub(super) before_submission: bool,
    /// How often the effect happened in this round, where that can be seen.
    pub(super) effects: usize,
}

/// Carries a case out once.
pub(super) async fn carry_out(driver: &dyn Driver, case: &Case<'_>, round: Round) -> Seen {
    let count = || case.effects.map_or(0, |effects| effects());
    let before = count();
    let mut seen = Seen::default();
    let cancel = Cancel::new();
    if round.cancel == Some(Duration::ZERO) {
        cancel.cancel();
    }
    let start = Instant::now();
    let over = start + round.deadline;
    let (link, mut heard) = Link::new();
    let attempt = Attempt::new(case.permit, case.plan, 1, over, cancel.clone(), link);
    let mut run = match attempt {
        Ok(attempt) => driver.run(attempt),
        Err(stop) => {
            seen.result = Some(Err(Failure::new(stop, EffectState::NotSubmitted)));
            return seen;
        }
    };
    let called_off = tokio::time::sleep(round.cancel.unwrap_or(round.deadline));
    let end = start + round.cancel.unwrap_or(round.deadline).min(round.deadline) + SOON;
    let too_long = tokio::time::sleep_until(end.into());
    tokio::pin!(called_off, too_long);
    loop {
        tokio::select! {
            result = &mut run => {
                seen.result = Some(result);
                break;
            }
            Some(said) = heard.recv() => match said {
                Said::Submit(answer) => {
                    seen.submissions += 1;
                    seen.before_submission |= count() > before;
                    let _ = answer.send(round.answer.given());
                }
                Said::Progress(_) | Said::Partial(_) | Said::CancelHeard => {}
            },
            () = &mut called_off, if round.cancel.is_some() && !cancel.is_cancelled() => {
                cancel.cancel();
            }
            () = &mut too_long => break,
        }
    }
    seen.effects = count().saturating_sub(before);
    seen
}

impl Answer {
    fn given(self) -> Result<(), Stop> {
        match self {
            Answer::Recorded => Ok(()),
            Answer::Refused => Err(Stop::new(Code::Internal, "the submission is not recorded")),
        }
    }
}
