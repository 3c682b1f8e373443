//! Deferred loading tests: what third-party clients search, load and call, and what they may not.

use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::clients::libraries::{asks, done, tells_progress};
use crate::clients::notes::approve;
use crate::clients::script::{Script, without_ids};

/// The tools on the list of a client that has loaded nothing.
pub(crate) const OURS: [&str; 5] =
    ["tool_search", "tool_load", "call_read", "call_write", "call_destructive"];

/// A refusal, with what makes it go away.
fn refusal(error: &Value) -> Value {
    let part = |name: &str| error[name].as_str().unwrap();
    let text = format!("{} ({})\n{}", part("message"), part("error_code"), part("help"));
    json!({
        "content": [{ "type": "text", "text": text }],
        "isError": true,
        "_meta": { "dev.haft/invocation-id": "inv_[id]", "dev.haft/error": error },
    })
}

/// The answer to a call of what was not loaded.
pub(crate) fn refused() -> Value {
    refusal(&json!({
        "error_code": "tool.schema_not_loaded",
        "error_class": "schema_not_loaded",
        "aip_code": "input_invalid",
        "aruntime_code": "input.invalid",
        "message": "the schema of `note.read@1` was not loaded on this surface",
        "recoverability": "after its schema was loaded",
        "retry": {
            "safe": false,
            "change_arguments": false,
            "discover_first": true,
            "reapprove": false,
            "sibling_caused": false,
        },
        "effect_state": "none",
        "help": "load the schema of `note_read` (`tool_load`), then call again",
        "cause": { "reason": "deferred_until_discovered" },
    }))
}

/// The answer to a write by the tool of ours that only reads.
pub(crate) fn too_much() -> Value {
    refusal(&json!({
        "error_code": "input.value",
        "error_class": "invalid_arguments",
        "aip_code": "input_invalid",
        "aruntime_code": "input.invalid",
        "message": "`note.add@1` is a write, and this way of calling takes less",
        "recoverability": "after the arguments change",
        "retry": {
            "safe": false,
            "change_arguments": true,
            "discover_first": false,
            "reapprove": false,
            "sibling_caused": false,
        },
        "effect_state": "not_submitted",
        "help": "use `call_write`",
        "cause": { "reason": "wrong_tier", "tier": "write" },
    }))
}

/// A search for a way to read a note finds it, and no schema. How well it fits is a matter of the
/// search.
#[track_caller]
pub(crate) fn is_found(mut answer: Value) {
    let text = answer["content"][0]["text"].as_str().unwrap_or_default();
    let mut record: Value = serde_json::from_str(text).unwrap_or_default();
    assert_eq!(record, answer["structuredContent"], "the text is the same");
    let score = record["match_details"][0]["score"].take();
    assert!(score.as_f64() > Some(0.5), "{score}");
    answer["content"].take();
    answer["structuredContent"] = record;
    assert_eq!(
        answer,
        json!({
            "content": null,
            "structuredContent": {
                "query": "read a note",
                "query_type": "keyword",
                "matches": ["note.read@1"],
                "match_details": [{
                    "tool_id": "note.read@1",
                    "name": "note_read",
                    "title": "note.read",
                    "description": "Reads a note.",
                    "score": null,
                    "matched_words": ["read", "note"],
                    "state": "deferred",
                    "reason": "deferred_until_discovered",
                }],
                "total_deferred_tools": 4,
                "missing_names": [],
                "pending_providers": [],
                "next_action": "load_schema_then_call",
            },
            "isError": false,
        })
    );
}

/// What every client hears, whichever library it uses.
#[track_caller]
pub(crate) fn finds_loads_and_calls(folder: &Folder, mut script: Script, version: &str) {
    assert_eq!(script.next("version"), version);
    assert_eq!(script.next("tools"), json!(OURS));
    assert_eq!(script.next("refused"), refused());
    is_found(script.next("found"));
    let loaded = &script.next("loaded")["structuredContent"];
    assert_eq!(loaded["next_action"], "call", "{loaded:#}");
    let notes = ["note_add", "note_count", "note_read"];
    assert_eq!(script.next("changed"), json!([&OURS[..], &notes].concat()));
    assert_eq!(script.next("read"), done("Oil the walnut tray.\n"));
    assert_eq!(script.next("read by ours"), done("Oil the walnut tray.\n"));
    assert_eq!(script.next("too much"), too_much());
    let asked = script.raw("asked");
    assert_eq!(without_ids(&asked), asks());
    assert_eq!(folder.read("canary.txt"), "", "nothing is done before somebody says yes");
    approve(folder, &asked);
    script.go_on();
    assert_eq!(script.next("added"), done("Oiled.\n"));
    assert_eq!(folder.read("canary.txt"), "Oiled.\n");
    assert_eq!(script.next("counted"), done("counting\ndone\n"));
    tells_progress(&script.next("progress"));
    script.end();
}
