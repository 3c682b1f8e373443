//! Conformance suite for drivers: runs cases under cancellation, timeout and failed submission, and
//! lists the breaches.
//!
//! [`check`] runs each case several times: cancelled before the start and shortly after it, past
//! its deadline before the start and shortly after it, with its submission refused or expired, and
//! undisturbed. [`check_clearance`] lets the clearance expire at each check in turn. [`hardened`]
//! runs cases with hostile backends, and [`examples`] runs the examples of contracts.

mod examples;
mod hostile;
pub mod left;
mod round;

use std::time::Duration;

use haft_model::{Code, Plan};
use haft_policy::Permit;

use crate::{Driver, Failure, Output};
pub use examples::{Sample, examples};
pub use hostile::{Hostile, Ill, hardened};
use round::{Round, RoundReport, SubmitReply};

/// Grace period: how long a driver may run after cancellation or its deadline.
pub const SOON: Duration = Duration::from_secs(2);

/// Delay of "shortly after": long enough to start, too short for slow work to finish.
const SHORTLY: Duration = Duration::from_millis(20);

/// Deadline of an undisturbed case.
const PATIENCE: Duration = Duration::from_secs(8);

/// One call of the suite. The suite runs it more than once, so it has to be repeatable.
#[derive(Clone, Copy)]
pub struct ConformanceCase<'a> {
    /// Name of the case in breaches.
    pub name: &'a str,
    /// Plan of the call.
    pub plan: &'a Plan,
    /// Permit for the plan.
    pub permit: &'a Permit,
    /// Greatest size of the output as JSON, in bytes.
    pub most_bytes: usize,
    /// Counts how often the effect happened; `None` if that cannot be observed.
    pub effects: Option<&'a (dyn Fn() -> usize + Sync)>,
}

/// Breach of a driver's obligations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Name of the case.
    pub case: String,
    /// Name of the round.
    pub round: &'static str,
    /// What happened, in one line.
    pub what: String,
}

/// Checks a driver's obligations and lists the breaches.
///
/// - The driver ends soon after cancellation, and soon after its deadline.
/// - A driver that reports its submission does so once, before its effect, and has none where the
///   submission could not be recorded.
/// - The driver has no effect once its clearance has expired.
/// - The effect state agrees with the reported submission and with the error code.
/// - The output is no larger than the case allows.
pub async fn check(driver: &dyn Driver, cases: &[ConformanceCase<'_>]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for case in cases {
        for (name, round) in rounds() {
            let seen = round::carry_out(driver, case, round, None).await;
            let found = judge(driver, case, round, &seen);
            breaches.extend(found.into_iter().map(|what| Breach {
                case: case.name.to_owned(),
                round: name,
                what,
            }));
        }
    }
    breaches
}

/// Greatest number of clearance checks that expire in turn.
const MOST_CHECKS: usize = 8;

/// Checks the last clearance check: a process that was suspended after its submission, at any
/// point, sends nothing. The clearance passes the check of [`crate::Link::submit`], and in each
/// round one more, until the driver succeeds.
pub async fn check_clearance(driver: &dyn Driver, cases: &[ConformanceCase<'_>]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let name = "clearance expires";
    for case in cases {
        for passes in 1..=MOST_CHECKS {
            let answer = SubmitReply::Expires(passes);
            let round = Round { answer, cancel: None, deadline: PATIENCE };
            let seen = round::carry_out(driver, case, round, None).await;
            let mut found = judge(driver, case, round, &seen);
            let withheld = seen.was_withheld(answer);
            if passes == 1 && seen.submissions > 0 && !withheld {
                found.push("it did not check its clearance before it sent".to_owned());
            }
            breaches.extend(found.into_iter().map(|what| Breach {
                case: case.name.to_owned(),
                round: name,
                what,
            }));
            if !withheld {
                break;
            }
        }
    }
    breaches
}

fn rounds() -> [(&'static str, Round); 7] {
    let alone = Round { answer: SubmitReply::Recorded, cancel: None, deadline: PATIENCE };
    [
        ("called off before", Round { cancel: Some(Duration::ZERO), ..alone }),
        ("too late", Round { deadline: Duration::ZERO, ..alone }),
        ("submission refused", Round { answer: SubmitReply::Refused, ..alone }),
        ("clearance expired", Round { answer: SubmitReply::Expires(0), ..alone }),
        ("called off", Round { cancel: Some(SHORTLY), ..alone }),
        ("out of time", Round { deadline: SHORTLY, ..alone }),
        ("left alone", alone),
    ]
}

fn judge(
    driver: &dyn Driver,
    case: &ConformanceCase<'_>,
    round: Round,
    seen: &RoundReport,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut breach = |broken: bool, what: String| {
        if broken {
            found.push(what);
        }
    };
    breach(seen.before_submission, "the effect was there before the submission".to_owned());
    breach(seen.submissions > 1, format!("it submitted {} times", seen.submissions));
    breach(seen.panicked, "it panicked".to_owned());
    let Some(result) = &seen.result else {
        breach(!seen.panicked, format!("it did not end within {} ms", SOON.as_millis()));
        return found;
    };
    let effect = match result {
        Ok(output) => output.effect,
        Err(failure) => failure.effect,
    };
    let reports = driver.reports_submission(case.plan);
    let silent = reports && seen.submissions == 0;
    let refused = round.answer == SubmitReply::Refused && seen.submissions > 0;
    breach(
        silent && (effect.may_have_happened() || seen.effects > 0),
        format!("it had an effect, `{effect}`, and submitted nothing"),
    );
    breach(
        refused && (effect.may_have_happened() || seen.effects > 0 || result.is_ok()),
        format!("it went on to `{effect}` although its submission was not recorded"),
    );
    let withheld = seen.was_withheld(round.answer);
    breach(
        withheld && (effect.may_have_happened() || seen.effects > 0 || result.is_ok()),
        format!("it went on to `{effect}` although its clearance had expired"),
    );
    let submitted = seen.submissions > 0 && !refused;
    breach(
        submitted && effect == haft_model::EffectState::NotSubmitted,
        "it submitted and then said that it had not".to_owned(),
    );
    match result {
        Ok(output) => found.extend(too_large(output, case.most_bytes)),
        Err(failure) => found.extend(contradiction(failure, seen)),
    }
    found
}

fn too_large(output: &Output, most: usize) -> Option<String> {
    let value = output.structured.as_ref().map_or(0, |value| value.to_string().len());
    let pieces = output.content.iter().map(|piece| haft_model::canonical(piece).len());
    let size = value + pieces.sum::<usize>();
    (size > most).then(|| format!("its output has {size} bytes, and {most} are allowed"))
}

/// Reports a failure whose code contradicts its effect state.
fn contradiction(failure: &Failure, seen: &RoundReport) -> Option<String> {
    let (code, effect) = (failure.stop.code, failure.effect);
    if failure.stop.message.lines().count() != 1 {
        return Some("its failure is not told in one line".to_owned());
    }
    if code == Code::TimeoutBeforeSubmit && effect.may_have_happened() {
        return Some(format!("it failed with `{code}` and the effect `{effect}`"));
    }
    let happened = seen.effects > 0 && !effect.may_have_happened();
    happened.then(|| format!("its effect can be seen, and it says `{effect}`"))
}

#[cfg(test)]
mod tests;
