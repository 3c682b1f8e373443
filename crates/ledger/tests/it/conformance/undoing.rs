//! Compensation conformance: what is learned of an effect after its call ended.

use haft_ledger::{Draft, Guard, OpenUndoing, Run, RunFilter, Store, Story};
use haft_model::{
    ActorId, Compensating, CompensationEnded, EffectSettled, EffectState, Event, Fact, Status,
};

use crate::conformance::cases::{add, refused};
use crate::sample::*;

async fn run(store: &dyn Store) -> Run {
    let filter = RunFilter { id: Some(id(1)), ..RunFilter::default() };
    store.runs(&filter).await.unwrap().remove(0)
}

async fn story(store: &dyn Store) -> Story {
    Story::fold(&store.story(&id(1)).await.unwrap()).unwrap()
}

/// An entry that is written only if nothing else was since another (optimistic concurrency).
fn unless_changed(last: u64, fact: Fact) -> Draft {
    Draft { guards: vec![Guard::Unchanged(last)], ..draft(1, vec![fact]) }
}

fn settled(ms: i64, effect: EffectState) -> Fact {
    let by = ActorId::from("user:bo");
    let reason = "the bank says so".to_owned();
    fact(ms, Event::EffectSettled(EffectSettled { effect, by, reason }))
}

async fn last(store: &dyn Store) -> u64 {
    story(store).await.entries.last().copied().unwrap()
}

pub(crate) async fn an_effect_is_settled_after_the_end_and_once(store: &dyn Store) {
    add(store, beginning(1, 0)).await;
    add(store, draft(1, vec![ended(50, Status::TimedOut, EffectState::Unknown)])).await;
    add(store, beginning(2, 60)).await;
    let before = run(store).await;
    let unknown = RunFilter { unknown: true, ..RunFilter::default() };
    assert_eq!(store.runs(&unknown).await.unwrap(), std::slice::from_ref(&before));

    let seen = last(store).await;
    add(store, unless_changed(seen, settled(70, EffectState::Committed))).await;
    let again = unless_changed(seen, settled(80, EffectState::NotCommitted));
    assert_eq!(refused(store, again).await, Guard::Unchanged(seen));
    let stranger =
        Draft { invocation: Some(id(9)), ..unless_changed(seen, settled(80, EffectState::None)) };
    assert_eq!(refused(store, stranger).await, Guard::Unchanged(seen));

    let expected = Run { effect_state: EffectState::Committed, ..before };
    assert_eq!(run(store).await, expected, "nothing but the effect changes");
    assert_eq!(store.runs(&unknown).await.unwrap(), []);
    let told = story(store).await;
    assert_eq!((told.status, told.effect_state), (Status::TimedOut, EffectState::Committed));
    assert_eq!(told.settlements.len(), 1);
    assert_eq!(told.settlements[0].0, at(70));
}

pub(crate) async fn a_run_follows_the_calls_that_undo_it(store: &dyn Store) {
    add(store, whole(1, 0)).await;
    let before = run(store).await;
    let steps = [
        (Event::Compensating(Compensating { by: id(2) }), EffectState::Committed, Some(2)),
        (over(2, EffectState::CompensationFailed), EffectState::CompensationFailed, None),
        (Event::Compensating(Compensating { by: id(3) }), EffectState::CompensationFailed, Some(3)),
        (over(3, EffectState::Compensated), EffectState::Compensated, None),
    ];
    for ((event, effect, open), ms) in steps.into_iter().zip(1000..) {
        let seen = last(store).await;
        add(store, unless_changed(seen, fact(ms, event))).await;
        assert_eq!(run(store).await, Run { effect_state: effect, ..before.clone() });
        let told = story(store).await;
        assert_eq!(told.effect_state, effect);
        assert_eq!(told.open_undoing().cloned(), open.map(id));
        assert_eq!(store.undoings().await.unwrap(), open.map(undoing).as_slice());
    }
    let told = story(store).await;
    let effects: Vec<_> = told.undoings.iter().map(|undoing| undoing.effect).collect();
    let expected = [EffectState::CompensationFailed, EffectState::Compensated].map(Some);
    assert_eq!(effects, expected);
}

pub(crate) async fn whoever_undoes_and_did_not_tell_is_listed(store: &dyn Store) {
    for (number, ms) in [(1, 0), (2, 100), (3, 200)] {
        add(store, whole(number, ms)).await;
    }
    assert_eq!(store.undoings().await.unwrap(), []);
    let begin = |by| Event::Compensating(Compensating { by: id(by) });
    let about = |number, event| draft(number, vec![fact(1000, event)]);
    add(store, about(3, begin(13))).await;
    add(store, about(1, begin(11))).await;
    let open = |original, by| OpenUndoing { original: id(original), by: id(by) };
    assert_eq!(store.undoings().await.unwrap(), [open(1, 11), open(3, 13)]);
    add(store, about(3, over(19, EffectState::Compensated))).await;
    assert_eq!(store.undoings().await.unwrap(), [open(1, 11), open(3, 13)], "another one ended");
    add(store, about(3, over(13, EffectState::Compensated))).await;
    assert_eq!(store.undoings().await.unwrap(), [open(1, 11)]);
    // A call with two compensations is open only in the second.
    add(store, about(1, begin(12))).await;
    add(store, about(1, over(11, EffectState::Committed))).await;
    assert_eq!(store.undoings().await.unwrap(), [open(1, 12)]);
}

fn undoing(by: u64) -> OpenUndoing {
    OpenUndoing { original: id(1), by: id(by) }
}

fn over(by: u64, effect: EffectState) -> Event {
    Event::CompensationEnded(CompensationEnded { by: id(by), effect })
}
