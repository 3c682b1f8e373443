//! Time output: moments and spans, as people say them.

use haft_model::Timestamp;

/// A moment, in UTC and to the second.
pub(crate) fn clock(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// How long ago something was.
pub(crate) fn ago(moment: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(moment.as_second()).max(0);
    if seconds < 2 { "just now".to_owned() } else { format!("{} ago", coarse(seconds)) }
}

/// How long something is ahead.
pub(crate) fn until(moment: Timestamp, now: Timestamp) -> String {
    match moment.as_second().saturating_sub(now.as_second()) {
        left if left <= 0 => "over".to_owned(),
        left => format!("in {}", coarse(left)),
    }
}

/// A span in microseconds, with three digits that matter.
pub(crate) fn span(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..10_000 => format!("{:.1} ms", micros as f64 / 1e3),
        10_000..1_000_000 => format!("{} ms", micros / 1_000),
        1_000_000..60_000_000 => format!("{:.1} s", micros as f64 / 1e6),
        _ => coarse(i64::try_from(micros / 1_000_000).unwrap_or(i64::MAX)),
    }
}

fn coarse(seconds: i64) -> String {
    let (count, unit) = match seconds {
        ..60 => (seconds, "s"),
        60..3_600 => (seconds / 60, "min"),
        3_600..86_400 => (seconds / 3_600, "h"),
        _ => (seconds / 86_400, "d"),
    };
    format!("{count} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_the_digits_that_matter() {
        let spans = [7, 1_234, 12_345, 999_999, 1_500_000, 61_000_000, 7_200_000_000];
        assert_eq!(
            spans.map(span),
            ["7 µs", "1.2 ms", "12 ms", "999 ms", "1.5 s", "1 min", "2 h"].map(str::to_owned)
        );
    }

    #[test]
    fn the_past_and_the_future_are_told_apart() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        assert_eq!(ago(at(0), at(1)), "just now");
        assert_eq!(ago(at(0), at(7_300)), "2 h ago");
        assert_eq!(until(at(90), at(0)), "in 1 min");
        assert_eq!(until(at(0), at(90)), "over");
    }
}
