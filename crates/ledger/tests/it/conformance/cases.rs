//! Store conformance: appending, guards, leases and payloads.

use std::time::Duration;

use haft_ledger::{
    Disclosure, Draft, Error, Guard, LedgerEntry, QuestionFilter, Receipt, Store, Wait,
};
use haft_model::{
    ActorId, BootTime, Declared, Digest, DualTime, EffectState, Event, InvocationId, Note,
    Reported, StandingAnswer, StandingRevoked, Status,
};
use serde_json::Value;

use crate::sample::*;

pub(crate) async fn add(store: &dyn Store, draft: Draft) -> u64 {
    let receipt = store.append(draft, Wait::Disk).await.unwrap();
    receipt.seq.unwrap()
}

pub(crate) async fn refused(store: &dyn Store, draft: Draft) -> Guard {
    match store.append(draft, Wait::Disk).await {
        Err(Error::Forbidden(guard)) => guard,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn all(store: &dyn Store) -> Vec<LedgerEntry> {
    store.entries(None, usize::MAX).await.unwrap()
}

pub(crate) fn parsed(entry: &LedgerEntry) -> Value {
    serde_json::from_str(&entry.line).unwrap()
}

/// Recomputes the hash chain in the slow and obvious way.
pub(crate) fn assert_chained(entries: &[LedgerEntry]) {
    let mut previous = "GENESIS".to_owned();
    for (entry, expected) in entries.iter().zip(0..) {
        let mut value = parsed(entry);
        assert_eq!(String::from_utf8(haft_model::canonical(&value)).unwrap(), entry.line);
        let hash = value.as_object_mut().unwrap().remove("hash").unwrap();
        let expected_hash = Digest::of(&value);
        assert_eq!(format!("sha256:{}", hash.as_str().unwrap()), expected_hash.as_str());
        assert_eq!(value["prevHash"], *previous);
        assert_eq!((entry.seq, &value["seq"]), (expected, &Value::from(expected)));
        previous = hash.as_str().unwrap().to_owned();
    }
}

pub(crate) async fn entries_come_out_in_order_and_form_one_chain(store: &dyn Store) {
    assert_eq!(all(store).await, []);
    for number in 0..5 {
        assert_eq!(add(store, whole(number, number as i64 * 100)).await, number);
    }
    let note = fact(900, Event::Note(Note { text: "all is well".to_owned() }));
    add(store, Draft { facts: vec![note], ..Draft::default() }).await;
    let entries = all(store).await;
    assert_chained(&entries);
    assert_eq!(entries.len(), 6);
    let middle = store.entries(Some(1), 2).await.unwrap();
    assert_eq!(middle, entries[2..4]);
    assert_eq!(store.entries(Some(5), 9).await.unwrap(), []);
    let house = parsed(&entries[5]);
    assert_eq!(
        [&house["action"], &house["actor"]["id"], &house["subject"]["kind"]],
        ["audit.note", "system:haft", "log"]
    );
    let call = parsed(&entries[0]);
    assert_eq!([&call["action"], &call["actor"]["id"]], ["tool.call", "agent:ana"]);
    assert_eq!(call["subject"]["ref"], "shop.charge@2.1.0");
    assert_eq!(call["metadata"]["haft"]["invocation"], "inv_00000000");
    assert_eq!(call["input"]["$redacted"], true);
}

pub(crate) async fn time_never_goes_back(store: &dyn Store) {
    for ms in [500, 100, 600] {
        add(store, whole(ms as u64, ms)).await;
    }
    let times: Vec<_> = all(store).await.iter().map(|entry| parsed(entry)["ts"].clone()).collect();
    // The last fact of a whole call is 12 milliseconds after its first.
    let stamp = |ms| format!("{:.3}", at(ms));
    assert_eq!(times, [stamp(512), stamp(512), stamp(612)]);
}

pub(crate) async fn a_fence_keeps_out_whoever_lost_the_lease(store: &dyn Store) {
    let call = id(1);
    add(store, beginning(1, 0)).await;
    let first = store.lease(&call, "one", at(0).into(), at(100).into()).await.unwrap().unwrap();
    let fenced = |token| Draft {
        guards: vec![Guard::Fence(token)],
        ..draft(1, vec![attempt_ended(50, EffectState::Unknown)])
    };
    add(store, fenced(first.0)).await;
    let second = store.lease(&call, "two", at(100).into(), at(200).into()).await.unwrap().unwrap();
    assert!(second.0 > first.0);
    assert_eq!(refused(store, fenced(first.0)).await, Guard::Fence(first.0));
    add(store, fenced(second.0)).await;
    store.release(&call, second, Disclosure::Outcome).await.unwrap();
    refused(store, fenced(second.0)).await;
    assert_eq!(all(store).await.len(), 3);
}

pub(crate) async fn nobody_answers_twice_or_too_late(store: &dyn Store) {
    add(store, asking(1, 0, 1000)).await;
    let answering = |by: &str, ms| Draft {
        guards: vec![Guard::Unanswered {
            question: question_id(1),
            answered_by: by.to_owned(),
            at: at(ms),
        }],
        ..draft(1, vec![answer(1, by, true, ms)])
    };
    refused(store, answering("user:bo", 1000)).await;
    add(store, answering("user:bo", 999)).await;
    refused(store, answering("user:bo", 999)).await;
    add(store, answering("user:cy", 999)).await;
    let no = Draft { facts: vec![answer(1, "user:di", false, 999)], ..answering("user:di", 999) };
    add(store, no).await;
    refused(store, answering("user:ed", 999)).await;
    let unknown = Guard::Unanswered {
        question: question_id(2),
        answered_by: "user:bo".to_owned(),
        at: at(0),
    };
    refused(store, Draft { guards: vec![unknown], ..Draft::default() }).await;
    assert_eq!(all(store).await.len(), 4);
}

pub(crate) async fn nothing_follows_an_end(store: &dyn Store) {
    let going_on = || Draft {
        guards: vec![Guard::NotEnded],
        ..draft(1, vec![ended(50, Status::Canceled, EffectState::NotSubmitted)])
    };
    let mut first = asking(1, 0, 100);
    first.guards = vec![Guard::NotEnded];
    add(store, first).await;
    add(store, going_on()).await;
    assert_eq!(refused(store, going_on()).await, Guard::NotEnded);
}

pub(crate) async fn a_declaration_is_written_once(store: &dyn Store) {
    let declaring = |text: &str| {
        let declaration = blob(text, false);
        let tool = "shop.charge@2".to_owned();
        let declared = Declared {
            tool: tool.clone(),
            version: "2.1.0".to_owned(),
            declaration: kept(&declaration),
        };
        let guard = Guard::NewDeclaration { tool, digest: declaration.digest.clone() };
        Draft {
            subject: Some("shop.charge@2.1.0".to_owned()),
            facts: vec![fact(0, Event::Declared(declared))],
            blobs: vec![declaration],
            guards: vec![guard],
            ..Draft::default()
        }
    };
    add(store, declaring("one")).await;
    refused(store, declaring("one")).await;
    add(store, declaring("two")).await;
    add(store, declaring("one")).await;
    // The payload of a workspace entry is found under no id.
    let house = InvocationId::from("");
    let bytes = store.payload(&house, &Digest::of_bytes(b"two")).await.unwrap();
    assert_eq!(bytes.as_deref(), Some(b"two".as_slice()));
}

pub(crate) async fn a_standing_answer_stands_until_it_is_taken_back(store: &dyn Store) {
    let given = |number, tenant: &str| StandingAnswer {
        id: question_id(number),
        actor: ana().id,
        tenant: tenant.to_owned(),
        tool: "shop.charge@2".to_owned(),
        effects: Digest::of(&"effects"),
        by: ActorId::from("user:bo"),
        at: at(5),
    };
    let [ours, theirs] = [given(1, "default"), given(2, "other")];
    for answer in [&theirs, &ours] {
        let fact = fact(5, Event::StandingGiven(answer.clone()));
        add(store, Draft { facts: vec![fact], ..Draft::default() }).await;
    }
    assert_eq!(store.standing(None).await.unwrap(), [ours.clone(), theirs.clone()]);
    assert_eq!(store.standing(Some("default")).await.unwrap(), [ours]);
    let revoking = || {
        let revoked = StandingRevoked { id: question_id(1), by: ActorId::from("user:bo") };
        Draft {
            facts: vec![fact(6, Event::StandingRevoked(revoked))],
            guards: vec![Guard::Stands(question_id(1))],
            ..Draft::default()
        }
    };
    add(store, revoking()).await;
    refused(store, revoking()).await;
    assert_eq!(store.standing(None).await.unwrap(), [theirs]);
    let actions: Vec<_> =
        all(store).await.iter().map(|entry| parsed(entry)["action"].clone()).collect();
    assert_eq!(actions, ["approval.standing", "approval.standing", "approval.revoked"]);
}

pub(crate) async fn a_lease_is_exclusive_runs_out_and_is_given_back(store: &dyn Store) {
    let [one, two] = [id(1), id(2)];
    let take = async |call: &InvocationId, owner: &str, now: i64, until: i64| {
        store.lease(call, owner, at(now).into(), at(until).into()).await.unwrap()
    };
    let first = take(&one, "ann", 0, 100).await.unwrap();
    assert_eq!(take(&one, "bob", 99, 200).await, None);
    let other = take(&two, "ann", 0, 100).await.unwrap();
    assert!(other != first);
    store.renew(&one, first, at(150).into()).await.unwrap();
    assert_eq!(take(&one, "bob", 149, 200).await, None);
    assert!(take(&two, "bob", 149, 200).await.is_some(), "another call of the same owner");
    // A renewal never shortens a lease.
    store.renew(&one, first, at(120).into()).await.unwrap();
    assert_eq!(take(&one, "bob", 149, 200).await, None);
    let again = take(&one, "ann", 149, 160).await.unwrap();
    // A lost lease does not renew its successor.
    store.renew(&one, first, at(500).into()).await.unwrap();
    let taken = take(&one, "bob", 160, 300).await.unwrap();
    assert!(first.0 < again.0 && again.0 < taken.0);
    // A lost lease releases nothing.
    store.release(&one, again, Disclosure::Outcome).await.unwrap();
    assert_eq!(take(&one, "ann", 200, 300).await, None);
    store.release(&one, taken, Disclosure::Outcome).await.unwrap();
    let last = take(&one, "ann", 200, 300).await.unwrap();
    assert!(last.0 > taken.0);
}

pub(crate) async fn a_lease_of_one_boot_is_judged_by_it_alone(store: &dyn Store) {
    let moment = |wall: i64, boot: &str, micros: u64| DualTime {
        at: at(wall),
        boot: Some(BootTime { id: boot.into(), micros }),
    };
    let first = store.lease(&id(1), "ann", moment(0, "a", 0), moment(100, "a", 100)).await;
    let first = first.unwrap().unwrap();
    let take = async |now: DualTime| {
        let until = now.later(std::time::Duration::from_secs(1));
        store.lease(&id(1), "bob", now, until).await.unwrap()
    };
    assert_eq!(take(moment(60_000, "a", 99)).await, None, "its calendar is ahead");
    assert!(store.renew(&id(1), first, moment(50, "a", 150)).await.unwrap());
    assert_eq!(take(moment(60_000, "a", 149)).await, None, "it was prolonged by a calendar behind");
    assert_eq!(take(moment(49, "b", 5000)).await, None, "another boot goes by the calendar");
    let taken = take(moment(0, "a", 150)).await.unwrap();
    assert!(!store.renew(&id(1), first, moment(900, "a", 900)).await.unwrap(), "it was lost");
    assert!(store.renew(&id(1), taken, moment(900, "a", 900)).await.unwrap());
}

pub(crate) async fn payloads_come_back_as_they_were(store: &dyn Store) {
    let large = "x".repeat(100_000);
    let blobs = vec![
        blob("small", false),
        blob("small and secret", true),
        blob(&large, false),
        blob(&format!("{large}!"), true),
        blob("", false),
    ];
    let twice = [blobs.clone(), blobs.clone()].concat();
    let sent = Draft { blobs: twice, ..draft(1, vec![submitted(0)]) };
    add(store, sent).await;
    add(store, Draft { blobs: vec![blob("of another", false)], ..draft(2, vec![submitted(0)]) })
        .await;
    for blob in &blobs {
        let found = store.payload(&id(1), &blob.digest).await.unwrap();
        assert!(found.as_ref() == Some(&blob.bytes), "{} of {}", blob.digest, blob.bytes.len());
        assert_eq!(store.payload(&id(2), &blob.digest).await.unwrap(), None);
    }
    for stray in ["sha256:00", "../../x", ""] {
        assert_eq!(store.payload(&id(1), &Digest::from(stray)).await.unwrap(), None);
    }
}

pub(crate) async fn what_is_forgotten_is_gone_and_its_entry_stays(store: &dyn Store) {
    let large = blob(&"y".repeat(50_000), true);
    let small = blob("small", false);
    let other = blob("other", false);
    for number in [1, 2] {
        let blobs = vec![large.clone(), small.clone(), other.clone()];
        add(store, Draft { blobs, ..draft(number, vec![submitted(7)]) }).await;
    }
    let found = async |number, blob: &haft_ledger::Blob| {
        store.payload(&id(number), &blob.digest).await.unwrap().is_some()
    };
    for blob in [&large, &small] {
        assert!(store.forget(&id(1), &blob.digest).await.unwrap());
        assert!(!store.forget(&id(1), &blob.digest).await.unwrap());
        assert!(!found(1, blob).await);
        assert!(found(2, blob).await, "another call needs the same bytes");
    }
    assert!(found(1, &other).await);
    assert!(store.forget(&id(2), &large.digest).await.unwrap());
    assert!(!found(2, &large).await);
    let entries = all(store).await;
    assert_chained(&entries);
    assert_eq!(entries.len(), 5);
    let last = parsed(&entries[4]);
    assert_eq!(last["action"], "payload.forgotten");
    assert_eq!(last["metadata"]["haft"]["forgot"], large.digest.as_str());
    assert_eq!(store.story(&id(2)).await.unwrap().len(), 2);
}

pub(crate) async fn bytes_that_are_not_those_of_their_digest_are_refused(store: &dyn Store) {
    let mut wrong = blob("right", false);
    wrong.bytes = b"wrong".to_vec();
    let sent = Draft { blobs: vec![wrong], ..draft(1, vec![submitted(0)]) };
    let fault = store.append(sent, Wait::Disk).await.unwrap_err();
    assert!(matches!(fault, Error::Unwritable { .. }), "{fault}");
    assert_eq!(all(store).await, []);
}

pub(crate) async fn numbers_are_doubles_for_everybody(store: &dyn Store) {
    let reported = |sequence| {
        let reported = Reported {
            sequence,
            status: "running".to_owned(),
            elapsed_ms: 5,
            progress: Default::default(),
            cancel: None,
        };
        draft(1, vec![fact(0, Event::Progressed(Box::new(reported)))])
    };
    let fault = store.append(reported(u64::MAX), Wait::Disk).await.unwrap_err();
    assert!(matches!(fault, Error::Unwritable { .. }), "nobody could read it back: {fault}");
    add(store, reported(1 << 53)).await;

    // The stored question is the one that the log recorded.
    let mut asking = asking(2, 0, 100);
    let mut question = question(2, 0, 100);
    question.shown_input = serde_json::json!({"account": 12_345_678_901_234_567_891_u64});
    asking.facts.truncate(3);
    asking.facts.push(fact(0, Event::PermissionRequested(Box::new(question))));
    add(store, asking).await;
    let filter = QuestionFilter { id: Some(question_id(2)), ..QuestionFilter::default() };
    let asked = store.questions(&filter).await.unwrap().remove(0);
    let shown = serde_json::json!({"account": 12_345_678_901_234_567_000_u64});
    assert_eq!(asked.question.shown_input, shown);
}

pub(crate) async fn waiting_ends_with_the_next_entry_or_with_the_time(store: &dyn Store) {
    let briefly = Duration::from_millis(20);
    assert_eq!(store.wait_past(None, briefly).await.unwrap(), None);
    add(store, whole(0, 0)).await;
    assert_eq!(store.wait_past(None, briefly).await.unwrap(), Some(0));
    assert_eq!(store.wait_past(Some(0), briefly).await.unwrap(), Some(0));
    let (waited, _) =
        tokio::join!(store.wait_past(Some(0), Duration::from_secs(60)), add(store, whole(1, 0)));
    assert_eq!(waited.unwrap(), Some(1));
}

pub(crate) async fn sixty_four_may_append_at_once(store: &dyn Store) {
    let one = async |writer: u64| {
        let mut seqs = Vec::new();
        for round in 0..8 {
            seqs.push(add(store, whole(writer * 8 + round, 0)).await);
        }
        assert!(seqs.is_sorted(), "{seqs:?}");
        seqs
    };
    let mut seqs = Vec::new();
    let mut writers: Vec<_> = (0..64).map(|writer| Box::pin(one(writer))).collect();
    // All of them are polled before any is done.
    let everybody = std::future::poll_fn(|context| {
        writers.retain_mut(|writer| match writer.as_mut().poll(context) {
            std::task::Poll::Ready(found) => {
                seqs.extend(found);
                false
            }
            std::task::Poll::Pending => true,
        });
        if writers.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    });
    everybody.await;
    seqs.sort_unstable();
    assert_eq!(seqs, (0..512).collect::<Vec<_>>());
    assert_chained(&all(store).await);
}

pub(crate) async fn what_is_queued_is_there_after_a_flush(store: &dyn Store) {
    for number in 0..100 {
        let receipt = store.append(whole(number, 0), Wait::Queue).await.unwrap();
        assert_eq!(receipt, Receipt { seq: None, fence: None });
    }
    // A refused entry takes no other along, and no caller learns of it.
    let ended = Draft { guards: vec![Guard::NotEnded], ..whole(1, 0) };
    store.append(ended, Wait::Queue).await.unwrap();
    assert_eq!(add(store, whole(100, 0)).await, 100);
    store.append(whole(101, 0), Wait::Queue).await.unwrap();
    store.flush().await.unwrap();
    let entries = all(store).await;
    assert_eq!(entries.len(), 102);
    assert_chained(&entries);
}
