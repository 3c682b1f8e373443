//! Projection rebuild: replaying the log gives the same records.

use std::collections::BTreeSet;
use std::path::Path;

use haft_driver::Output;
use haft_ledger::{Draft, MemoryStore, Store, Story, Wait};
use haft_model::{Call, Event};
use haft_notation::Schema;
use haft_runtime::Reader;
use serde_json::{Value, json};

use crate::stage::{READ, Setting, Stage, WRITE, extras};
use crate::story::checked;

/// Fifty calls of every kind, all over.
async fn fifty() -> Stage {
    let typed = "inputs: { type: object, properties: { n: { type: integer }, m: { type: integer, default: 1 } } }\n";
    let stage = Setting::default()
        .tool("note.show", &format!("{READ}{typed}"))
        .tool("note.keep", WRITE)
        .tool("note.ask", WRITE)
        .tool("note.old", &extras(READ, "{ lifecycle: { state: retired } }"))
        .tool("note.dump", &extras(READ, "{ result: { max_inline_chars: 3 } }"))
        .act("note.keep", |attempt| {
            Box::pin(async move {
                attempt.link.progress(haft_model::Progress::default()).await;
                let native = vec![json!({"source": "shop", "order_id": "o-1"})];
                Ok(Output { native, ..Output::committed(attempt.input.clone().into_owned()) })
            })
        })
        .settings(
            "[[rule]]\ntool = \"note.ask\"\nverdict = \"ask\"\n\
             [[rule]]\ntool = \"note.*\"\nverdict = \"allow\"\n",
        )
        .open();
    for round in 0..5 {
        for tool in ["note.show", "note.keep", "note.old", "note.dump", "note.none", "fs.list"] {
            stage.call(tool, json!({})).await;
        }
        stage.call("note.show", json!({"n": "x"})).await;
        stage.call("fs.read", json!({"path": "../.."})).await;
        for approves in [true, false] {
            let input = json!({"round": round, "approves": approves});
            let pending = stage.call_and_leave("note.ask", input).await;
            let reply = if approves { stage.yes() } else { stage.no("no") };
            stage.answer(&pending.approval_id.unwrap(), reply).await;
        }
    }
    stage
}

#[tokio::test]
async fn facts_that_are_told_again_give_the_same_records() {
    let stage = fifty().await;
    let again = MemoryStore::new();
    for entry in stage.store.entries(None, 10_000).await.unwrap() {
        let line: Value = serde_json::from_str(&entry.line).unwrap();
        let invocation = line["metadata"]["haft"]["invocation"].as_str();
        let draft = Draft {
            invocation: invocation.map(Into::into),
            facts: Reader::facts(&entry).unwrap(),
            ..Draft::default()
        };
        again.append(draft, Wait::Disk).await.unwrap();
    }
    let all = haft_ledger::RunFilter { most: 1000, ..Default::default() };
    let runs = stage.store.runs(&all).await.unwrap();
    assert_eq!(runs.len(), 50);
    assert_eq!(again.runs(&all).await.unwrap(), runs);
    let questions = stage.store.questions(&Default::default()).await.unwrap();
    assert_eq!(questions.len(), 10);
    assert_eq!(again.questions(&Default::default()).await.unwrap(), questions);
}

#[tokio::test]
async fn every_record_of_fifty_calls_fits_its_published_schema() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/agent-tool");
    if !folder.exists() {
        println!("skipped: the published schemas are not beside the repository");
        return;
    }
    let schema = |kind: &str| {
        let file = folder.join(format!("agenttool-{kind}.schema.json"));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("no {file:?}"));
        Schema::compile(&serde_json::from_str(&text).unwrap()).unwrap()
    };
    let stage = fifty().await;
    let all = haft_ledger::RunFilter { most: 1000, ..Default::default() };
    let mut kinds = BTreeSet::new();
    for run in stage.store.runs(&all).await.unwrap() {
        let envelope = stage.host.reader().result(&run.invocation_id).await.unwrap().unwrap();
        checked(&stage, &envelope).await;
        let story = Story::fold(&stage.store.story(&run.invocation_id).await.unwrap()).unwrap();
        let mut records = story.records();
        records.push(("result", serde_json::to_value(&envelope).unwrap()));
        for (kind, record) in records {
            assert_eq!(schema(kind).violations(&record), [], "{kind}: {record}");
            kinds.insert(kind);
        }
    }
    let kinds: Vec<_> = kinds.into_iter().collect();
    assert_eq!(
        kinds,
        [
            "event",
            "input-mutation",
            "invocation",
            "permission-decision",
            "progress",
            "result",
            "result-persistence",
        ]
    );
}

#[tokio::test]
async fn what_a_call_is_known_by_elsewhere_is_kept() {
    let stage = fifty().await;
    let native = vec![json!({"source": "mcp", "jsonrpc_request_id": 7})];
    let mut call = Call::new(stage.agent(), "note.keep", json!({}));
    call.native = native.clone();
    call.channel = "mcp";
    let envelope = stage.host.call(call).await;
    let facts = checked(&stage, &envelope).await;
    let Event::Planned(planned) = &facts[0].event else { panic!("{facts:?}") };
    assert_eq!((&planned.native, planned.channel.as_str()), (&native, "mcp"));
    let ended = facts.iter().find_map(|fact| match &fact.event {
        Event::AttemptEnded(ended) => Some(ended.native.clone()),
        _ => None,
    });
    assert_eq!(ended, Some(vec![json!({"source": "shop", "order_id": "o-1"})]));
}
