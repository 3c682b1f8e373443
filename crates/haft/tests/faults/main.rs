//! Deterministic simulation: one runtime, its store and a backend under injected faults. The seed
//! alone decides what happens, and a checker judges each whole history.
//!
//! `scripts/show faults` runs many of them, and `scripts/show faults --seed N` plays one again.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests may fail")]

#[path = "../support/accepted.rs"]
mod accepted;
mod backend;
mod checker;
mod history;
mod machine;
mod process;
mod scene;
mod store;
#[cfg(feature = "sabotage")]
mod switches;
mod workspace;
mod writer;

use checker::Violation;
use history::{History, play};
use workspace::Workspace;

/// How many histories every run of the tests plays, in as many tests as there are.
const EACH: u64 = 250;

/// A number from the environment.
fn given(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, and not `{text}`")))
}

/// Plays histories and fails with the first that breaks a promise.
fn check(seeds: impl Iterator<Item = u64>) -> usize {
    let workspace = Workspace::open();
    let mut count = 0;
    for seed in seeds {
        let history = play(&workspace, seed);
        if let Some(violation) = checker::violation(&history) {
            panic!("{}", told(seed, &history, &violation));
        }
        count += 1;
    }
    count
}

fn told(seed: u64, history: &History, violation: &Violation) -> String {
    let story = match given("HAFT_FAULTS_SEED") {
        Some(_) => history.story.join("\n"),
        None => String::new(),
    };
    format!(
        "{story}\nseed {seed} breaks the promise: {}\n{}\nplay it again with: scripts/show faults --seed {seed}",
        violation.promise, violation.found
    )
}

#[test]
fn no_fault_breaks_a_promise_first_quarter() {
    check(0..EACH);
}

#[test]
fn no_fault_breaks_a_promise_second_quarter() {
    check(EACH..2 * EACH);
}

#[test]
fn no_fault_breaks_a_promise_third_quarter() {
    check(2 * EACH..3 * EACH);
}

#[test]
fn no_fault_breaks_a_promise_fourth_quarter() {
    check(3 * EACH..4 * EACH);
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let workspace = Workspace::open();
    for seed in 0..20 {
        let [first, second] = [0, 1].map(|_| play(&workspace, seed));
        assert_eq!(first.story, second.story, "seed {seed}");
        assert!(first.story.len() > 10, "seed {seed}: {:?}", first.story);
    }
}

#[test]
fn every_fault_kind_strikes_and_most_calls_take_effect() {
    let workspace = Workspace::open();
    let mut seen = std::collections::BTreeMap::<&str, usize>::new();
    let (mut done, mut intents) = (0, 0);
    for seed in 0..100 {
        let history = play(&workspace, seed);
        for (kind, count) in &history.struck {
            *seen.entry(kind).or_default() += count;
        }
        (done, intents) = (done + history.book.len(), intents + history.intents);
    }
    for kind in scene::FAULTS {
        assert!(seen.get(kind).is_some_and(|count| *count > 5), "{kind}: {seen:?}");
    }
    assert!(done * 2 > intents, "{done} of {intents}");
}

/// What `scripts/show faults` runs: as many histories as it is told to, or one.
#[test]
fn histories_that_were_asked_for_break_no_promise() {
    if let Some(seed) = given("HAFT_FAULTS_SEED") {
        check(std::iter::once(seed));
        println!("| seed {seed} | no promise broken |");
        return;
    }
    let Some(histories) = given("HAFT_FAULTS_HISTORIES") else { return };
    let (part, parts) =
        (given("HAFT_FAULTS_PART").unwrap_or(0), given("HAFT_FAULTS_PARTS").unwrap_or(1).max(1));
    let began = std::time::Instant::now();
    let count = check((0..histories).filter(|seed| seed % parts == part));
    println!("| {count} histories | no promise broken | {} s |", began.elapsed().as_secs());
}
