//! Record conformance: histories, their records, and the published schemas.

use std::path::Path;

use haft_ledger::{Cancel, Draft, Judgement, LedgerEntry, MemoryStore, Store, Story, events};
use haft_model::{
    AbortReason, ActorId, BatchDiscarded, BatchOrdering, BatchPlace, BatchReleased, CancelFact,
    CancelNote, CancelRequested, Code, ContextModified, ContextOutcome, ContextPolicy, Digest,
    EffectState, Ended, Event, HookPoint, HookRun, HookStarted, InterruptBehavior, Mutation,
    MutationSource, Note, OnFailure, Progress, QuestionState, QueueState, Redacted, Reported,
    ResultStatus, SchedulerPolicy, SentAgain, Status, YieldPolicy,
};
use haft_notation::Schema;
use serde_json::{Value, json};

use crate::conformance::cases::{add, all};
use crate::sample::*;

/// A call with almost every kind of event, in four entries.
async fn eventful(store: &dyn Store) {
    let input = blob("{\"amount\":7}", true);
    let changed = blob("{\"amount\":6}", true);
    let mutation = |source, by: &str| Mutation {
        source,
        by: by.to_owned(),
        from: input.digest.clone(),
        to: kept(&changed),
        changed: vec!["/amount".to_owned()],
        reason: "rounded".to_owned(),
    };
    let run = HookRun {
        hook: "limits".to_owned(),
        point: HookPoint::PreToolUse,
        started_at: at(3),
        outputs: vec!["updated_input".to_owned(), "message".to_owned()],
        message: Some("rounded down".into()),
        opinion: Some(decision(haft_model::Verdict::Ask, 3).opinions.remove(0)),
        mutation: Some(mutation(MutationSource::Hook, "limits")),
        context: vec![json!("seen before")],
        stopped: None,
        failed: None,
    };
    let hook = |point| HookStarted { hook: "limits".to_owned(), point };
    let mut first = asking(1, 0, 1000);
    if let Event::Planned(planned) = &mut first.facts[0].event {
        planned.batch = Some(in_a_batch());
    }
    let intent = crate::conformance::intents::intent("sha256:1");
    first.facts.insert(3, fact(3, Event::IntentBound(Box::new(intent))));
    first.blobs = vec![input.clone(), changed.clone(), blob("{\"amount\":1}", false)];
    first.facts.insert(4, fact(3, Event::PreHookStarted(hook(HookPoint::PreToolUse))));
    first.facts.insert(5, fact(4, Event::PreHookCompleted(Box::new(run.clone()))));
    add(store, first).await;

    let mut decided = decided(20, &changed, Some(question_id(1)));
    if let Event::PermissionDecided(decided) = &mut decided.event {
        decided.mutations.push(mutation(MutationSource::PermissionPrompt, "user:bo"));
        decided.permission_input = kept(&input);
    }
    let report = |sequence, status: &str, cancel| Reported {
        sequence,
        status: status.to_owned(),
        elapsed_ms: sequence * 10,
        progress: Progress { percent: Some(50.0), ..Progress::default() },
        cancel,
    };
    let wish =
        CancelRequested { by: ActorId::from("user:bo"), reason: AbortReason::UserInterruption };
    let heard = CancelNote { fact: CancelFact::Failed, reason: AbortReason::UserInterruption };
    let answered = answer(1, "user:bo", true, 19);
    add(
        store,
        draft(1, vec![answered, decided, queued(21), started(22, &changed, 5), submitted(23)]),
    )
    .await;
    let under_way = vec![
        fact(30, Event::Progressed(Box::new(report(1, "running", None)))),
        fact(31, Event::PartialResult(Box::new(report(2, "partial_result", None)))),
        fact(32, Event::CancelRequested(wish)),
        fact(33, Event::Progressed(Box::new(report(3, "running", Some(heard))))),
    ];
    add(store, draft(1, under_way)).await;
    let mut last = end(1, 40);
    let after = HookRun { point: HookPoint::PostToolUse, mutation: None, opinion: None, ..run };
    last.facts.insert(1, fact(41, Event::PostHookStarted(hook(HookPoint::PostToolUse))));
    last.facts.insert(2, fact(41, Event::PostHookCompleted(Box::new(after))));
    let redacted =
        Redacted { fields: vec!["/card".to_owned()], occurrences: 1, state: "partial".to_owned() };
    last.facts.insert(4, fact(42, Event::Redacted(redacted)));
    last.facts.pop();
    let end = Event::ending(Ended {
        final_status: Status::Failed,
        effect: EffectState::PartiallyCommitted,
        code: Some(Code::EffectPartial),
        message: Some("half of it was charged".to_owned()),
        stage: None,
    });
    let modified = ContextModified {
        policy: ContextPolicy::Forbid,
        outcome: ContextOutcome::Rejected,
        count: 1,
        modifiers: kept(&input),
        reason: "the batch allows none".to_owned(),
    };
    last.facts.insert(5, fact(43, Event::ContextModified(Box::new(modified))));
    last.facts.push(fact(44, end));
    let batch = "bat_1".to_owned();
    last.facts
        .push(fact(45, Event::BatchReleased(BatchReleased { batch: batch.clone(), index: 1 })));
    let kept = Some("it had ended".to_owned());
    let discarded = BatchDiscarded { batch, reason: "another stream".to_owned(), kept };
    last.facts.push(fact(46, Event::BatchDiscarded(discarded)));
    let native = vec![json!({"source": "openai", "native_call_id": "call_9"})];
    let again = SentAgain { channel: "cli".to_owned(), native };
    last.facts.push(fact(47, Event::SentAgain(again)));
    add(store, last).await;
}

/// The second of two calls, after the first.
fn in_a_batch() -> BatchPlace {
    BatchPlace {
        twin: 0,
        id: "bat_1".to_owned(),
        index: 1,
        depends_on: vec![id(7)],
        policy: Some(std::sync::Arc::new(SchedulerPolicy {
            scheduler_policy_id: "sch_1".to_owned(),
            scope: "batch".to_owned(),
            max_parallel: 4,
            ordering_policy: BatchOrdering::PreserveTerminalOrder,
            yield_policy: YieldPolicy::AllOrdered,
            interrupt_behavior: InterruptBehavior::Block,
            sibling_failure_policy: OnFailure::CancelDependent,
            context_modifier_policy: ContextPolicy::Forbid,
        })),
    }
}

async fn told() -> Story {
    let store = MemoryStore::new();
    eventful(&store).await;
    Story::fold(&all(&store).await).unwrap()
}

#[tokio::test]
async fn a_story_tells_everything_that_happened() {
    let story = told().await;
    assert_eq!(story.illegal_transition(), None);
    let path: Vec<_> = story.transitions.iter().map(|step| step.status.name()).collect();
    assert_eq!(
        path,
        [
            "planned",
            "selected",
            "arguments_ready",
            "pre_hooks_running",
            "awaiting_approval",
            "approved",
            "queued",
            "running",
            "partial_result",
            "post_hooks_running",
            "yielded",
            "failed",
        ]
    );
    assert_eq!(story.tool_id, "shop.charge@2");
    assert_eq!(story.status, Status::Failed);
    assert_eq!(story.effect_state, EffectState::PartiallyCommitted);
    assert_eq!(story.actor, Some(ana()));
    assert_eq!(
        (story.created_at, story.started_at, story.ended_at),
        (at(0), Some(at(22)), Some(at(44)))
    );
    assert_eq!(story.phases.len(), 3);
    assert_eq!(story.phases[1].started_at.as_microsecond() - at(0).as_microsecond(), 10);
    let sources: Vec<_> = story.mutations.iter().map(|(_, one)| one.source.name()).collect();
    assert_eq!(sources, ["hook", "permission_prompt"]);
    let digests = [
        &story.inputs.model,
        &story.inputs.observable,
        &story.inputs.permission,
        &story.inputs.call,
    ]
    .map(|input| input.as_ref().unwrap().digest.clone());
    let [one, six, seven] =
        ["1", "6", "7"].map(|it| Digest::of_bytes(format!("{{\"amount\":{it}}}").as_bytes()));
    assert_eq!(digests, [one.clone(), one, seven, six]);
    assert_eq!(story.questions[0].state, QuestionState::Approved);
    assert_eq!(story.questions[0].answers.len(), 1);
    assert_eq!(story.progress.iter().map(|(_, it)| it.sequence).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(matches!(story.cancels[..], [Cancel::Requested(..), Cancel::Noted(..)]));
    assert!(matches!(story.decisions[..], [Judgement::Asked(..), Judgement::Settled(_)]));
    assert_eq!(story.attempts[0].submitted_at, Some(at(23)));
    assert_eq!(story.attempts[0].effect, Some(EffectState::Committed));
    assert_eq!(story.entries, [0, 1, 2, 3]);
    assert_eq!(story.queue_state(), Some(QueueState::Yielded));
    assert_eq!((story.released_at, story.status), (Some(at(45)), Status::Failed));
    assert_eq!(story.discarded.map(|(at, _)| at), Some(at(46)));
}

#[tokio::test]
async fn five_queue_states_are_distinguished_from_status() {
    let beginning = || {
        let mut first = beginning(1, 0);
        if let Event::Planned(planned) = &mut first.facts[0].event {
            planned.batch = Some(in_a_batch());
        }
        first
    };
    let ending = |status| {
        let mut last = end(1, 40);
        // The batch releases the result later.
        last.facts.retain(|fact| !matches!(fact.event, Event::Yielded(_)));
        for fact in &mut last.facts {
            if let Event::ResultCreated(created) = &mut fact.event {
                created.status = status;
            }
        }
        last
    };
    let queued = || {
        let mut first = beginning();
        let at = first.facts.iter().position(|fact| matches!(fact.event, Event::Started(_)));
        first.facts.truncate(at.unwrap());
        first
    };
    let released = Event::BatchReleased(BatchReleased { batch: "bat_1".to_owned(), index: 1 });
    let released = draft(1, vec![fact(60, released)]);
    let (well, superseded) = (ResultStatus::Succeeded, ResultStatus::Discarded);
    let cases = [
        (vec![queued()], QueueState::Queued),
        (vec![beginning()], QueueState::Executing),
        (vec![beginning(), ending(well)], QueueState::Completed),
        (vec![beginning(), ending(well), released.clone()], QueueState::Yielded),
        (vec![beginning(), ending(superseded), released], QueueState::Discarded),
    ];
    for (drafts, expected) in cases {
        let store = MemoryStore::new();
        for draft in drafts {
            add(&store, draft).await;
        }
        let story = Story::fold(&all(&store).await).unwrap();
        assert_eq!((story.queue_state(), story.illegal_transition()), (Some(expected), None));
    }
}

#[tokio::test]
async fn a_path_that_the_table_forbids_is_found() {
    let store = MemoryStore::new();
    add(&store, draft(1, vec![planned(0, ana(), &blob("{}", false)), queued(1)])).await;
    let story = Story::fold(&all(&store).await).unwrap();
    assert_eq!(story.illegal_transition(), Some((Status::Planned, Status::Queued)));
}

#[tokio::test]
async fn every_record_fits_its_published_schema() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/agent-tool");
    if !folder.exists() {
        println!("skipped: the published schemas are not beside the repository");
        return;
    }
    let records = told().await.records();
    let mut kinds: Vec<_> = records.iter().map(|(kind, _)| *kind).collect();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "invocation",
            "scheduler-policy",
            "permission-decision",
            "input-mutation",
            "hook",
            "progress",
            "result-persistence",
            "event",
        ]
    );
    for kind in kinds {
        let file = folder.join(format!("agenttool-{kind}.schema.json"));
        let text = std::fs::read_to_string(file).unwrap();
        let schema = Schema::compile(&serde_json::from_str(&text).unwrap()).unwrap();
        for (_, record) in records.iter().filter(|(other, _)| *other == kind) {
            assert_eq!(schema.violations(record), [], "{kind}: {record}");
        }
    }
}

#[tokio::test]
async fn records_name_each_other() {
    let records = told().await.records();
    let of = |kind: &str| -> Vec<&Value> {
        records.iter().filter(|(other, _)| *other == kind).map(|(_, record)| record).collect()
    };
    let call = of("invocation")[0];
    assert_eq!(
        [&call["invocation_id"], &call["tool_id"], &call["status"], &call["actor_ref"]],
        ["inv_00000001", "shop.charge@2", "failed", "agent:ana"]
    );
    assert_eq!(call["native_call_id"], "call_7");
    assert_eq!(call["error"]["error_class"], "partial_failure");
    assert_eq!(call["permission_decision_refs"], json!(["dec_00000001_1", "dec_00000001_2"]));
    assert_eq!(call["hook_refs"], json!(["hook_00000001_1", "hook_00000001_2"]));
    assert_eq!(call["policy_refs"], json!(["spending"]));
    assert_eq!(call["result_ref"], "res_00000001");
    let policy = of("scheduler-policy")[0];
    assert_eq!(call["scheduler_policy_ref"], policy["scheduler_policy_id"]);
    assert_eq!(policy["yield_policy"], "all_ordered");
    assert_eq!(policy["resource_locks"], call["scheduler"]["resource_locks"]);
    assert_eq!(call["context_modifiers"][0]["outcome"], "rejected");
    assert_eq!(call["phase_log"][0]["name"], "resolve_tool");
    let [ask, allow] = of("permission-decision")[..] else { panic!() };
    assert_eq!([&ask["behavior"], &allow["behavior"]], ["ask", "allow"]);
    assert_eq!(allow["reason"]["type"], "rule");
    assert_eq!(allow["user_modified"], true);
    assert_eq!(allow["updated_input_ref"], call["call_input_ref"]);
    assert_eq!([&ask["approval_id"], &allow["approval_id"]], ["apr_00000001", "apr_00000001"]);
    let sequences: Vec<_> = of("progress").iter().map(|it| it["sequence"].clone()).collect();
    assert_eq!(sequences, [1, 2, 3]);
    assert_eq!(of("result-persistence")[0]["redaction_state"], "partial");
    let ids: std::collections::BTreeSet<_> =
        of("event").iter().map(|event| event["event_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), of("event").len());
}

#[tokio::test]
async fn invocation_record_names_idempotency_key_and_replays() {
    let records = told().await.records();
    let (_, call) = &records[0];
    assert_eq!(
        call["idempotency"],
        json!({
            "key": "0b5a", "source": "caller", "binding": "sha256:b", "state": "done",
            "expires_at": at(10_000), "result_id": call["result_ref"],
        })
    );
    let native = json!({"source": "openai", "native_call_id": "call_9"});
    assert_eq!(
        call["sent_again"],
        json!([{"channel": "cli", "native": [native.clone()], "at": at(47)}])
    );
    assert!(call["native_refs"].as_array().unwrap().contains(&native), "{}", call["native_refs"]);
    assert_eq!(call["native_call_id"], "call_7", "the first is the one that ran");
}

#[tokio::test]
async fn events_are_one_for_each_fact() {
    let store = MemoryStore::new();
    add(&store, end(1, 0)).await;
    let note = fact(9, Event::Note(Note { text: "well".to_owned() }));
    add(&store, Draft { facts: vec![note], ..Draft::default() }).await;
    let entries = all(&store).await;
    let call = events(&entries[0]).unwrap();
    let classes: Vec<_> = call.iter().map(|event| event["event_type"].as_str().unwrap()).collect();
    assert_eq!(
        classes,
        [
            "haft.attempt.ended",
            "tool.result.persisted",
            "tool.result.created",
            "tool.invocation.yielded",
            "tool.invocation.succeeded",
        ]
    );
    assert_eq!(
        events(&entries[1]).unwrap(),
        [json!({
            "schema_version": "0.2.0", "event_id": "evt_1_0", "event_type": "haft.audit.note",
            "source": "haft", "time": at(9).to_string(), "seq": 1, "data": {"text": "well"},
        })]
    );
    let broken = LedgerEntry { seq: 4, line: "{".to_owned() };
    assert!(events(&broken).is_err());
    assert!(Story::fold(&entries[1..]).is_err(), "the house has no story");
}

#[tokio::test]
async fn every_line_fits_the_published_schema() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/aip/GOVERNANCE.schema.json");
    let Ok(text) = std::fs::read_to_string(file) else {
        println!("skipped: the published schemas are not beside the repository");
        return;
    };
    let schema = Schema::compile(&serde_json::from_str(&text).unwrap()).unwrap();
    let store = MemoryStore::new();
    eventful(&store).await;
    add(&store, Draft { facts: vec![queued(0)], ..Draft::default() }).await;
    add(&store, Draft::default()).await;
    let mut long = whole(2, 5);
    long.subject = Some("ü\"".repeat(300));
    long.actor = Some(haft_model::Actor::new("é\n".repeat(300).as_str(), "t", []));
    add(&store, long).await;
    store.forget(&id(1), &blob("{\"amount\":7}", true).digest).await.unwrap();
    let entries = all(&store).await;
    crate::conformance::cases::assert_chained(&entries);
    for entry in entries {
        let line = serde_json::from_str(&entry.line).unwrap();
        assert_eq!(schema.violations(&line), [], "{line}");
    }
}
