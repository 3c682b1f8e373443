//! Polling: retries a question for which there is no event.

use std::time::{Duration, Instant};

/// The timeout; longer than anything takes that comes at all.
const PATIENCE: Duration = Duration::from_secs(40);

/// Polls until there is an answer.
#[track_caller]
pub fn eventually<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < until, "it never comes");
        std::thread::sleep(Duration::from_millis(5));
    }
}
