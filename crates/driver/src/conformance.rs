//! What every driver owes to whoever runs it, as a suite that the tests of a driver call.
//!
//! [`check`] carries each case out several times: called off before it starts and shortly after, with
//! its time over before it starts and shortly after, with its submission refused or expired, and left
//! alone. [`check_clearance`] lets the clearance expire at each check in turn.
//! [`hardened`] carries out cases whose backends do not behave, and [`examples`] those of contracts.

mod examples;
mod hostile;
pub mod left;
mod round;

use std::time::Duration;

use haft_model::{Code, Plan};
use haft_policy::Permit;

use crate::{Driver, Failure, Output};
pub use examples::{Sample, differs, examples};
pub use hostile::{Hostile, Ill, hardened};
use round::{Round, RoundReport, SubmitReply};

/// What "soon" means: how long a driver may go on once it was called off or its time is over.
pub const SOON: Duration = Duration::from_secs(2);

/// What "shortly after" means: enough to get going and, for slow work, not enough to finish.
const SHORTLY: Duration = Duration::from_millis(20);

/// How long a case may take when it is left alone.
const PATIENCE: Duration = Duration::from_secs(8);

/// One call to hold a driver to. It is carried out more than once, so it has to bear that.
#[derive(Clone, Copy)]
pub struct ConformanceCase<'a> {
    /// What breaches call it.
    pub name: &'a str,
    /// The call.
    pub plan: &'a Plan,
    /// The permit for it.
    pub permit: &'a Permit,
    /// How many bytes its value may have as JSON.
    pub most_bytes: usize,
    /// How often its effect can be seen to have happened, if that can be seen.
    pub effects: Option<&'a (dyn Fn() -> usize + Sync)>,
}

/// A promise that a driver did not keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// In which case.
    pub case: String,
    /// How the case was carried out.
    pub round: &'static str,
    /// What happened instead, in one line.
    pub what: String,
}

/// Holds a driver to its promises and lists those it did not keep.
///
/// - It ends soon after it was called off, and soon after its deadline.
/// - A driver that reports its submission does so once, before its effect, and has none where the
///   submission could not be recorded.
/// - It has no effect where its clearance has expired.
/// - What it says of the effect agrees with what it reported and with the code it failed with.
/// - Its output is no larger than the case allows.
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

/// Most checks of a clearance that are let expire in turn.
const MOST_CHECKS: usize = 8;

/// Holds a driver of ours to its last check: a process that stood still after its submission, at whatever
/// point, sends nothing. The clearance passes the check of [`crate::Link::submit`], and in each round one
/// more, until the driver gets through.
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

/// Where a failure says one thing by its code and another by its effect.
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
