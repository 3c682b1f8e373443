//! When a driver rests, who may try it then, and what ends its rest.

use super::*;

const REST: Rest = Rest { failures: 2, pause: Duration::from_secs(30) };

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn failed(code: Code) -> Result<Output, Failure> {
    Err(Failure::new(Stop::new(code, "no"), EffectState::NotSubmitted))
}

/// Makes attempts at one driver, one after the other, and says what is known of it then.
fn after(rests: &Rests, ends: &[Result<Output, Failure>], now: i64) -> Vec<String> {
    let driver = DriverId::from("d");
    for end in ends {
        rests.begin(&driver, at(now)).unwrap().ended(end, at(now));
    }
    rests.resting(at(now)).into_iter().map(|avoided| avoided.reason).collect()
}

#[test]
fn a_driver_rests_after_as_many_failures_in_a_row_as_are_allowed() {
    let rests = Rests::new(REST);
    let unreachable = || failed(Code::DependencyUnavailable);
    assert_eq!(after(&rests, &[unreachable()], 0), Vec::<String>::new());
    assert_eq!(
        after(&rests, &[Ok(Output::read(().into())), unreachable()], 1),
        Vec::<String>::new()
    );
    assert_eq!(
        after(&rests, &[failed(Code::TimeoutUnknownCommit)], 2),
        ["it failed 2 times in a row and rests until 1970-01-01T00:00:32Z"]
    );
}

#[test]
fn a_failure_of_the_call_is_none_of_the_driver() {
    let rests = Rests::new(REST);
    let ends = [failed(Code::ExecutionFailed), failed(Code::RateLimited), failed(Code::Conflict)];
    assert_eq!(after(&rests, &ends, 0), Vec::<String>::new());
}

#[test]
fn one_call_at_a_time_finds_out_whether_it_works_again() {
    let rests = Rests::new(REST);
    let driver = DriverId::from("d");
    after(&rests, &[failed(Code::DependencyUnavailable), failed(Code::DependencyUnavailable)], 0);
    let trial = rests.begin(&driver, at(30)).unwrap();
    assert_eq!(rests.resting(at(30)).len(), 1);
    assert!(rests.begin(&driver, at(30)).is_err());
    // Nobody learned how that one ended, so another may try.
    drop(trial);
    assert_eq!(rests.resting(at(30)).len(), 0);
    let trial = rests.begin(&driver, at(30)).unwrap();
    let turn = trial.ended(&failed(Code::DependencyUnavailable), at(31));
    assert_eq!(turn, Some(Some(Rested { failures: 3, until: at(61) })));
    assert_eq!(
        rests.resting(at(40)).first().map(|avoided| avoided.reason.clone()).as_deref(),
        Some("it failed 3 times in a row and rests until 1970-01-01T00:01:01Z")
    );
    let works = || Ok(Output::read(().into()));
    assert_eq!(rests.begin(&driver, at(61)).unwrap().ended(&works(), at(61)), Some(None));
    assert_eq!(rests.begin(&driver, at(61)).unwrap().ended(&works(), at(61)), None);
    assert_eq!(rests.resting(at(62)).len(), 0);
}

#[test]
fn a_driver_never_rests_after_no_failures() {
    let rests = Rests::new(Rest { failures: 0, ..REST });
    let ends = [(); 50].map(|()| failed(Code::DependencyUnavailable));
    assert_eq!(after(&rests, &ends, 0), Vec::<String>::new());
}

#[test]
fn a_backend_that_was_seen_well_is_tried_by_one_call_before_its_rest_is_over() {
    let rests = Rests::new(REST);
    let (driver, down) = (DriverId::from("d"), || failed(Code::DependencyUnavailable));
    assert!(!rests.seen_well(&driver, at(0)));
    after(&rests, &[down()], 0);
    assert!(!rests.seen_well(&driver, at(0)), "it does not rest yet");
    assert_eq!(after(&rests, &[down()], 0).len(), 1);
    assert!(rests.seen_well(&driver, at(5)));
    let trial = rests.begin(&driver, at(5)).unwrap();
    assert!(rests.begin(&driver, at(5)).is_err(), "one call at a time");
    assert_eq!(trial.ended(&down(), at(6)), Some(Some(Rested { failures: 3, until: at(36) })));
    assert_eq!(rests.resting(at(6)).len(), 1);
}
