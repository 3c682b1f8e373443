//! Timeout tests (§23, test 17): before and after the request was sent.

use haft_ledger::Story;
use haft_model::{Code, EffectState};
use haft_testkit::{Act, Backend, Keys, Then};
use serde_json::json;

use super::{open, payment, payments, shop};

/// (a) The backend refuses connections until the timeout: nothing was sent, and it was retried.
#[tokio::test]
async fn test_17_a_nothing_was_sent() {
    let backend = Backend::closed(Keys::Ignored);
    let folder = shop(&backend, true, false, 400);
    let host = open(&folder);
    let paid = host.call(payment(&host)).await;
    let error = paid.error.unwrap();
    assert_eq!(paid.effect_state, EffectState::NotSubmitted, "{error:?}");
    assert!(
        matches!(error.error_code, Code::TimeoutBeforeSubmit | Code::DependencyUnavailable),
        "{error:?}"
    );
    let entries = host.reader().story(&paid.invocation_id).await.unwrap();
    let attempts = Story::fold(&entries).unwrap().attempts;
    assert!(attempts.len() > 1, "it was not tried again: {attempts:?}");
    assert!(attempts.iter().all(|attempt| attempt.submitted_at.is_none()), "{attempts:?}");
    assert_eq!(backend.effects(), 0);
}

/// (b) It was committed and never answered: one status query, and its result is adopted.
#[tokio::test]
async fn test_17_b_status_lookup_adopts_lost_commit() {
    let backend = Backend::new(Keys::Ignored);
    backend.will(Act::commits(Then::Hang));
    let folder = shop(&backend, true, false, 400);
    let host = open(&folder);
    let paid = host.call(payment(&host)).await;
    assert_eq!((paid.error, paid.effect_state), (None, EffectState::Committed));
    assert_eq!(paid.structured_content, Some(json!({"id": "effect-1"})));
    assert_eq!((payments(&backend), backend.effects(), backend.heard().len()), (1, 1, 2));
}

/// (c) It was not committed, and the backend deduplicates by key: it is retried under the same key
/// at once.
#[tokio::test]
async fn test_17_c_absent_write_retries_with_same_key() {
    let backend = Backend::new(Keys::Enforced);
    backend.will(Act::refuses(Then::Reset));
    let folder = shop(&backend, true, true, 10_000);
    let host = open(&folder);
    let paid = host.call(payment(&host)).await;
    assert_eq!((paid.error, paid.effect_state), (None, EffectState::Committed));
    assert_eq!((payments(&backend), backend.effects()), (2, 1));
    let heard = backend.heard();
    let key =
        |heard: &haft_testkit::ReceivedRequest| heard.header("idempotency-key").map(str::to_owned);
    let keys: Vec<_> = heard.iter().filter(|heard| heard.path == "/pay").map(key).collect();
    assert!(keys.first().unwrap().is_some() && keys.first() == keys.last(), "{keys:?}");
}

/// (c) without keys: the backend knows nothing of it yet, which settles nothing before the deadline.
#[tokio::test]
async fn test_17_c_absent_write_before_deadline_not_retried() {
    let backend = Backend::new(Keys::Ignored);
    backend.will(Act::refuses(Then::Reset));
    let folder = shop(&backend, true, false, 10_000);
    let host = open(&folder);
    let paid = host.call(payment(&host)).await;
    let until = paid.error.and_then(|error| error.until);
    assert_eq!((until.is_some(), paid.effect_state), (true, EffectState::Unknown));
    assert_eq!((payments(&backend), backend.effects()), (1, 0));
}

/// (d) No status query is possible: one payment, and its outcome is unknown.
#[tokio::test]
async fn test_17_d_unknown_outcome_is_not_retried() {
    let backend = Backend::new(Keys::Ignored);
    backend.will(Act::commits(Then::Hang));
    let folder = shop(&backend, false, false, 400);
    let host = open(&folder);
    let paid = host.call(payment(&host)).await;
    let error = paid.error.unwrap();
    assert_eq!(error.error_code, Code::TimeoutUnknownCommit);
    assert_eq!((paid.effect_state, payments(&backend)), (EffectState::Unknown, 1));
    assert!(!error.retry.safe);
}
