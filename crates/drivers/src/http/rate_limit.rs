//! Rate limit of an HTTP backend (`rate_limit`): spaces requests by the minute and allows a burst.

use std::time::Duration;

use haft_contract::driver::manifest::BackendRate;
use haft_model::{Cause, CauseDetail, Code, Stop};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// A rate limiter in which one request at a time waits for its slot. A request that is cancelled
/// while it waits uses no slot.
pub(super) struct Pace {
    /// The interval between requests.
    each: Duration,
    /// The burst tolerance, as time.
    ahead: Duration,
    /// Until when the rate is used up; `None` before the first request.
    used_until: Mutex<Option<Instant>>,
}

impl Pace {
    /// The limiter of a rate; `None` where the rate sets no limit.
    pub(super) fn of(rate: BackendRate) -> Option<Pace> {
        let each = Duration::from_secs(60) / rate.requests_per_minute.filter(|many| *many > 0)?;
        let ahead = each.saturating_mul(rate.burst.unwrap_or(1).saturating_sub(1));
        Some(Pace { each, ahead, used_until: Mutex::new(None) })
    }

    /// Waits for a slot; refuses at once where it comes after the deadline.
    pub(super) async fn turn(&self, deadline: Instant) -> Result<(), Stop> {
        let mut used_until = self.used_until.lock().await;
        let now = Instant::now();
        let used = used_until.map_or(now, |until| until.max(now));
        let turn = used.checked_sub(self.ahead).map_or(now, |turn| turn.max(now));
        if turn > deadline {
            let wait = turn.duration_since(now).as_millis();
            let words = "its driver may not ask again before the time of the call is over";
            let cause = Cause::running().with(CauseDetail::RetryAfterMs(wait as u64));
            return Err(Stop::new(Code::RateLimited, words).because(cause));
        }
        tokio::time::sleep_until(turn).await;
        *used_until = Some(used + self.each);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(requests_per_minute: u32, burst: Option<u32>) -> Pace {
        Pace::of(BackendRate { requests_per_minute: Some(requests_per_minute), burst }).unwrap()
    }

    /// The delay in milliseconds after which each request got its slot.
    async fn turns(pace: &Pace, many: usize) -> Vec<u128> {
        let start = Instant::now();
        let mut turns = Vec::new();
        for _ in 0..many {
            pace.turn(start + Duration::from_secs(3600)).await.unwrap();
            turns.push(start.elapsed().as_millis());
        }
        turns
    }

    #[tokio::test(start_paused = true)]
    async fn requests_keep_their_distance_after_a_burst() {
        assert_eq!(turns(&pace(60, None), 3).await, [0, 1000, 2000]);
        assert_eq!(turns(&pace(60, Some(3)), 5).await, [0, 0, 0, 1000, 2000]);
        let rested = pace(60, Some(2));
        turns(&rested, 2).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(turns(&rested, 3).await, [0, 0, 1000]);
        assert!(Pace::of(BackendRate { requests_per_minute: None, burst: Some(3) }).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn cancelled_or_late_caller_consumes_no_rate_limit_slot() {
        let pace = pace(60, None);
        let start = Instant::now();
        let soon = start + Duration::from_millis(300);
        pace.turn(soon).await.unwrap();
        let late = pace.turn(soon).await.unwrap_err();
        assert_eq!((late.code, start.elapsed().as_millis()), (Code::RateLimited, 0));
        let far = start + Duration::from_secs(9);
        let given_up = tokio::time::timeout(Duration::from_millis(500), pace.turn(far)).await;
        assert!(given_up.is_err());
        pace.turn(far).await.unwrap();
        assert_eq!(start.elapsed().as_millis(), 1000);
    }
}
