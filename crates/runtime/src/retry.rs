//! Retry and backoff: the effect state of a failed attempt decides whether another follows, the
//! contract's policy decides when.

use std::time::Duration;

use haft_driver::Failure;
use haft_model::{Backoff, Code, EffectState, RetryPolicy};

/// Retry class of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryKind {
    /// The call changes nothing.
    Read,
    /// A repeat changes nothing more: by nature, or because the backend deduplicates by idempotency
    /// key.
    Idempotent,
    /// A repeat has the effect twice.
    Write,
}

/// What may follow a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A retry under the same idempotency key.
    Again,
    /// A status lookup at the backend.
    AskStatus,
    /// No retry and no lookup.
    Stop,
}

/// ARuntime's retry table: for each effect state, what may follow for a read, an idempotent write
/// and any other write.
pub(crate) const TABLE: [(EffectState, [Next; 3]); 9] = {
    use Next::{Again, AskStatus, Stop};
    [
        (EffectState::None, [Again, Stop, Stop]),
        (EffectState::NotSubmitted, [Again, Again, Again]),
        (EffectState::Submitted, [Again, AskStatus, AskStatus]),
        (EffectState::Unknown, [Again, AskStatus, AskStatus]),
        (EffectState::NotCommitted, [Again, Again, Again]),
        (EffectState::PartiallyCommitted, [Stop, Stop, Stop]),
        (EffectState::Committed, [Again, Stop, Stop]),
        (EffectState::Compensated, [Stop, Stop, Stop]),
        (EffectState::CompensationFailed, [Stop, Stop, Stop]),
    ]
};

/// Decides what follows a failure. Only transient codes are retried; a refusal stays a refusal.
pub(crate) fn next(failure: &Failure, kind: RetryKind, declared_retryable: bool) -> Next {
    let passing = match failure.stop.code {
        Code::TimeoutBeforeSubmit
        | Code::TimeoutUnknownCommit
        | Code::DependencyUnavailable
        | Code::RateLimited => true,
        Code::ExecutionFailed => declared_retryable,
        _ => false,
    };
    // The outcome is unknown, so it needs a lookup whatever the code.
    let lost = matches!(failure.effect, EffectState::Submitted | EffectState::Unknown);
    let row = TABLE.iter().find(|(effect, _)| *effect == failure.effect);
    let Some((_, row)) = row else { return Next::Stop };
    let [read, idempotent, write] = *row;
    let allowed = match kind {
        RetryKind::Read => read,
        RetryKind::Idempotent => idempotent,
        RetryKind::Write => write,
    };
    match allowed {
        Next::AskStatus if lost => Next::AskStatus,
        Next::Again if passing => Next::Again,
        Next::Again | Next::AskStatus | Next::Stop => Next::Stop,
    }
}

/// Backoff before attempt `number`, from 2 on; `jitter` is from 0 to 1, and a longer
/// `retry_after_ms` of the backend wins.
pub(crate) fn pause(policy: RetryPolicy, number: u32, failure: &Failure, jitter: f64) -> Duration {
    let doubled = match policy.backoff {
        Backoff::Fixed => 0,
        Backoff::Exponential => number.saturating_sub(2).min(20),
    };
    let planned = policy.initial_ms.saturating_mul(1 << doubled);
    let spread = planned as f64 * (0.5 + jitter.clamp(0.0, 1.0) / 2.0);
    let wished = failure.stop.cause.retry_after_ms().unwrap_or(0);
    Duration::from_millis((spread as u64).max(wished))
}

#[cfg(test)]
mod tests {
    use haft_model::{CauseDetail, Stop};

    use super::*;

    fn failed(code: Code, effect: EffectState) -> Failure {
        Failure::new(Stop::new(code, "it failed"), effect)
    }

    #[test]
    fn every_state_of_the_effect_has_its_row_once() {
        for state in EffectState::ALL {
            assert_eq!(TABLE.iter().filter(|(row, _)| row == state).count(), 1, "{state}");
        }
    }

    #[test]
    fn retry_table_holds_for_transient_failure_in_every_cell() {
        for (effect, cells) in TABLE {
            for (kind, expected) in
                [RetryKind::Read, RetryKind::Idempotent, RetryKind::Write].iter().zip(cells)
            {
                let failure = failed(Code::DependencyUnavailable, effect);
                assert_eq!(next(&failure, *kind, false), expected, "{effect} {kind:?}");
            }
        }
    }

    #[test]
    fn a_refusal_is_never_asked_for_again() {
        for (effect, _) in TABLE {
            let failure = failed(Code::Conflict, effect);
            let lost = matches!(effect, EffectState::Submitted | EffectState::Unknown);
            let expected = if lost { Next::AskStatus } else { Next::Stop };
            assert_eq!(next(&failure, RetryKind::Write, true), expected, "{effect}");
            assert_eq!(next(&failure, RetryKind::Read, true), Next::Stop, "{effect}");
        }
    }

    #[test]
    fn tool_error_is_retried_only_if_contract_says_so() {
        let failure = failed(Code::ExecutionFailed, EffectState::NotCommitted);
        assert_eq!(next(&failure, RetryKind::Write, true), Next::Again);
        assert_eq!(next(&failure, RetryKind::Write, false), Next::Stop);
    }

    #[test]
    fn backoff_doubles_with_jitter_and_honors_retry_after() {
        let policy =
            RetryPolicy { max_attempts: 5, backoff: Backoff::Exponential, initial_ms: 100 };
        let plain = failed(Code::RateLimited, EffectState::NotSubmitted);
        let waits: Vec<u128> =
            (2..6).map(|number| pause(policy, number, &plain, 1.0).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800]);
        assert_eq!(pause(policy, 2, &plain, 0.0).as_millis(), 50);
        let mut wishing = plain;
        wishing.stop = wishing.stop.because(CauseDetail::RetryAfterMs(1500));
        assert_eq!(pause(policy, 2, &wishing, 1.0).as_millis(), 1500);
    }
}
