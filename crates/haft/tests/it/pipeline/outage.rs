//! Store outage: nothing runs without a record, and every call is answered within its own timeout.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haft_driver::Output;
use haft_ledger::{BoxFuture, Draft, Error, MemoryStore, Receipt, Store, Wait};
use haft_model::{Code, EffectState};
use serde_json::json;

use crate::meddled::{MeddledStore, Meddler};
use crate::stage::{READ, Setting, WRITE};

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

/// More than any call here may take, and less than a test may.
const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn outage_refuses_every_call_before_its_driver() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let setting = Setting::default().tool("note.keep", WRITE).tool("note.show", READ);
    let stage = setting.settings(ALLOW).store(store.clone()).open();
    store.health().fail("the disk is full");
    for tool in ["note.show", "note.keep", "note.unheard_of"] {
        let envelope = stage.call(tool, json!({"a": 1})).await;
        let error = envelope.error.as_ref().unwrap();
        assert_eq!(error.error_code, Code::StoreUnavailable, "{tool}");
        assert!(error.message.contains("the disk is full"), "{}", error.message);
        assert!(!envelope.effect_state.may_have_happened());
        assert!(envelope.unrecorded.is_some(), "a refusal that is not on record says so");
    }
    assert_eq!((stage.canary.count(), store.entries(None, 100).await.unwrap().len()), (0, 0));

    store.health().recover();
    assert_eq!(stage.call("note.show", json!({"a": 1})).await.error, None);
    assert_eq!(stage.call("note.keep", json!({"a": 1})).await.error, None);
    assert_eq!(stage.canary.count(), 2);
}

/// A store that another program holds: entries about calls wait for as long as they may.
#[derive(Default)]
struct Held(Arc<AtomicBool>);

impl Meddler for Held {
    fn append<'a>(
        &'a self,
        store: &'a dyn Store,
        draft: Draft,
        wait: Wait,
    ) -> BoxFuture<'a, Result<Receipt, Error>> {
        Box::pin(async move {
            if draft.invocation.is_none() || !self.0.load(Ordering::SeqCst) {
                return store.append(draft, wait).await;
            }
            match wait {
                Wait::Until(until) => tokio::time::sleep_until(until.into()).await,
                Wait::Disk => std::future::pending().await,
                Wait::Queue => return store.append(draft, wait).await,
            }
            Err(Error::Unwritable { cause: "another program holds it".to_owned() })
        })
    }
}

#[tokio::test]
async fn stalled_store_keeps_no_call_beyond_its_time() {
    let held = Arc::new(AtomicBool::new(false));
    // The store is held from the beginning, or by the time the effect has taken place.
    for before in [true, false] {
        held.store(before, Ordering::SeqCst);
        let store = MeddledStore::new(Arc::new(MemoryStore::new()), Held(held.clone()));
        let during = held.clone();
        let setting = Setting::default()
            .tool("note.keep", &format!("{WRITE}timeout_ms: 300\n"))
            .settings(ALLOW)
            .store(Arc::new(store))
            .act("note.keep", move |_| {
                let during = during.clone();
                Box::pin(async move {
                    during.store(true, Ordering::SeqCst);
                    Ok(Output::committed(json!({"done": true})))
                })
            });
        let stage = setting.open();
        let call = stage.call("note.keep", json!({"a": 1}));
        let envelope = tokio::time::timeout(LONG, call).await.unwrap();
        let code = envelope.error.as_ref().map(|error| error.error_code);
        let told = (code, envelope.effect_state, stage.canary.count());
        match before {
            true => {
                let expected = (Some(Code::StoreUnavailable), EffectState::NotSubmitted, 0);
                assert_eq!(told, expected);
            }
            false => {
                assert_eq!(told, (None, EffectState::Committed, 1));
                assert!(envelope.unrecorded.is_some(), "the caller is told the truth");
            }
        }
    }
}

#[tokio::test]
async fn read_that_ends_during_an_outage_says_so() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let down = store.clone();
    let setting = Setting::default().tool("note.show", READ).settings(ALLOW).store(store.clone());
    let setting = setting.act("note.show", move |_| {
        down.health().fail("the disk is full");
        Box::pin(async { Ok(Output::read(json!({"done": true}))) })
    });
    let stage = setting.open();
    let envelope = stage.call("note.show", json!({"a": 1})).await;
    let told = envelope.unrecorded.unwrap_or_default();
    assert!(told.contains("the disk is full"), "{told}");
    store.health().recover();
    assert_eq!(stage.call("note.show", json!({"a": 2})).await.error, None);
}
