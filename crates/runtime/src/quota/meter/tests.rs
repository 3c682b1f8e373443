//! Tests of the quota counters: reservations and foreign usage, without a store or a clock.

use haft_model::{Charge, DriverId, Glob, Period, RateScope};

use super::super::cap::{Of, Origin, What, Whose};
use super::super::window::Window;
use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).unwrap()
}

fn used(call: &str, second: i64) -> Use {
    Use {
        seq: 1,
        invocation: InvocationId::from(call),
        attempt: 1,
        at: at(second),
        tool: "note.show@1".to_owned(),
        driver: DriverId::from("canary"),
        actor: "agent:ana".to_owned(),
        tenant: "shop".to_owned(),
        charge: Charge::default(),
    }
}

fn cap(glob: &str, most: u64) -> Cap {
    let counted = QuotaScope {
        what: What::Calls,
        window: Window::Sliding(60),
        of: Of::Named(Glob::new(glob)),
        drivers: None,
        whose: Whose::default(),
    };
    Cap { counted, most, origin: Origin::Settings(Period::Minute, RateScope::Workspace) }
}

/// A meter with an empty counter for each cap.
fn meter(caps: &[Cap]) -> Meter {
    let mut meter = Meter::default();
    for counted in meter.uncounted(caps) {
        meter.begin(counted, &[]);
    }
    meter
}

fn counts(meter: &mut Meter, caps: &[Cap]) -> Vec<Option<u64>> {
    caps.iter().map(|cap| meter.used(cap, at(0))).collect()
}

#[test]
fn reservation_takes_from_every_limit_or_none() {
    let caps = [cap("*", 3), cap("note.*", 1)];
    let mut meter = meter(&caps);
    assert!(matches!(meter.reserve(&caps, &used("a", 0)), ReserveOutcome::Reserved));
    let ReserveOutcome::Short(short, why) = meter.reserve(&caps, &used("b", 0)) else { panic!() };
    assert_eq!((short.most, why.used, why.wait_ms), (1, 1, Some(60_000)));
    assert_eq!(counts(&mut meter, &caps), [Some(1), Some(1)]);
}

#[test]
fn limits_of_the_same_kind_count_a_use_once() {
    let caps = [cap("*", 5), cap("*", 2)];
    let mut meter = meter(&caps);
    assert!(matches!(meter.reserve(&caps, &used("a", 0)), ReserveOutcome::Reserved));
    assert_eq!(counts(&mut meter, &caps), [Some(1), Some(1)]);
    let ReserveOutcome::Reserved = meter.reserve(&caps, &used("b", 0)) else { panic!() };
    let ReserveOutcome::Short(short, _) = meter.reserve(&caps, &used("c", 0)) else { panic!() };
    assert_eq!(short.most, 2);
}

#[test]
fn what_is_given_back_was_not_used() {
    let caps = [cap("*", 1)];
    let mut meter = meter(&caps);
    for call in ["a", "b", "c"] {
        assert!(matches!(meter.reserve(&caps, &used(call, 0)), ReserveOutcome::Reserved), "{call}");
        meter.give_back(&(InvocationId::from(call), 1));
    }
    assert_eq!(counts(&mut meter, &caps), [Some(0)]);
}

#[test]
fn own_recorded_use_is_not_counted_twice() {
    let caps = [cap("*", 9)];
    let mut meter = meter(&caps);
    assert!(matches!(meter.reserve(&caps, &used("mine", 0)), ReserveOutcome::Reserved));
    meter.hear(&[used("mine", 0), used("theirs", 0)], at(0));
    assert_eq!(counts(&mut meter, &caps), [Some(2)]);
    meter.give_back(&(InvocationId::from("mine"), 1));
    assert_eq!(counts(&mut meter, &caps), [Some(2)], "what is on record was used");
}

#[test]
fn late_limit_counts_recorded_and_in_flight_uses() {
    let (first, late) = ([cap("*", 9)], cap("note.*", 9));
    let mut meter = meter(&first);
    assert!(matches!(meter.reserve(&first, &used("mine", 0)), ReserveOutcome::Reserved));
    let both = [first[0].clone(), late];
    assert!(matches!(meter.reserve(&both, &used("next", 0)), ReserveOutcome::Uncounted));
    for counted in meter.uncounted(&both) {
        meter.begin(counted, &[used("theirs", 0)]);
    }
    assert_eq!(counts(&mut meter, &both), [Some(1), Some(2)]);
    meter.give_back(&(InvocationId::from("mine"), 1));
    assert_eq!(counts(&mut meter, &both), [Some(0), Some(1)]);
}

#[test]
fn retry_counts_against_driver_but_not_tool_limit() {
    let mut attempts = cap("*", 9);
    attempts.counted.what = What::Attempts;
    let caps = [cap("*", 9), attempts];
    let mut meter = meter(&caps);
    meter.hear(&[used("a", 0), Use { attempt: 2, ..used("a", 0) }], at(0));
    assert_eq!(counts(&mut meter, &caps), [Some(1), Some(2)]);
}
