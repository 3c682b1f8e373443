//! Histogram of durations in seconds, in Prometheus buckets.

use super::line;

/// Upper bounds of the buckets, in seconds.
const ENDS: [f64; 12] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 600.0, 3600.0];

/// A cumulative histogram.
#[derive(Default)]
pub(super) struct Histogram {
    /// Number of samples within each bound.
    within: [u64; ENDS.len()],
    count: u64,
    sum: f64,
}

impl Histogram {
    pub(super) fn add(&mut self, seconds: f64) {
        for (within, end) in self.within.iter_mut().zip(ENDS) {
            *within += u64::from(seconds <= end);
        }
        self.count += 1;
        self.sum += seconds;
    }

    /// Writes it as the metric of a tool.
    pub(super) fn write(&self, text: &mut String, name: &str, tool: &str) {
        for (within, end) in self.within.iter().zip(ENDS) {
            line(text, format!("{name}_bucket{{tool=\"{tool}\",le=\"{end}\"}} {within}"));
        }
        line(text, format!("{name}_bucket{{tool=\"{tool}\",le=\"+Inf\"}} {}", self.count));
        line(text, format!("{name}_sum{{tool=\"{tool}\"}} {}", self.sum));
        line(text, format!("{name}_count{{tool=\"{tool}\"}} {}", self.count));
    }
}
