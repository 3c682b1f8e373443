//! Result tests: large, empty, missing and external results, each reported in its own words.

use haft_driver::Output;
use haft_ledger::MemoryStore;
use haft_model::{Content, Digest, Event, Fact, Link, Persisted, ResultStatus, Status};
use serde_json::json;

use crate::stage::{READ, Setting, WRITE, extras};
use crate::story::checked;

fn persisted(facts: &[Fact]) -> Persisted {
    let found = facts.iter().find_map(|fact| match &fact.event {
        Event::Persisted(persisted) => Some(persisted.clone()),
        _ => None,
    });
    found.unwrap()
}

fn shown(content: &[Content]) -> usize {
    let text = |piece: &Content| match piece {
        Content::Text { text, .. } => text.chars().count(),
        _ => 0,
    };
    content.iter().map(text).sum()
}

#[tokio::test]
async fn large_output_is_truncated_inline_and_stored_whole() {
    let big = "ä1".repeat(2_500_000 / 2);
    let text = big.clone();
    let stage = Setting::default()
        .tool("note.dump", &extras(READ, "{ result: { max_inline_chars: 500 } }"))
        .act("note.dump", move |_| {
            let value = json!({"text": text.clone()});
            Box::pin(async move { Ok(Output::read(value)) })
        })
        .open();
    let envelope = stage.call("note.dump", json!({})).await;
    assert_eq!(
        (envelope.error.clone(), envelope.status, envelope.final_status),
        (None, ResultStatus::Succeeded, Status::Succeeded)
    );
    assert!(shown(&envelope.model_facing_content) <= 500);
    assert!(shown(&envelope.content) <= 500 && envelope.structured_content.is_none());
    let facts = checked(&stage, &envelope).await;
    let native = serde_json::to_vec(&json!({"text": big})).unwrap();
    let record = persisted(&facts);
    let kept = record.payload.clone().unwrap();
    assert_eq!(
        (record.strategy.as_str(), record.max_inline_chars, record.original_size),
        ("preview_and_persist", 500, native.len() as u64)
    );
    assert_eq!(kept.digest, Digest::of_bytes(&native));
    let [link] = envelope.resource_refs.as_slice() else { panic!("{envelope:?}") };
    assert_eq!(
        (link.digest.as_ref(), link.size, link.relation.as_deref()),
        (Some(&kept.digest), Some(native.len() as u64), Some("native_output"))
    );
    let fetched = stage.host.reader().payload(&envelope.invocation_id, &kept.digest).await.unwrap();
    assert!(fetched == Some(native), "what is fetched is what the driver gave");
    let entries = stage.store.entries(None, 100).await.unwrap();
    assert!(entries.iter().all(|entry| entry.line.len() < 20_000), "no entry holds the output");
}

#[tokio::test]
async fn reading_what_was_kept_keeps_nothing_more() {
    let stage = Setting::default().file("copy.txt", &"line of text\n".repeat(40_000)).open();
    let mut sizes = Vec::new();
    for _ in 0..3 {
        let envelope = stage.call("fs.read", json!({"path": "copy.txt"})).await;
        assert_eq!(envelope.error, None);
        let facts = checked(&stage, &envelope).await;
        let record = persisted(&facts);
        assert!(record.payload.is_none(), "a read of a file was stored: {record:?}");
        sizes.push(serde_json::to_vec(&envelope).unwrap().len());
    }
    assert!(sizes.iter().all(|size| *size < 400_000), "{sizes:?}");
}

#[tokio::test]
async fn no_output_is_said_to_be_none() {
    let stage = Setting::default()
        .tool("note.void", WRITE)
        .act("note.void", |_| {
            Box::pin(async { Ok(Output { structured: None, ..Output::committed(json!(null)) }) })
        })
        .settings("[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n")
        .open();
    let envelope = stage.call("note.void", json!({})).await;
    assert_eq!((envelope.error.clone(), envelope.empty), (None, true));
    assert_eq!(envelope.model_facing_content, [Content::text("(the tool gave no output)")]);
    assert_eq!(envelope.ui_facing_summary, "note.void@1 succeeded and gave no output");
    assert_eq!((envelope.content.len(), envelope.transcript_search_text.as_str()), (0, ""));
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn pruned_payload_leaves_envelope_and_record_intact() {
    let stage = Setting::default()
        .tool("note.dump", &extras(READ, "{ result: { max_inline_chars: 5 } }"))
        .open();
    let envelope = stage.call("note.dump", json!({"text": "more than five"})).await;
    let facts = checked(&stage, &envelope).await;
    let kept = persisted(&facts).payload.unwrap();
    let id = &envelope.invocation_id;
    assert!(stage.store.forget(id, &kept.digest).await.unwrap());
    assert_eq!(stage.host.reader().payload(id, &kept.digest).await.unwrap(), None);
    let stored = stage.host.reader().result(id).await.unwrap().unwrap();
    assert_eq!(stored, envelope, "envelope, status, references and reason remain");
    let after = stage.facts(id).await;
    assert_eq!(persisted(&after).payload, Some(kept));
}

#[tokio::test]
async fn an_artifact_is_named_with_its_digest() {
    let link = Link {
        uri: "file:report.pdf".into(),
        name: Some("report".into()),
        mime_type: Some("application/pdf".into()),
        digest: Some(Digest::of_bytes(b"pdf")),
        size: Some(3),
        relation: Some("created".into()),
        block: None,
    };
    let made = link.clone();
    let stage = Setting::default()
        .tool("note.make", READ)
        .act("note.make", move |_| {
            let output =
                Output { artifacts: vec![made.clone()], ..Output::read(json!({"ok": true})) };
            Box::pin(async move { Ok(output) })
        })
        .open();
    let envelope = stage.call("note.make", json!({})).await;
    assert_eq!(envelope.artifact_refs, [link]);
    assert_eq!(envelope.resource_refs, [], "an artifact is not a resource");
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn three_renderings_are_kept_apart() {
    let stage = Setting::default()
        .tool("note.make", &extras(READ, "{ result: { max_inline_chars: 10 } }"))
        .act("note.make", move |_| {
            let content = vec![Content::text("one\ntwo\nthree\nfour")];
            Box::pin(async move { Ok(Output { content, ..Output::read(json!({})) }) })
        })
        .store(std::sync::Arc::new(MemoryStore::new()))
        .open();
    let envelope = stage.call("note.make", json!({})).await;
    assert_eq!(envelope.model_facing_content[0], Content::text("one\ntwo\nth"));
    assert_eq!(envelope.ui_facing_summary, "note.make@1 succeeded");
    assert_eq!(envelope.transcript_search_text, "one\ntwo\nth");
    checked(&stage, &envelope).await;
}

/// What would hide, turn or steer what stands beside it.
const SLY: &str = "pay \u{202e}evil\u{202c} a\u{200b}b \u{e0041}\u{9b}31m \u{1b}[2Jend";

#[tokio::test]
async fn sly_letters_of_backends_reach_programs_alone() {
    let value =
        json!({ "said": SLY, "k\u{202e}ey": [SLY, 1.5, null], "big": 1234567890123456_u64 });
    // A value as an HTTP backend gives it, and pieces beside one as an MCP server does.
    let text = |text: &str| Content::text(text);
    let outputs = [
        Output::read(value.clone()),
        Output { content: vec![text(SLY)], ..Output::read(value.clone()) },
        Output {
            content: vec![Content::StructuredContent { data: value.clone() }],
            ..Output::read(value.clone())
        },
    ];
    for output in outputs {
        let stage = Setting::default()
            .tool("note.show", READ)
            .act("note.show", move |_| {
                let output = output.clone();
                Box::pin(async move { Ok(output) })
            })
            .open();
        let envelope = stage.call("note.show", json!({})).await;
        assert_eq!(envelope.error, None);
        assert_eq!(envelope.structured_content, Some(value.clone()), "programs read it exactly");
        let texts = envelope.model_facing_content.iter().map(|piece| match piece {
            Content::Text { text, .. } => text.clone(),
            other => panic!("{other:?}"),
        });
        let read: Vec<String> = texts
            .chain([
                envelope.summary.clone(),
                envelope.ui_facing_summary.clone(),
                envelope.transcript_search_text.clone(),
            ])
            .collect();
        for read in &read {
            let is_sly = |letter: char| !haft_model::is_shown(letter) && letter != '\n';
            assert!(!read.contains(is_sly), "{read:?}");
        }
        assert!(read[0].contains("evil"), "{read:?}");
    }
}
