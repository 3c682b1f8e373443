//! Tests of the conformance suite: each faulty driver yields its breach.

mod hostile;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_model::{
    CallLimits, Decision, Digest, EffectProfile, EffectState, Facts, InvocationId, Risk, Route,
    Stop, Timestamp, ToolKey, Tri, Verdict,
};
use serde_json::{Value, json};

use super::*;
use crate::{Attempt, BoxFuture};

/// Behaviour of a test driver.
#[derive(Clone, Copy)]
enum Habit {
    Good,
    NeverEnds,
    SubmitsLate,
    NeverSubmits,
    SubmitsTwice,
    ChecksAgain,
    ChecksInVain,
    IgnoresTheAnswer,
    Denies,
    TalksTooMuch,
}

struct MadeUp {
    habit: Habit,
    effects: AtomicUsize,
}

impl MadeUp {
    fn happen(&self) {
        self.effects.fetch_add(1, Ordering::SeqCst);
    }

    async fn act(&self, attempt: Attempt<'_>) -> Result<Output, Failure> {
        let unsent = |stop: Stop| Failure::new(stop, EffectState::NotSubmitted);
        if attempt.cancel.is_cancelled() {
            return Err(unsent(Stop::new(Code::CanceledCaller, "called off")));
        }
        let link = &attempt.link;
        match self.habit {
            Habit::NeverEnds => std::future::pending().await,
            Habit::SubmitsLate => {
                self.happen();
                link.submit().await?;
            }
            Habit::NeverSubmits => self.happen(),
            Habit::SubmitsTwice => {
                link.submit().await?;
                link.submit().await?;
            }
            Habit::IgnoresTheAnswer => {
                let _ = link.submit().await;
                self.happen();
            }
            Habit::ChecksAgain => {
                link.submit().await?.check()?;
                self.happen();
            }
            Habit::ChecksInVain => {
                let _ = link.submit().await?.check();
                self.happen();
            }
            Habit::Denies => {
                link.submit().await?;
                self.happen();
                return Err(unsent(Stop::new(Code::ExecutionFailed, "it failed")));
            }
            Habit::Good | Habit::TalksTooMuch => {
                link.submit().await?;
                self.happen();
            }
        }
        let long = matches!(self.habit, Habit::TalksTooMuch);
        Ok(Output::committed(Value::String("x".repeat(if long { 100 } else { 1 }))))
    }
}

impl Driver for MadeUp {
    fn reports_submission(&self, _: &Plan) -> bool {
        true
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(self.act(attempt))
    }
}

fn unstated() -> EffectProfile {
    EffectProfile {
        mutates: Default::default(),
        mutates_stated: false,
        classes: Default::default(),
        risk: Risk::IRREVERSIBLE,
        requires: Default::default(),
        approval: Default::default(),
        facts: Facts {
            read_only: Tri::Unknown,
            destructive: Tri::Unknown,
            open_world: Tri::Unknown,
            concurrency_safe: Default::default(),
        },
        inferred: Vec::new(),
    }
}

fn plan() -> Plan {
    Plan {
        actor: Arc::new(haft_model::Actor::from(haft_model::ActorId::from("agent:a"))),
        tool: ToolKey::new("a.b", 1),
        version: "1.0.0".into(),
        route: Route { driver: "d".into(), reason: "only one", rejected: Vec::new() },
        input: json!({}).into(),
        renames: Arc::from([]),
        driver_state: Arc::from([]),
        context: json!({}),
        effects: Arc::new(unstated()),
        limits: CallLimits { timeout_ms: 1000, retry: None },
        digest: Digest::of(&json!({})),
    }
}

fn permit(plan: &Plan) -> Permit {
    let decision = Decision {
        verdict: Verdict::Allow,
        deciding: None,
        opinions: Vec::new(),
        needs: Vec::new(),
        code: None,
        suggested_updates: Vec::new(),
        decided_at: Timestamp::UNIX_EPOCH,
    };
    let id = InvocationId::from("inv_1");
    Permit::of_decision(&decision, plan, &id, Timestamp::UNIX_EPOCH).unwrap()
}

/// An async runtime with paused time, which advances when all tasks are idle.
fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().unwrap()
}

fn breaches(habit: Habit) -> Vec<(&'static str, String)> {
    let plan = plan();
    let permit = permit(&plan);
    let driver = MadeUp { habit, effects: AtomicUsize::new(0) };
    let effects = || driver.effects.load(Ordering::SeqCst);
    let case = ConformanceCase {
        name: "c",
        plan: &plan,
        permit: &permit,
        most_bytes: 10,
        effects: Some(&effects),
    };
    let found = runtime().block_on(check(&driver, &[case]));
    found.into_iter().map(|breach| (breach.round, breach.what)).collect()
}

#[test]
fn a_driver_that_keeps_its_promises_has_no_breach() {
    assert_eq!(breaches(Habit::Good), []);
}

#[test]
fn each_breach_is_found() {
    let cases = [
        (Habit::SubmitsLate, "left alone", "the effect was there before the submission"),
        (Habit::NeverSubmits, "left alone", "it had an effect, `committed`, and submitted nothing"),
        (Habit::SubmitsTwice, "left alone", "it submitted 2 times"),
        (
            Habit::IgnoresTheAnswer,
            "submission refused",
            "it went on to `committed` although its submission was not recorded",
        ),
        (Habit::Denies, "left alone", "it submitted and then said that it had not"),
        (Habit::Denies, "left alone", "its effect can be seen, and it says `not_submitted`"),
        (Habit::TalksTooMuch, "left alone", "its output has 102 bytes, and 10 are allowed"),
    ];
    for (habit, round, what) in cases {
        let found = breaches(habit);
        assert!(found.contains(&(round, what.to_owned())), "{what}: {found:?}");
    }
}

#[test]
fn expired_clearance_stops_driver_or_is_breach() {
    let found = |habit| {
        let (plan, driver) = (plan(), MadeUp { habit, effects: AtomicUsize::new(0) });
        let permit = permit(&plan);
        let effects = || driver.effects.load(Ordering::SeqCst);
        let effects: Option<&(dyn Fn() -> usize + Sync)> = Some(&effects);
        let case =
            ConformanceCase { name: "c", plan: &plan, permit: &permit, most_bytes: 10, effects };
        let found = runtime().block_on(check_clearance(&driver, &[case]));
        found.into_iter().map(|breach| breach.what).collect::<Vec<_>>()
    };
    assert_eq!(found(Habit::ChecksAgain), Vec::<String>::new());
    let unchecked = "it did not check its clearance before it sent";
    assert_eq!(found(Habit::Good), [unchecked]);
    let ignored = "it went on to `committed` although its clearance had expired";
    assert_eq!(found(Habit::ChecksInVain), [ignored]);
    let expired = ("clearance expired", ignored.to_owned());
    assert!(breaches(Habit::IgnoresTheAnswer).contains(&expired));
}

#[test]
fn a_driver_that_does_not_end_is_found() {
    let found = breaches(Habit::NeverEnds);
    for round in ["called off", "too late", "out of time"] {
        let what = "it did not end within 2000 ms".to_owned();
        assert!(found.contains(&(round, what)), "{round}: {found:?}");
    }
}
