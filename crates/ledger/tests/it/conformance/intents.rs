//! Idempotency conformance: one call carries each intent out, and a store knows which.

use haft_ledger::{Disclosure, Draft, Guard, LeaseClaim, MemoryStore, Store, Story};
use haft_model::{
    Digest, EffectSettled, EffectState, Event, Intent, IntentState, KeySource, SentAgain, Status,
};

use crate::conformance::cases::{add, refused};
use crate::sample::*;

pub(crate) fn intent(name: &str) -> Intent {
    Intent {
        intent: Digest::from(name),
        binding: Digest::from("sha256:b"),
        key: "0b5a".to_owned(),
        source: KeySource::Caller,
        until: at(10_000),
    }
}

fn bound(number: u64, name: &str, holder: Option<u64>) -> Draft {
    let input = blob(r#"{"order":"A-1001"}"#, false);
    let bound = fact(1, Event::IntentBound(Box::new(intent(name))));
    let (intent, source) = (Digest::from(name), KeySource::Caller);
    let guard = Guard::Intent { intent, source, holder: holder.map(id) };
    let claim = LeaseClaim { owner: "one".to_owned(), now: at(0).into(), until: at(100).into() };
    Draft {
        guards: vec![guard],
        blobs: vec![input.clone()],
        claim: Some(claim),
        ..draft(number, vec![planned(0, ana(), &input), bound])
    }
}

pub(crate) async fn an_intent_has_one_call_that_carries_it_out(store: &dyn Store) {
    let name = Digest::from("sha256:1");
    assert_eq!(store.intent(&name, KeySource::Caller).await.unwrap(), None);
    add(store, bound(1, "sha256:1", None)).await;
    let record = store.intent(&name, KeySource::Caller).await.unwrap().unwrap();
    assert_eq!((record.intent, record.run.invocation_id), (intent("sha256:1"), id(1)));
    assert_eq!(
        record.lease.map(|lease| (lease.owner, lease.until)),
        Some(("one".into(), at(100).into()))
    );
    // A caller that did not know of the first is refused; one that did may follow it.
    for holder in [None, Some(7)] {
        let objection = refused(store, bound(2, "sha256:1", holder)).await;
        let (intent, source) = (name.clone(), KeySource::Caller);
        assert_eq!(objection, Guard::Intent { intent, source, holder: holder.map(id) });
    }
    assert_eq!(
        store.intent(&name, KeySource::Caller).await.unwrap().unwrap().run.invocation_id,
        id(1)
    );
    add(store, bound(2, "sha256:1", Some(1))).await;
    assert_eq!(
        store.intent(&name, KeySource::Caller).await.unwrap().unwrap().run.invocation_id,
        id(2)
    );
    add(store, bound(3, "sha256:2", None)).await;
}

pub(crate) async fn a_lease_outlives_the_end_of_its_call_and_is_not_taken_after_it(
    store: &dyn Store,
) {
    add(store, bound(1, "sha256:1", None)).await;
    add(store, draft(1, vec![ended(5, Status::Succeeded, EffectState::Committed)])).await;
    let record = store.intent(&Digest::from("sha256:1"), KeySource::Caller).await.unwrap().unwrap();
    assert_eq!(record.run.effect_state, EffectState::Committed);
    let lease = record.lease.unwrap();
    let late = store.lease(&id(1), "two", at(500).into(), at(600).into()).await.unwrap();
    assert_eq!(late, None, "nobody has to write about what is over");
    let again = fact(9, Event::SentAgain(SentAgain { channel: "cli".into(), native: Vec::new() }));
    add(store, draft(1, vec![again])).await;
    store.release(&id(1), lease.fence, Disclosure::Outcome).await.unwrap();
    let record = store.intent(&Digest::from("sha256:1"), KeySource::Caller).await.unwrap().unwrap();
    assert_eq!(record.lease, None);
}

#[tokio::test]
async fn a_story_tells_how_far_its_intent_is() {
    let ends = [
        (None, IntentState::Open),
        (Some((Status::Succeeded, EffectState::Committed)), IntentState::Done),
        (Some((Status::Failed, EffectState::PartiallyCommitted)), IntentState::Done),
        (Some((Status::TimedOut, EffectState::Unknown)), IntentState::Unknown),
        (Some((Status::Canceled, EffectState::NotSubmitted)), IntentState::Free),
        (Some((Status::Failed, EffectState::NotCommitted)), IntentState::Free),
    ];
    for (end, expected) in ends {
        let store = MemoryStore::new();
        add(&store, bound(1, "sha256:1", None)).await;
        if let Some((status, effect)) = end {
            add(&store, draft(1, vec![ended(5, status, effect)])).await;
        }
        let story = Story::fold(&store.story(&id(1)).await.unwrap()).unwrap();
        assert_eq!(story.intent_state(), Some(expected), "{end:?}");
    }
    let store = MemoryStore::new();
    add(&store, whole(1, 0)).await;
    let story = Story::fold(&store.story(&id(1)).await.unwrap()).unwrap();
    assert_eq!(story.intent_state(), None, "a call without an intent has no state of one");
}

fn plain(number: u64, holder: Option<u64>) -> Draft {
    let mut draft = bound(number, "sha256:p", holder);
    for guard in &mut draft.guards {
        if let Guard::Intent { source, .. } = guard {
            *source = KeySource::Intent;
        }
    }
    for fact in &mut draft.facts {
        if let Event::IntentBound(intent) = &mut fact.event {
            intent.source = KeySource::Intent;
        }
    }
    draft
}

pub(crate) async fn keyless_intent_told_as_unknown_stays_although_settled_meanwhile(
    store: &dyn Store,
) {
    let name = Digest::from("sha256:p");
    add(store, plain(1, None)).await;
    let record = store.intent(&name, KeySource::Intent).await.unwrap().unwrap();
    let fence = record.lease.unwrap().fence;
    add(store, draft(1, vec![ended(5, Status::Failed, EffectState::Unknown)])).await;
    let settled = EffectSettled {
        effect: EffectState::Committed,
        by: ana().id,
        reason: "another process asked the backend".to_owned(),
    };
    add(store, draft(1, vec![fact(6, Event::EffectSettled(settled))])).await;
    store.release(&id(1), fence, Disclosure::Unknown).await.unwrap();
    let record = store.intent(&name, KeySource::Intent).await.unwrap().unwrap();
    assert_eq!((record.run.effect_state, record.lease), (EffectState::Committed, None));
    assert!(matches!(refused(store, plain(2, None)).await, Guard::Intent { .. }));
}

pub(crate) async fn an_intent_without_a_key_is_known_until_its_answer_is_handed_over(
    store: &dyn Store,
) {
    let name = Digest::from("sha256:p");
    let holder =
        async || Some(store.intent(&name, KeySource::Intent).await.unwrap()?.run.invocation_id);
    let fence = async || {
        store.intent(&name, KeySource::Intent).await.unwrap().unwrap().lease.unwrap().fence
    };
    add(store, plain(1, None)).await;
    assert_eq!(holder().await, Some(id(1)));
    assert!(matches!(refused(store, plain(2, None)).await, Guard::Intent { .. }));
    // A call that waits for approval releases its lease, and still holds the intent.
    store.release(&id(1), fence().await, Disclosure::Outcome).await.unwrap();
    assert_eq!(holder().await, Some(id(1)));
    add(store, draft(1, vec![ended(5, Status::Failed, EffectState::NotSubmitted)])).await;
    assert_eq!(holder().await, None, "it came to nothing");
    add(store, plain(2, None)).await;
    add(store, draft(2, vec![ended(6, Status::Succeeded, EffectState::Committed)])).await;
    assert_eq!(holder().await, Some(id(2)), "nobody has the answer");
    store.release(&id(2), fence().await, Disclosure::Outcome).await.unwrap();
    assert_eq!(holder().await, None);
    add(store, plain(3, Some(2))).await;
    add(store, draft(3, vec![ended(7, Status::Failed, EffectState::Unknown)])).await;
    store.release(&id(3), fence().await, Disclosure::Outcome).await.unwrap();
    assert_eq!(holder().await, Some(id(3)), "nobody knows what became of it");
    assert!(matches!(refused(store, plain(4, None)).await, Guard::Intent { .. }));
    add(store, plain(4, Some(3))).await;
    assert_eq!(holder().await, Some(id(4)));
    // Its effect is unknown too, and the first of the two does not block the next.
    add(store, draft(4, vec![ended(8, Status::Failed, EffectState::Unknown)])).await;
    store.release(&id(4), fence().await, Disclosure::Outcome).await.unwrap();
    add(store, plain(5, Some(4))).await;
    assert_eq!(holder().await, Some(id(5)));
}
