//! What an import did, what it guessed, and how to have it otherwise.

use anyhow::Result;
use haft_import::{Conflict, Guess, Import, Outcome};
use serde_json::{Value, json};

use super::Wishes;
use super::place::remembered;
use crate::{Context, output};

/// How many files are named one by one.
const MOST_NAMED: usize = 20;

pub(super) fn show(
    context: &Context,
    wishes: &Wishes,
    import: &Import,
    outcome: &Outcome,
) -> Result<()> {
    match context.json {
        true => output::json(&machine(wishes, import, outcome)),
        false => people(context, wishes, import, outcome),
    }
}

fn machine(wishes: &Wishes, import: &Import, outcome: &Outcome) -> Value {
    let wrote: Vec<&str> = outcome.writes.iter().map(|file| file.path.as_str()).collect();
    json!({
        "import": import.name,
        "dry_run": wishes.dry_run,
        "wrote": wrote,
        "removed": outcome.removals,
        "guessed": import.guesses,
        "kept": outcome.kept,
        "conflicts": outcome.conflicts,
        "skipped": import.skipped,
        "secrets": import.secrets,
    })
}

fn people(context: &Context, wishes: &Wishes, import: &Import, outcome: &Outcome) -> Result<()> {
    let word = if wishes.dry_run { "would write" } else { "wrote" };
    for file in outcome.writes.iter().take(MOST_NAMED) {
        output::line(format!("{word} {}", file.path))?;
    }
    more(outcome.writes.len())?;
    for path in &outcome.removals {
        output::line(format!("removed {path}"))?;
    }
    for kept in outcome.kept.iter().take(MOST_NAMED) {
        output::line(format!("kept  {}: {}", kept.file, kept.why))?;
    }
    more(outcome.kept.len())?;
    for skipped in import.skipped.iter().take(MOST_NAMED) {
        output::line(format!(
            "left out {}: {}",
            output::visible(&skipped.what),
            output::visible(&skipped.why)
        ))?;
    }
    more(import.skipped.len())?;
    guesses(&import.guesses)?;
    outcome.conflicts.iter().try_for_each(conflict)?;
    for secret in &import.secrets {
        output::line(format!(
            "needs {} as {}: `haft secrets set {}`",
            secret.slug, secret.variable, secret.slug
        ))?;
    }
    let place = context.directory.display();
    let unchanged = outcome.writes.is_empty() && outcome.removals.is_empty();
    if unchanged {
        output::line("nothing to write")?;
    }
    if !wishes.dry_run {
        output::line(format!(
            "next: `haft -C {place} check`; keep {} with the rest",
            remembered(&import.name)
        ))?;
    }
    Ok(())
}

fn more(all: usize) -> Result<()> {
    match all.checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        Some(more) => output::line(format!("… and {more} more; `--json` names them all")),
        None => Ok(()),
    }
}

/// Guesses that are the same in several files are told once.
fn guesses(guesses: &[Guess]) -> Result<()> {
    let mut groups: Vec<(&Guess, usize)> = Vec::new();
    for guess in guesses {
        let same = |other: &&mut (&Guess, usize)| {
            (&other.0.field, &other.0.value, &other.0.why)
                == (&guess.field, &guess.value, &guess.why)
        };
        match groups.iter_mut().find(same) {
            Some((_, count)) => *count += 1,
            None => groups.push((guess, 1)),
        }
    }
    for (guess, count) in groups.iter().take(MOST_NAMED) {
        let place = match count {
            1 => guess.file.clone(),
            _ => format!("{} and {} more", guess.file, count - 1),
        };
        let Guess { field, value, why, change, .. } = guess;
        let words = format!("guessed {field}: {value} ({why}) in {place}; to change it, {change}");
        output::line(output::visible(&words))?;
    }
    more(groups.len())
}

fn conflict(conflict: &Conflict) -> Result<()> {
    let Conflict { file, field, yours, theirs } = conflict;
    let words =
        format!("conflict in {file}, {field}: yours {yours} stands, the source says {theirs}");
    output::line(output::visible(&words))
}
