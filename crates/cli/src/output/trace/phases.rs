//! The phases of a call beside a scale of time.

use anyhow::Result;
use haft_ledger::PhaseSpan;
use haft_model::PhaseOutcome;

use super::super::{line, span};

/// How wide the scale is.
const WIDTH: u64 = 32;

/// Prints the phases, each with a bar where its time lies.
pub(super) fn show(phases: &[PhaseSpan]) -> Result<()> {
    let end = phases.iter().map(|phase| phase.line.to).max().unwrap_or_default();
    for phase in phases {
        let one = phase.line;
        let took = match one.outcome {
            PhaseOutcome::Skipped => "skipped".to_owned(),
            PhaseOutcome::Ok | PhaseOutcome::Failed => span(one.to.saturating_sub(one.from)),
        };
        let sign = match one.outcome {
            PhaseOutcome::Ok => "\x1b[32m✔\x1b[0m",
            PhaseOutcome::Failed => "\x1b[31m✘\x1b[0m",
            PhaseOutcome::Skipped => "·",
        };
        let bar = match one.outcome {
            PhaseOutcome::Skipped => String::new(),
            PhaseOutcome::Ok | PhaseOutcome::Failed => bar(one.from, one.to, end),
        };
        let name = one.phase.name().replace('_', " ");
        let row = format!("  {sign} {:>2} {name:<24}{took:>9}  {bar}", one.phase.number());
        line(row.trim_end())?;
    }
    Ok(())
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
