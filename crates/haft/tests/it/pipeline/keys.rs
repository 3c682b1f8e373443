//! Idempotency key edge cases: odd keys and followers that go away break nothing, and nothing runs
//! twice.

use std::future::Future;
use std::sync::Arc;
use std::task::Poll;

use haft_driver::Output;
use haft_model::{Call, Code, EffectState, Envelope};
use haft_runtime::{Batch, CallOptions};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::stage::*;

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

fn keyed(stage: &Stage, tool: &str, input: Value, key: &str) -> Call {
    let mut call = Call::new(stage.agent(), tool, input);
    call.key = Some(key.to_owned());
    call
}

fn code(envelope: &Envelope) -> Option<Code> {
    envelope.error.as_ref().map(|error| error.error_code)
}

#[tokio::test]
async fn any_key_that_says_something_is_one() {
    let long = "k".repeat(1 << 20);
    for key in [long.as_str(), "a\u{0}b\n\u{1b}[31m", " k ", "\u{202e}k", "k"] {
        let stage = Setting::default().tool("pay", WRITE).settings(ALLOW).open();
        let first = stage.host.call(keyed(&stage, "pay", json!({"n": 1}), key)).await;
        let again = stage.host.call(keyed(&stage, "pay", json!({"n": 1}), key)).await;
        assert_eq!((first.error, again.error, again.replayed), (None, None, true));
        let other = stage.host.call(keyed(&stage, "pay", json!({"n": 2}), key)).await;
        assert_eq!((code(&other), stage.canary.count()), (Some(Code::Conflict), 1));
    }
}

#[tokio::test]
async fn a_key_that_says_nothing_is_refused() {
    let stage = Setting::default().tool("pay", WRITE).settings(ALLOW).open();
    for key in ["", " ", "\t\n"] {
        let refused = stage.host.call(keyed(&stage, "pay", json!({}), key)).await;
        assert_eq!((code(&refused), stage.canary.count()), (Some(Code::InputValue), 0), "{key:?}");
    }
}

#[tokio::test]
async fn a_read_neither_takes_a_key_nor_minds_one() {
    let stage = Setting::default().tool("pay", WRITE).tool("look", READ).settings(ALLOW).open();
    for n in 0..2 {
        let read = stage.host.call(keyed(&stage, "look", json!({"n": n}), "k")).await;
        assert_eq!((read.error, read.replayed), (None, false));
    }
    let paid = stage.host.call(keyed(&stage, "pay", json!({}), "k")).await;
    let read = stage.host.call(keyed(&stage, "look", json!({}), "k")).await;
    assert_eq!((paid.error, read.error, stage.canary.count()), (None, None, 4));
}

#[tokio::test]
async fn unresolvable_resource_template_fails_call_before_submission() {
    let contract = extras(WRITE, "{ resource: \"account:${input.account}\" }");
    let stage = Setting::default().tool("pay", &contract).settings(ALLOW).open();
    let refused = stage.host.call(keyed(&stage, "pay", json!({}), "k")).await;
    assert_eq!((code(&refused), stage.canary.count()), (Some(Code::InputValue), 0));
    let paid = stage.host.call(keyed(&stage, "pay", json!({"account": 1}), "k")).await;
    assert_eq!((paid.error, stage.canary.count()), (None, 1));
}

/// Polls something once.
async fn begins(work: &mut (impl Future + Unpin)) {
    let mut work = std::pin::Pin::new(work);
    std::future::poll_fn(|context| {
        assert!(work.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[tokio::test]
async fn cancelled_or_dropped_duplicate_leaves_original_call_running() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, gate) = (started.clone(), go.clone());
    let stage = Setting::default()
        .tool("pay", WRITE)
        .settings(ALLOW)
        .act("pay", move |_| {
            let (told, gate) = (told.clone(), gate.clone());
            Box::pin(async move {
                told.notify_one();
                gate.notified().await;
                Ok(Output::committed(json!({})))
            })
        })
        .open();
    let other = stage.another(|_| {});
    let call = || Call::new(stage.agent(), "pay", json!({}));
    let mut first = Box::pin(stage.host.runtime().call(call(), CallOptions::default()));
    begins(&mut first).await;
    for host in [&stage.host, &other] {
        let manner = CallOptions::default();
        let cancel = manner.cancel.clone();
        let mut follower = Box::pin(host.runtime().call(call(), manner));
        begins(&mut follower).await;
        cancel.cancel();
        let follower = follower.await;
        assert_eq!(code(&follower), Some(Code::CanceledCaller));
        assert!(follower.error.unwrap().message.contains("which goes on"));
        // A batch that is dropped while one of its calls waits affects no other caller.
        let batch = host.runtime().batch_all(Batch::new([call()]), CallOptions::default());
        begins(&mut Box::pin(batch)).await;
    }
    go.notify_one();
    let first = first.await;
    assert_eq!((first.effect_state, stage.canary.count()), (EffectState::Committed, 1));
    let open = haft_ledger::RunFilter { open: true, ..Default::default() };
    assert_eq!(stage.store.runs(&open).await.unwrap(), []);
}
