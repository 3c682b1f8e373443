//! Import report: what an import wrote and guessed, and how to choose otherwise.

use anyhow::Result;
use haft_import::{Conflict, Guess, Import, MergePlan, SchemaLoss, SecretKind};
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
    outcome: &MergePlan,
) -> Result<()> {
    match context.json {
        true => output::json(&machine(wishes, import, outcome)),
        false => people(context, wishes, import, outcome),
    }
}

/// Reports several imports, and why others failed.
pub(super) fn show_all(
    context: &Context,
    wishes: &Wishes,
    added: &[(Import, MergePlan)],
    left_out: &[String],
) -> Result<()> {
    if context.json {
        let machine = added.iter().map(|(import, outcome)| machine(wishes, import, outcome));
        let imports: Vec<Value> = machine.collect();
        return output::json(&json!({ "imports": imports, "left_out": left_out }));
    }
    for (import, outcome) in added {
        people(context, wishes, import, outcome)?;
    }
    left_out.iter().try_for_each(|why| output::line(output::visible(&format!("left out {why}"))))
}

fn machine(wishes: &Wishes, import: &Import, outcome: &MergePlan) -> Value {
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
        "losses": import.losses,
        "secrets": import.secrets,
    })
}

fn people(context: &Context, wishes: &Wishes, import: &Import, outcome: &MergePlan) -> Result<()> {
    let word = if wishes.dry_run { "would write" } else { "wrote" };
    list(outcome.writes.iter().map(|file| format!("{word} {}", file.path)))?;
    list(outcome.removals.iter().map(|path| format!("removed {path}")))?;
    list(outcome.kept.iter().map(|kept| format!("kept  {}: {}", kept.file, kept.why)))?;
    list(
        import.skipped.iter().map(|skipped| format!("left out {}: {}", skipped.what, skipped.why)),
    )?;
    list(import.losses.iter().map(|loss| {
        let SchemaLoss { file, field, pointer, why } = loss;
        let pointer = if pointer.is_empty() { "/" } else { pointer };
        format!("not kept {pointer} of the {field} in {file}: {why}")
    }))?;
    guesses(&import.guesses)?;
    list(outcome.conflicts.iter().map(conflict))?;
    list(import.secrets.iter().map(|secret| {
        let (slug, variable) = (&secret.slug, &secret.variable);
        let how = match secret.kind {
            SecretKind::Opaque => format!("haft secrets set {slug}"),
            SecretKind::OAuth => format!("haft login {}", import.name),
        };
        format!("needs {slug} as {variable}: `{how}`")
    }))?;
    if outcome.writes.is_empty() && outcome.removals.is_empty() {
        output::line("nothing to write")?;
    }
    let (place, base) = (context.directory.display(), remembered(&import.name));
    match wishes.dry_run {
        true => Ok(()),
        false => output::line(format!("next: `haft -C {place} check`; keep {base} with the rest")),
    }
}

/// Prints lines, the first of them one by one.
fn list(lines: impl ExactSizeIterator<Item = String>) -> Result<()> {
    let all = lines.len();
    for line in lines.take(MOST_NAMED) {
        output::line(output::visible(&line))?;
    }
    more(all)
}

fn more(all: usize) -> Result<()> {
    match all.checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        Some(more) => output::line(format!("… and {more} more; `--json` names them all")),
        None => Ok(()),
    }
}

/// Prints guesses that several files share once.
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

fn conflict(conflict: &Conflict) -> String {
    let Conflict { file, field, yours, theirs } = conflict;
    format!("conflict in {file}, {field}: yours {yours} stands, the source says {theirs}")
}
