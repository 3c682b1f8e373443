//! Deduplication test: the same call sent a thousand times by sixteen callers has one effect and
//! one result.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::task::Poll;

use haft_runtime::CallOptions;
use haft_testkit::{Act, Backend, Keys, Then};
use serde_json::json;
use tokio::sync::Barrier;

use super::{open, payment, payments, shop};

const CALLERS: usize = 16;
const EACH: usize = 63;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousand_concurrent_duplicates_execute_once() {
    sent_again(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousand_duplicates_after_caller_disconnect_execute_once() {
    sent_again(true).await;
}

async fn sent_again(vanishes: bool) {
    let backend = Arc::new(Backend::new(Keys::Ignored));
    backend.will(Act::commits(Then::Id).held());
    let folder = shop(&backend, false, false, 60_000);
    let host = Arc::new(open(&folder));
    let first = {
        let host = host.clone();
        tokio::spawn(async move { host.call(payment(&host)).await })
    };
    let began = backend.clone();
    tokio::task::spawn_blocking(move || began.wait_for(1)).await.unwrap();
    if vanishes {
        first.abort();
    }
    let all_sent = Arc::new(Barrier::new(CALLERS + 1));
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (host, all_sent) = (host.clone(), all_sent.clone());
            tokio::spawn(async move {
                let send = || Box::pin(host.runtime().call(payment(&host), CallOptions::default()));
                let mut calls: Vec<_> = (0..EACH).map(|_| send()).collect();
                for call in &mut calls {
                    let polled = |context: &mut std::task::Context<'_>| {
                        Poll::Ready(call.as_mut().poll(context).is_pending())
                    };
                    assert!(std::future::poll_fn(polled).await, "it cannot have ended");
                }
                all_sent.wait().await;
                let mut answers = Vec::new();
                for call in calls {
                    answers.push(call.await);
                }
                answers
            })
        })
        .collect();
    all_sent.wait().await;
    backend.let_go();
    let mut answers = BTreeSet::new();
    let mut count = 0;
    for caller in callers {
        for answer in caller.await.unwrap() {
            assert_eq!(answer.structured_content, Some(json!({"id": "effect-1"})));
            assert!(answer.replayed);
            answers.insert((answer.invocation_id, answer.result_id));
            count += 1;
        }
    }
    if !vanishes {
        let first = first.await.unwrap();
        answers.insert((first.invocation_id, first.result_id));
    }
    assert_eq!((count, answers.len()), (CALLERS * EACH, 1));
    assert_eq!((backend.effects(), payments(&backend)), (1, 1));
    // Answered once, the same call is another one.
    let another = host.call(payment(&host)).await;
    assert_eq!((another.replayed, backend.effects()), (false, 2));
}
