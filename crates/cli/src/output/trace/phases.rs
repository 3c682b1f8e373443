//! Timeline: the phases of a call beside a scale of time.

use anyhow::Result;
use haft_ledger::PhaseSpan;
use haft_model::{PhaseLine, PhaseOutcome};

use super::super::{line, span};

/// How wide the scale is.
const WIDTH: u64 = 32;

/// The shortest time between phases that is worth a line, in microseconds.
const PAUSE: u64 = 10_000;

/// Prints the phases, each with a bar where its time lies. The scale is that of the work: waiting
/// time has a line of its own.
pub(super) fn show(phases: &[PhaseSpan]) -> Result<()> {
    let all = phases.iter().map(|phase| took(phase.line)).sum();
    let mut worked = 0;
    let mut last = 0;
    for phase in phases {
        let one = phase.line;
        let pause = one.from.saturating_sub(last);
        if pause >= PAUSE {
            line(format!("  ·    {:<24}{:>9}", "left alone", span(pause)))?;
        }
        line(row(one, worked, all).trim_end())?;
        worked += took(one);
        last = one.to.max(last);
    }
    Ok(())
}

fn row(one: PhaseLine, worked: u64, all: u64) -> String {
    let (sign, time, bar) = match one.outcome {
        PhaseOutcome::Ok => {
            ("\x1b[32m✔\x1b[0m", span(took(one)), bar(worked, worked + took(one), all))
        }
        PhaseOutcome::Failed => {
            ("\x1b[31m✘\x1b[0m", span(took(one)), bar(worked, worked + took(one), all))
        }
        PhaseOutcome::Skipped => ("·", "skipped".to_owned(), String::new()),
    };
    let name = one.phase.name().replace('_', " ");
    format!("  {sign} {:>2} {name:<24}{time:>9}  {bar}", one.phase.number())
}

fn took(one: PhaseLine) -> u64 {
    match one.outcome {
        PhaseOutcome::Ok | PhaseOutcome::Failed => one.to.saturating_sub(one.from),
        PhaseOutcome::Skipped => 0,
    }
}

/// A bar from one moment to another, of a scale that ends where everything ends.
fn bar(from: u64, to: u64, end: u64) -> String {
    let place = |moment: u64| match end {
        0 => 0,
        end => usize::try_from(moment.min(end).saturating_mul(WIDTH) / end).unwrap_or_default(),
    };
    let (from, to) = (place(from), place(to));
    let mut bar = " ".repeat(from);
    match to.saturating_sub(from) {
        0 => bar.push('▏'),
        wide => bar.push_str(&"█".repeat(wide)),
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_lies_where_its_time_lies() {
        assert_eq!(bar(0, 0, 0), "▏");
        assert_eq!(bar(0, 50, 100), "█".repeat(16));
        assert_eq!(bar(50, 51, 100), format!("{}▏", " ".repeat(16)));
        assert_eq!(bar(75, 100, 100), format!("{}{}", " ".repeat(24), "█".repeat(8)));
    }
}
