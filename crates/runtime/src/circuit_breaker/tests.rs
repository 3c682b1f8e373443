//! Tests of the circuit breaker: when a circuit opens, which call probes it, and what closes it.

use haft_model::ToolKey;

use super::*;
use crate::queue::Dice;

const REST: BreakerOptions = BreakerOptions { failures: 2, pause: Duration::from_secs(30) };

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn failed(code: Code) -> Result<Output, Failure> {
    Err(Failure::new(Stop::new(code, "no"), EffectState::NotSubmitted))
}

fn circuit() -> Circuit {
    Circuit { driver: "d".into(), tool: ToolKey::new("t", 1), host: None }
}

/// Makes consecutive attempts through one circuit and returns why it is open then, if it is.
fn after(rests: &CircuitBreakers, ends: &[Result<Output, Failure>], now: i64) -> Vec<String> {
    for end in ends {
        rests.begin(circuit, at(now)).unwrap().ended(end, circuit, at(now));
    }
    rests.reason(&circuit(), at(now)).into_iter().collect()
}

#[test]
fn circuit_breaker_opens_after_allowed_consecutive_failures() {
    let rests = CircuitBreakers::new(REST);
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
fn call_failure_does_not_trip_circuit_breaker() {
    let rests = CircuitBreakers::new(REST);
    let ends = [failed(Code::ExecutionFailed), failed(Code::RateLimited), failed(Code::Conflict)];
    assert_eq!(after(&rests, &ends, 0), Vec::<String>::new());
}

#[test]
fn half_open_circuit_breaker_admits_one_trial_call() {
    let rests = CircuitBreakers::new(REST);
    after(&rests, &[failed(Code::DependencyUnavailable), failed(Code::DependencyUnavailable)], 0);
    let trial = rests.begin(circuit, at(30)).unwrap();
    assert_eq!(rests.open(at(30)).len(), 1);
    assert!(rests.begin(circuit, at(30)).is_err());
    // The trial was dropped without an outcome, so another call may probe.
    drop(trial);
    assert_eq!(rests.open(at(30)).len(), 0);
    let trial = rests.begin(circuit, at(30)).unwrap();
    let turn = trial.ended(&failed(Code::DependencyUnavailable), circuit, at(31));
    assert_eq!(turn, Some((circuit(), Some(OpenBreaker { failures: 3, until: at(61) }))));
    assert_eq!(
        rests.reason(&circuit(), at(40)).as_deref(),
        Some("it failed 3 times in a row and rests until 1970-01-01T00:01:01Z")
    );
    let works = || Ok(Output::read(().into()));
    assert_eq!(
        rests.begin(circuit, at(61)).unwrap().ended(&works(), circuit, at(61)),
        Some((circuit(), None))
    );
    assert_eq!(rests.begin(circuit, at(61)).unwrap().ended(&works(), circuit, at(61)), None);
    assert_eq!(rests.open(at(62)).len(), 0);
}

#[test]
fn a_driver_never_rests_after_no_failures() {
    let rests = CircuitBreakers::new(BreakerOptions { failures: 0, ..REST });
    let ends = [(); 50].map(|()| failed(Code::DependencyUnavailable));
    assert_eq!(after(&rests, &ends, 0), Vec::<String>::new());
}

#[test]
fn healthy_backend_half_opens_circuit_breaker_early() {
    let rests = CircuitBreakers::new(REST);
    let (driver, down) = (circuit().driver, || failed(Code::DependencyUnavailable));
    assert!(!rests.seen_well(&driver, at(0)));
    after(&rests, &[down()], 0);
    assert!(!rests.seen_well(&driver, at(0)), "it does not rest yet");
    assert_eq!(after(&rests, &[down()], 0).len(), 1);
    assert!(rests.seen_well(&driver, at(5)));
    let trial = rests.begin(circuit, at(5)).unwrap();
    assert!(rests.begin(circuit, at(5)).is_err(), "one call at a time");
    assert_eq!(
        trial.ended(&down(), circuit, at(6)),
        Some((circuit(), Some(OpenBreaker { failures: 3, until: at(36) })))
    );
    assert_eq!(rests.open(at(6)).len(), 1);
}

/// Outcome of one attempt of the random histories.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Works,
    Down,
    /// A mistake of the caller, or a refusal during a backoff.
    Silent(usize),
    /// The attempt is dropped before it ends.
    Dropped,
}

fn silent(which: usize) -> Result<Output, Failure> {
    let blamed = |blame| {
        let stop = Stop::new(Code::DependencyUnavailable, "no").blaming(blame);
        Err(Failure::new(stop, EffectState::NotSubmitted))
    };
    match which {
        0 => blamed(Blame::Request),
        1 => blamed(Blame::Backoff),
        2 => failed(Code::InputValue),
        3 => failed(Code::PermissionDenied),
        4 => failed(Code::SandboxViolation),
        5 => failed(Code::CanceledCaller),
        _ => failed(Code::CredentialMissing),
    }
}

/// Reference model of one circuit.
#[derive(Clone, Default)]
struct Told {
    times: u32,
    until: Option<i64>,
}

/// Random attempts through several circuits. A reference model that ignores other circuits,
/// callers' mistakes and refusals has to agree.
#[test]
fn circuits_of_random_histories_rest_each_by_itself() {
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let rests = CircuitBreakers::new(REST);
        let circuits: Vec<Circuit> = (0..6)
            .map(|number| Circuit {
                driver: DriverId::from(["d", "e"][number % 2]),
                tool: ToolKey::new(["a", "b", "c"][number % 3], 1),
                host: (number > 2).then(|| format!("host{number}:443")),
            })
            .collect();
        let mut model = vec![Told::default(); circuits.len()];
        let mut now = 0_i64;
        for step in 0..200 {
            now += dice.roll(9) as i64;
            let which = dice.roll(circuits.len() as u64) as usize;
            let end = match dice.roll(6) {
                0 => End::Works,
                1..=2 => End::Down,
                3 => End::Dropped,
                _ => End::Silent(dice.roll(7) as usize),
            };
            let own = || circuits[which].clone();
            let told = &mut model[which];
            let rested = told.until.is_some_and(|until| now < until);
            let trial = rests.begin(own, at(now)).unwrap();
            if told.until.is_some_and(|until| until <= now) {
                // While a trial runs, another call is refused, and the refusal changes nothing.
                assert!(rests.begin(own, at(now)).is_err(), "seed {seed}, step {step}");
            }
            match end {
                End::Dropped => drop(trial),
                End::Silent(kind) => {
                    assert_eq!(trial.ended(&silent(kind), own, at(now)), None);
                }
                End::Works => {
                    trial.ended(&Ok(Output::read(().into())), own, at(now));
                    *told = Told::default();
                }
                End::Down => {
                    trial.ended(&failed(Code::DependencyUnavailable), own, at(now));
                    if !rested {
                        told.times += 1;
                        told.until = (told.times >= REST.failures).then_some(now + 30);
                    }
                }
            }
            for (circuit, told) in circuits.iter().zip(&model) {
                let expected = told
                    .until
                    .filter(|until| now < *until)
                    .map(|until| OpenBreaker { failures: told.times, until: at(until) }.reason());
                let found = rests.reason(circuit, at(now));
                assert_eq!(found, expected, "seed {seed}, step {step}, {end:?} of {which}");
            }
        }
    }
}

#[test]
fn hosts_that_callers_make_up_take_bounded_room() {
    let rests = CircuitBreakers::new(REST);
    for number in 0..MOST + 100 {
        let host = || Circuit { host: Some(format!("h{number}:443")), ..circuit() };
        let trial = rests.begin(host, at(number as i64)).unwrap();
        trial.ended(&failed(Code::DependencyUnavailable), host, at(number as i64));
    }
    assert_eq!(rests.failed().len(), MOST);
}
