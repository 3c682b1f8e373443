//! Ledger fault tests: the ledger fails at each step in turn; there is always an envelope, and
//! never an effect that was not on record first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_driver::{Attempt, Failure, Output};
use haft_ledger::{BoxFuture, Draft, Error, MemoryStore, Receipt, Store, Wait};
use haft_model::{Code, EffectState, Envelope, Event, Fact, InvocationId, Timestamp, Verdict};
use haft_runtime::Reader;
use serde_json::json;

use crate::meddled::{MeddledStore, Meddler};
use crate::stage::{READ, Setting, Stage, WRITE};
use crate::story::checked;

/// How a store misbehaves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// One entry is not written.
    Once,
    /// From one entry on nothing is written.
    FromThen,
    /// Before one entry, another process takes the lease.
    Stolen,
}

/// A meddler that fails one of the entries about calls.
struct Faulty {
    fault: Fault,
    at: usize,
    seen: AtomicUsize,
}

impl Faulty {
    fn store(fault: Fault, at: usize) -> Arc<dyn Store> {
        let faulty = Faulty { fault, at, seen: AtomicUsize::new(0) };
        Arc::new(MeddledStore::new(Arc::new(MemoryStore::new()), faulty))
    }
}

impl Meddler for Faulty {
    fn append<'a>(
        &'a self,
        store: &'a dyn Store,
        draft: Draft,
        wait: Wait,
    ) -> BoxFuture<'a, Result<Receipt, Error>> {
        Box::pin(async move {
            let Some(id) = draft.invocation.clone() else {
                return store.append(draft, wait).await;
            };
            let number = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
            match self.fault {
                Fault::Once if number == self.at => {}
                Fault::FromThen if number >= self.at => {}
                Fault::Stolen if number == self.at => {
                    let long_after: Timestamp = "2200-01-01T00:00:00Z".parse().unwrap();
                    store.lease(&id, "thief", long_after.into(), long_after.into()).await?;
                    return store.append(draft, wait).await;
                }
                Fault::Once | Fault::FromThen | Fault::Stolen => {
                    return store.append(draft, wait).await;
                }
            }
            Err(Error::Unwritable { cause: "the disk is full".into() })
        })
    }
}

/// Effects, each with whether it was on record before it happened.
type Effects = Arc<Mutex<Vec<bool>>>;

async fn on_record(store: &dyn Store, id: &InvocationId) -> bool {
    let facts = facts(store, id).await;
    let allowed = facts.iter().any(|fact| match &fact.event {
        Event::PermissionDecided(decided) => {
            decided.decision.verdict == Verdict::Allow && decided.call_input.is_some()
        }
        _ => false,
    });
    allowed && facts.iter().any(|fact| matches!(fact.event, Event::Submitted(_)))
}

async fn facts(store: &dyn Store, id: &InvocationId) -> Vec<Fact> {
    let entries = store.story(id).await.unwrap();
    entries.iter().flat_map(|entry| Reader::facts(entry).unwrap()).collect()
}

type Ran<'a> = haft_driver::BoxFuture<'a, Result<Output, Failure>>;

/// A write that looks at the record before it happens.
fn looking(
    effects: Effects,
    store: Arc<dyn Store>,
    reports: bool,
) -> impl for<'a> Fn(Attempt<'a>) -> Ran<'a> {
    move |attempt| {
        let (effects, store) = (effects.clone(), store.clone());
        Box::pin(async move {
            attempt.link.progress(haft_model::Progress::default()).await;
            if reports {
                attempt.link.submit().await?;
            }
            let known = on_record(store.as_ref(), attempt.permit().invocation()).await;
            effects.lock().unwrap().push(known);
            Ok(Output::committed(json!({"done": true})))
        })
    }
}

/// A stage whose writes look at the record before they happen.
fn stage(store: Arc<dyn Store>, reports: bool, rule: &str) -> (Stage, Effects) {
    let effects = Effects::default();
    let act = looking(effects.clone(), store.clone(), reports);
    let setting = Setting::default()
        .tool("note.keep", WRITE)
        .tool("note.show", READ)
        .settings(&format!("[[rule]]\ntool = \"*\"\nverdict = \"{rule}\"\n"))
        .store(store)
        .options(|options| options.lease = Duration::from_millis(50));
    let setting = match reports {
        true => setting.reporting_act("note.keep", act),
        false => setting.act("note.keep", act),
    };
    (setting.open(), effects)
}

/// What must hold of a call whatever the ledger did.
async fn held(stage: &Stage, effects: &Effects, envelope: &Envelope, fault: Fault) {
    assert!(effects.lock().unwrap().iter().all(|recorded| *recorded), "an effect without a record");
    assert!(effects.lock().unwrap().len() <= 1);
    let facts = stage.facts_so_far(&envelope.invocation_id).await;
    let ended = facts.iter().filter(|fact| fact.event.end().is_some()).count();
    match &envelope.unrecorded {
        Some(_) => assert_eq!(ended, 0),
        // The process that took the lease ends the call; its effect is on record all the same.
        None if fault == Fault::Stolen && ended == 0 => {
            assert!(facts.iter().any(|fact| matches!(fact.event, Event::EffectObserved(_))));
        }
        None => {
            checked(stage, envelope).await;
        }
    }
    let happened = !effects.lock().unwrap().is_empty();
    // The process that took the lease may have sent it, for all that this process knows.
    let told = match (fault, envelope.unrecorded.is_some(), envelope.effect_state) {
        (Fault::Stolen, true, EffectState::Unknown) => happened,
        (_, _, effect) => effect.may_have_happened(),
    };
    assert_eq!(happened, told, "{:?}", envelope.error);
    if happened && envelope.unrecorded.is_some() {
        assert_eq!(envelope.effect_state, EffectState::Committed, "the caller is told the truth");
    }
    if let Some(error) = envelope.error.as_ref().filter(|_| !happened) {
        let expected = match fault {
            Fault::Once | Fault::FromThen => Code::StoreUnavailable,
            Fault::Stolen => Code::Internal,
        };
        assert_eq!(error.error_code, expected);
    }
}

const FAULTS: [Fault; 3] = [Fault::Once, Fault::FromThen, Fault::Stolen];

#[tokio::test]
async fn a_write_that_the_rules_allow() {
    let mut unrecorded = 0;
    for fault in FAULTS {
        for reports in [false, true] {
            for at in 1..=5 {
                let (stage, effects) = stage(Faulty::store(fault, at), reports, "allow");
                let envelope = stage.call("note.keep", json!({"a": 1})).await;
                held(&stage, &effects, &envelope, fault).await;
                unrecorded += usize::from(envelope.unrecorded.is_some());
                let settled = stage.another(|_| {}).runtime().recover().await.unwrap();
                for after in settled {
                    assert_eq!(after.invocation_id, envelope.invocation_id);
                    let happened = !effects.lock().unwrap().is_empty();
                    let unknown = after.effect_state == EffectState::Unknown;
                    assert!(unknown || !happened, "nobody may think that it can be sent again");
                }
                assert!(effects.lock().unwrap().len() <= 1, "it was sent twice");
            }
        }
    }
    assert!(unrecorded > 0, "no case lost the end of a call");
}

#[tokio::test]
async fn a_write_that_a_person_allows() {
    for fault in FAULTS {
        for at in 1..=7 {
            let (stage, effects) = stage(Faulty::store(fault, at), false, "ask");
            let pending = stage.call_and_leave("note.keep", json!({"a": 1})).await;
            assert!(effects.lock().unwrap().is_empty());
            let Some(question) = pending.approval_id.clone() else {
                held(&stage, &effects, &pending, fault).await;
                continue;
            };
            let answered = stage.host.runtime().answer_and_run(&question, stage.yes()).await;
            if let Ok(haft_runtime::AnswerOutcome::CarriedOut(envelope)) = answered {
                held(&stage, &effects, &envelope, fault).await;
            }
            assert!(effects.lock().unwrap().iter().all(|recorded| *recorded));
            assert!(effects.lock().unwrap().len() <= 1);
        }
    }
}

#[tokio::test]
async fn read_succeeds_unrecorded_when_store_fails() {
    let (stage, _) = stage(Faulty::store(Fault::FromThen, 1), false, "allow");
    let envelope = stage.call("note.show", json!({"a": 1})).await;
    assert_eq!(envelope.error, None);
    assert_eq!(envelope.structured_content, Some(json!({"a": 1})));
    let said = envelope.unrecorded.unwrap();
    assert!(said.contains("the disk is full"), "{said}");
}

#[tokio::test]
async fn lost_final_record_is_reported_as_unrecorded() {
    let store = Faulty::store(Fault::Once, usize::MAX);
    let (probe, _) = stage(store.clone(), false, "allow");
    let whole = probe.call("note.keep", json!({})).await;
    let last = store.story(&whole.invocation_id).await.unwrap().len();
    let (stage, effects) = stage(Faulty::store(Fault::Once, last), false, "allow");
    let envelope = stage.call("note.keep", json!({})).await;
    assert_eq!((envelope.error.clone(), envelope.effect_state), (None, EffectState::Committed));
    assert!(envelope.unrecorded.is_some());
    // The lease is kept until the result was delivered, which the store learns beside the call.
    tokio::task::yield_now().await;
    let settled = stage.another(|_| {}).runtime().recover().await.unwrap();
    let [after] = settled.as_slice() else { panic!("{settled:?}") };
    assert_eq!(after.effect_state, EffectState::Unknown);
    assert!(!after.error.as_ref().unwrap().retry.safe);
    assert_eq!(effects.lock().unwrap().len(), 1);
    checked(&stage, after).await;
}
