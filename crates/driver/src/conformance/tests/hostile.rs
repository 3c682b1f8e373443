//! Tests of the hostile-backend checks.

use super::*;
use crate::differs;

/// Behaviour of a test driver with a hostile backend.
#[derive(Clone, Copy, Debug)]
enum Bent {
    Right,
    Panics,
    Waits,
    Blames,
    Believes,
    Shows,
    Whispers,
    Forgets,
    Leaves,
}

struct Driven {
    bent: Bent,
    left: AtomicUsize,
}

const SECRET: (&str, &str) = ("KEY", "open-sesame");

impl Driven {
    async fn act(&self, attempt: Attempt<'_>) -> Result<Output, Failure> {
        let key = attempt.safe.open("KEY").await?;
        let failure =
            |code, words: &str| Failure::new(Stop::new(code, words.to_owned()), EffectState::None);
        match self.bent {
            Bent::Right => {}
            Bent::Panics => panic!("as it was made to"),
            Bent::Waits => std::future::pending().await,
            Bent::Blames => return Err(failure(Code::Internal, "something broke")),
            Bent::Believes => return Ok(Output::read(json!("anything"))),
            Bent::Shows => return Err(failure(Code::OutputInvalid, key.expose())),
            Bent::Whispers => {
                let message = Some(format!("with {}", key.expose()));
                let progress = haft_model::Progress { message, ..Default::default() };
                attempt.link.progress(progress).await;
            }
            Bent::Forgets => {
                let native = vec![json!({"id": 7})];
                return Err(Failure { native, ..failure(Code::OutputInvalid, "no JSON") });
            }
            Bent::Leaves => drop(self.left.fetch_add(1, Ordering::SeqCst)),
        }
        Err(failure(Code::OutputInvalid, "no JSON"))
    }
}

impl Driver for Driven {
    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(self.act(attempt))
    }
}

fn found(bent: Bent, ill: Ill) -> Vec<String> {
    let plan = plan();
    let permit = permit(&plan);
    let driver = Driven { bent, left: AtomicUsize::new(0) };
    let left = || driver.left.load(Ordering::SeqCst);
    let case =
        ConformanceCase { name: "c", plan: &plan, permit: &permit, most_bytes: 100, effects: None };
    let hostile = Hostile::new(case, ill)
        .with_secrets(&[SECRET])
        .promising(&Value::is_object)
        .leaving_nothing_of(&left);
    let breaches = runtime().block_on(hardened(&driver, &[hostile]));
    breaches.into_iter().map(|breach| breach.what).collect()
}

#[test]
fn conformance_suite_reports_each_breach_by_the_driver() {
    for (bent, ill, what) in [
        (Bent::Right, Ill::WrongType, None),
        (Bent::Right, Ill::Well, Some("its backend behaves, and it fails with `output.invalid`")),
        (Bent::Panics, Ill::Lies, Some("it panicked")),
        (Bent::Waits, Ill::Hangs, Some("it did not end within 2000 ms")),
        (Bent::Blames, Ill::Floods, Some("its backend floods, and it fails with `internal`")),
        (Bent::Believes, Ill::Lies, Some("what came out is not what was promised")),
        (
            Bent::Believes,
            Ill::ClosesEarly,
            Some("its backend closes early, and something came out"),
        ),
        (Bent::Shows, Ill::WrongType, Some("it shows the secret `KEY`")),
        (Bent::Whispers, Ill::WrongType, Some("it shows the secret `KEY`")),
        (Bent::Forgets, Ill::WrongType, Some("`{\"id\":7}` does not say where it is from")),
        (Bent::Leaves, Ill::WrongType, Some("it left 1 behind")),
    ] {
        assert_eq!(found(bent, ill), Vec::from_iter(what.map(str::to_owned)), "{bent:?}");
    }
}

#[test]
fn secret_echoed_by_backend_is_no_driver_breach() {
    let plan = plan();
    let permit = permit(&plan);
    let driver = Driven { bent: Bent::Shows, left: AtomicUsize::new(0) };
    let case =
        ConformanceCase { name: "c", plan: &plan, permit: &permit, most_bytes: 100, effects: None };
    let hostile = Hostile::new(case, Ill::Lies).with_secrets(&[SECRET]).whose_backend_echoes();
    assert_eq!(runtime().block_on(hardened(&driver, &[hostile])), []);
}

#[test]
fn example_output_is_compared_by_value_not_spelling() {
    let plan = plan();
    let permit = permit(&plan);
    let driver = MadeUp { habit: Habit::Good, effects: AtomicUsize::new(0) };
    let sample = |name, output| Sample { name, plan: &plan, permit: &permit, output };
    let (same, other) = (json!("x"), json!("y"));
    let samples = [sample("any", None), sample("same", Some(&same)), sample("other", Some(&other))];
    let breaches = runtime().block_on(examples(&driver, &samples));
    let what: Vec<_> = breaches.iter().map(|breach| (&*breach.case, &*breach.what)).collect();
    assert_eq!(what, [("other", "expected \"y\", got \"x\"")]);
    assert_eq!(differs(Some(&json!({"a": 1, "b": 2})), &json!({"b": 2.0, "a": 1})), None);
}

#[test]
fn what_is_left_can_be_counted() {
    let before = left::open_files();
    let file = std::fs::File::open("/proc/self/stat").unwrap();
    assert_eq!(left::open_files(), before + 1);
    drop(file);
    assert_eq!(left::processes(), 0);
    assert_eq!(left::files_below(std::path::Path::new("/proc/self/net/gone")), 0);
}
