//! Checker tests: the checker notices every mechanism that is switched off, within some seeds.

use haft_ledger::sabotage::{Mechanism, switch_off};

use crate::checker;
use crate::history::play;
use crate::workspace::Workspace;

/// How many histories it may take.
const MOST: u64 = 1000;

/// The first history that shows that a mechanism is missing, and the promise that it breaks.
fn found(workspace: &Workspace, mechanism: Mechanism) -> Option<(u64, &'static str)> {
    switch_off(Some(mechanism));
    let found = (0..MOST).find_map(|seed| {
        let violation = checker::violation(&play(workspace, seed))?;
        Some((seed + 1, violation.promise))
    });
    switch_off(None);
    found
}

#[test]
fn the_checker_finds_every_mechanism_that_is_switched_off() {
    let workspace = Workspace::open();
    let mut missed = Vec::new();
    println!("| switched off | seeds until found | promise that breaks |\n|---|---|---|");
    for mechanism in Mechanism::ALL {
        match found(&workspace, mechanism) {
            Some((seeds, promise)) => println!("| {mechanism:?} | {seeds} | {promise} |"),
            None => missed.push(mechanism),
        }
    }
    assert_eq!(missed, [], "nobody noticed within {MOST} histories");
}
