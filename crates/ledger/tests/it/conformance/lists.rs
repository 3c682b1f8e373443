//! Projection conformance: the lists that derive from the facts.

use haft_ledger::{QuestionFilter, Run, RunFilter, Store, Use, UseFilter};
use haft_model::{
    Actor, Charge, Closed, Code, DriverId, EffectState, Ended, Event, QuestionState, Role, Status,
    Tri,
};

use crate::conformance::cases::add;
use crate::sample::*;

async fn numbers(store: &dyn Store, filter: RunFilter) -> Vec<u64> {
    let runs = store.runs(&filter).await.unwrap();
    let number = |run: &Run| run.invocation_id.as_str().trim_start_matches("inv_").parse().unwrap();
    runs.iter().map(number).collect()
}

pub(crate) async fn runs_are_listed_newest_first_and_in_pages(store: &dyn Store) {
    for number in 0..120 {
        add(store, whole(number, number as i64)).await;
    }
    let all = numbers(store, RunFilter::default()).await;
    assert_eq!(all, (70..120).rev().collect::<Vec<_>>(), "fifty, where nobody says");
    let page = |before| RunFilter { before: Some(id(before)), most: 3, ..RunFilter::default() };
    assert_eq!(numbers(store, page(70)).await, [69, 68, 67]);
    assert_eq!(numbers(store, page(2)).await, [1, 0]);
    assert_eq!(numbers(store, page(0)).await, [0; 0]);
    assert_eq!(numbers(store, page(999)).await, [0; 0], "nothing is before what nobody knows");
}

/// Ten calls by two actors of two tenants to two tools, with different outcomes.
async fn fill(store: &dyn Store) {
    for number in 0..10 {
        let mut call = beginning(number, number as i64);
        let who = if number % 2 == 0 { "agent:ana" } else { "agent:bob" };
        let tenant = if number < 5 { "default" } else { "other" };
        call.facts[0] =
            planned(number as i64, Actor::new(who, tenant, [Role::Agent]), &blob("input", false));
        call.blobs.push(blob("input", false));
        call.facts[1] =
            selected(number as i64, if number < 8 { "shop.charge@2" } else { "shop.refund@1" });
        add(store, call).await;
        let (status, effect) = match number {
            0 => continue,
            1 | 4 => (Status::Failed, EffectState::NotCommitted),
            2 => (Status::TimedOut, EffectState::Unknown),
            3 => (Status::Denied, EffectState::NotSubmitted),
            _ => (Status::Succeeded, EffectState::Committed),
        };
        add(store, draft(number, vec![ended(100 + number as i64, status, effect)])).await;
    }
}

pub(crate) async fn runs_are_filtered(store: &dyn Store) {
    fill(store).await;
    let any = RunFilter::default;
    let named = |tool: &str| RunFilter { tool: Some(tool.to_owned()), ..any() };
    let in_state = |status: &[Status]| RunFilter { status: status.to_vec(), ..any() };
    for (filter, expected) in [
        (RunFilter { id: Some(id(4)), ..any() }, vec![4]),
        (RunFilter { tenant: Some("default".to_owned()), ..any() }, vec![4, 3, 2, 1, 0]),
        (RunFilter { actor: Some("agent:bob".to_owned()), ..any() }, vec![9, 7, 5, 3, 1]),
        (named("shop.refund"), vec![9, 8]),
        (named("shop.refund@1"), vec![9, 8]),
        (named("shop.refund@2"), vec![]),
        (named("shop"), vec![]),
        (RunFilter { open: true, ..any() }, vec![0]),
        (RunFilter { unknown: true, ..any() }, vec![2]),
        (in_state(&[Status::Failed]), vec![4, 1]),
        (in_state(&[Status::Denied, Status::Failed, Status::TimedOut]), vec![4, 3, 2, 1]),
        (in_state(&[Status::Succeeded, Status::Denied]), vec![9, 8, 7, 6, 5, 3]),
        (in_state(&[Status::Running]), vec![0]),
        (RunFilter { most: 2, ..in_state(&[Status::Denied, Status::Failed]) }, vec![4, 3]),
        (RunFilter { before: Some(id(3)), ..in_state(&[Status::Failed]) }, vec![1]),
        (RunFilter { tenant: Some("other".to_owned()), ..named("shop.charge") }, vec![7, 6, 5]),
        (RunFilter { open: true, tenant: Some("other".to_owned()), ..any() }, vec![]),
    ] {
        assert_eq!(numbers(store, filter.clone()).await, expected, "{filter:?}");
    }
}

pub(crate) async fn a_run_follows_its_facts(store: &dyn Store) {
    let input = blob("{}", false);
    let first = draft(1, vec![planned(5, ana(), &input)]);
    add(store, haft_ledger::Draft { blobs: vec![input.clone()], ..first }).await;
    let run = async || {
        store.runs(&RunFilter { id: Some(id(1)), ..RunFilter::default() }).await.unwrap().remove(0)
    };
    let mut expected = Run {
        invocation_id: id(1),
        tool_id: "unresolved:shop.charge".to_owned(),
        actor: "agent:ana".to_owned(),
        tenant: "default".to_owned(),
        status: Status::Planned,
        effect_state: EffectState::NotSubmitted,
        error_code: None,
        approval_id: None,
        created_at: at(5),
        ended_at: None,
    };
    assert_eq!(run().await, expected);

    let mut read = ready(7, &input);
    if let Event::ArgumentsReady(ready) = &mut read.event {
        ready.facts.is_read_only = Tri::Yes;
    }
    let asked = Event::PermissionRequested(Box::new(question(1, 8, 900)));
    add(store, draft(1, vec![selected(6, "shop.charge@2"), read, fact(8, asked)])).await;
    expected.tool_id = "shop.charge@2".to_owned();
    expected.status = Status::AwaitingApproval;
    expected.effect_state = EffectState::None;
    expected.approval_id = Some(question_id(1));
    assert_eq!(run().await, expected);

    add(store, draft(1, vec![decided(9, &input, Some(question_id(1))), started(9, &input, 1)]))
        .await;
    expected.status = Status::Running;
    expected.approval_id = None;
    assert_eq!(run().await, expected);

    add(store, draft(1, vec![submitted(10)])).await;
    expected.effect_state = EffectState::Submitted;
    assert_eq!(run().await, expected);

    let end = Event::ending(Ended {
        final_status: Status::TimedOut,
        effect: EffectState::Unknown,
        code: Some(Code::TimeoutUnknownCommit),
        message: None,
        stage: None,
    });
    add(store, draft(1, vec![fact(11, end)])).await;
    expected.status = Status::TimedOut;
    expected.effect_state = EffectState::Unknown;
    expected.error_code = Some(Code::TimeoutUnknownCommit);
    expected.ended_at = Some(at(11));
    assert_eq!(run().await, expected);

    // The backend was asked later on.
    add(store, draft(1, vec![attempt_ended(50, EffectState::Committed)])).await;
    expected.effect_state = EffectState::Committed;
    assert_eq!(run().await, expected);
}

pub(crate) async fn questions_follow_their_facts(store: &dyn Store) {
    for number in 1..=4 {
        add(store, asking(number, 0, 1000)).await;
    }
    let closed = |number, state| {
        let reason = "time is over".to_owned();
        fact(6, Event::Closed(Closed { question: question_id(number), state, reason }))
    };
    let input = blob("{}", false);
    let yes = [answer(1, "user:bo", true, 5), answer(1, "user:cy", true, 6)];
    add(store, draft(1, yes.to_vec())).await;
    add(store, draft(1, vec![decided(6, &input, Some(question_id(1)))])).await;
    add(store, draft(2, vec![answer(2, "user:bo", false, 5)])).await;
    // A settled question stays settled.
    add(store, draft(2, vec![closed(2, QuestionState::Withdrawn)])).await;
    add(store, draft(3, vec![closed(3, QuestionState::Expired)])).await;
    let states = async |filter: QuestionFilter| {
        let found = store.questions(&filter).await.unwrap();
        let short = found.into_iter().map(|it| (it.question.id, it.state, it.answers.len()));
        short.collect::<Vec<_>>()
    };
    let [one, two, three, four] = [
        (question_id(1), QuestionState::Approved, 2),
        (question_id(2), QuestionState::Rejected, 1),
        (question_id(3), QuestionState::Expired, 0),
        (question_id(4), QuestionState::Open, 0),
    ];
    let any = QuestionFilter::default;
    for (filter, expected) in [
        (any(), vec![one.clone(), two.clone(), three, four.clone()]),
        (QuestionFilter { open: true, ..any() }, vec![four.clone()]),
        (QuestionFilter { id: Some(question_id(2)), ..any() }, vec![two.clone()]),
        (QuestionFilter { invocation: Some(id(1)), ..any() }, vec![one]),
        (QuestionFilter { invocation: Some(id(4)), open: true, ..any() }, vec![four.clone()]),
        (QuestionFilter { tenant: Some("default".to_owned()), open: true, ..any() }, vec![four]),
        (QuestionFilter { tenant: Some("other".to_owned()), ..any() }, vec![]),
    ] {
        assert_eq!(states(filter.clone()).await, expected, "{filter:?}");
    }
    let whole =
        store.questions(&QuestionFilter { id: Some(question_id(1)), ..any() }).await.unwrap();
    assert_eq!(whole[0].question, question(1, 0, 1000));
    let Event::Answered(first) = &yes[0].event else { panic!() };
    assert_eq!(whole[0].answers[0], **first);
}

pub(crate) async fn uses_are_the_attempts_that_began(store: &dyn Store) {
    let whole = UseFilter { after: None, since: at(0), actor: None, tenant: None };
    let mut refused = beginning(20, 0);
    refused.facts.retain(|fact| !matches!(fact.event, Event::Started(_) | Event::Submitted(_)));
    add(store, refused).await;
    assert_eq!(store.uses(&whole).await.unwrap(), [], "a call that came in is no use of its tool");
    fill(store).await;
    let charge = Charge { millicents: Some(40), ..Charge::default() };
    let mut again = started(100, &blob("input", false), 0);
    if let Event::Started(started) = &mut again.event {
        (started.attempt, started.charge) = (2, charge.clone());
    }
    add(store, draft(0, vec![again])).await;
    let uses = store.uses(&whole).await.unwrap();
    let used = Use {
        seq: uses.last().unwrap().seq,
        invocation: id(0),
        attempt: 2,
        at: at(100),
        tool: "shop.charge@2".to_owned(),
        driver: DriverId::from("shop-http"),
        actor: "agent:ana".to_owned(),
        tenant: "default".to_owned(),
        charge,
    };
    assert_eq!(uses.last(), Some(&used));
    let seq = uses[7].seq;
    let early = haft_model::Timestamp::MIN;
    let other = Some("other".to_owned());
    for (filter, expected) in [
        (whole.clone(), vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0]),
        (UseFilter { since: at(10), ..whole.clone() }, vec![7, 8, 9, 0]),
        (UseFilter { since: early, after: Some(seq), ..whole.clone() }, vec![8, 9, 0]),
        (UseFilter { since: at(300), ..whole.clone() }, vec![]),
        (UseFilter { actor: Some("agent:bob".to_owned()), ..whole.clone() }, vec![1, 3, 5, 7, 9]),
        (UseFilter { tenant: other, after: Some(seq), ..whole.clone() }, vec![8, 9]),
    ] {
        let found = store.uses(&filter).await.unwrap();
        let found: Vec<_> = found.into_iter().map(|used| used.invocation).collect();
        let expected: Vec<_> = expected.into_iter().map(id).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
}

pub(crate) async fn a_story_holds_the_entries_of_one_call(store: &dyn Store) {
    for number in [1, 2, 3] {
        add(store, beginning(number, 0)).await;
    }
    for number in [3, 2, 1] {
        add(store, end(number, 10)).await;
    }
    let seqs: Vec<_> = store.story(&id(2)).await.unwrap().iter().map(|entry| entry.seq).collect();
    assert_eq!(seqs, [1, 4]);
    assert_eq!(store.story(&id(9)).await.unwrap(), []);
}
