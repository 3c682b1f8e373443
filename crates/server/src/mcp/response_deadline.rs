//! Response deadline: when the client of a request stops waiting for its result.
//!
//! A result that leaves later does not count as delivered, so the client that sends the call again
//! gets it instead of a second effect.

use std::time::Duration;

use haft_model::ClientClock;
use tokio::time::Instant;

/// The deadline of one request, by the clock of its client.
pub(super) struct ResponseDeadline {
    clock: ClientClock,
    at: Instant,
}

impl ResponseDeadline {
    /// The deadline of a request that came in now.
    pub(super) fn new(clock: ClientClock) -> ResponseDeadline {
        ResponseDeadline { clock, at: Instant::now() + clock.timeout }
    }

    /// Takes note of progress that was sent.
    pub(super) fn progressed(&mut self) {
        if self.clock.progress_resets {
            self.at = Instant::now() + self.clock.timeout;
        }
    }

    /// Takes note of a form that was open for this long.
    pub(super) fn asked_for(&mut self, open: Duration) {
        if self.clock.forms_stop {
            self.at += open;
        }
    }

    /// Whether the client has stopped waiting.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() > self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the deadline is over after progress at 40 s, a form of 30 s and 20 s more.
    async fn is_over(client: &str) -> bool {
        let mut deadline = ResponseDeadline::new(ClientClock::of_client(client));
        let pause = async |seconds| tokio::time::advance(Duration::from_secs(seconds)).await;
        pause(40).await;
        deadline.progressed();
        pause(30).await;
        deadline.asked_for(Duration::from_secs(30));
        pause(20).await;
        deadline.is_over()
    }

    #[tokio::test(start_paused = true)]
    async fn deadline_follows_progress_and_forms_of_client() {
        for (client, expected) in
            [("zed", true), ("unknown", true), ("opencode", false), ("codex", false)]
        {
            assert_eq!(is_over(client).await, expected, "{client}");
        }
        let codex =
            ClientClock { timeout: Duration::from_secs(60), ..ClientClock::of_client("codex") };
        let mut deadline = ResponseDeadline::new(codex);
        tokio::time::advance(Duration::from_secs(80)).await;
        deadline.asked_for(Duration::from_secs(30));
        assert!(!deadline.is_over(), "its timeout stands still while a form is open");
    }
}
