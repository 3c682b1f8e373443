//! Libraries that speak MCP: every answer is compared as a whole.

use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::installed::MODERN;
use crate::notes::{approve, notes};
use crate::script::{Era, Over, Script, without_ids};

/// The answer to a call that is done.
pub(crate) fn done(text: &str) -> Value {
    let value = json!({ "text": text });
    json!({
        "content": [{ "type": "text", "text": value.to_string() }],
        "structuredContent": value,
        "isError": false,
        "_meta": { "dev.haft/invocation-id": "inv_[id]" },
    })
}

/// The answer to a call that waits for a person; an error, because the tool promises a value.
pub(crate) fn asks() -> Value {
    let how = "haft approve apr_[id]";
    let says = "agent:local wants to use note.add@1: approval is `always`";
    let approval = json!({ "approval_id": "apr_[id]", "state": "open", "answer_with": how });
    json!({
        "content": [{ "type": "text", "text": format!("{says}; approve it with `{how}`") }],
        "isError": true,
        "_meta": { "dev.haft/invocation-id": "inv_[id]", "dev.haft/approval": approval },
    })
}

/// What every client hears, whoever wrote it.
#[track_caller]
fn looks_adds_and_counts(folder: &Folder, mut script: Script, version: &str) {
    assert_eq!(script.next("version"), version);
    let tools = json!(["note.add", "note.count", "note.list", "note.read"]);
    assert_eq!(script.next("tools"), tools);
    assert_eq!(script.next("read"), done("Oil the walnut tray.\n"));
    let asked = script.raw("asked");
    assert_eq!(without_ids(&asked), asks());
    assert_eq!(folder.read("canary.txt"), "", "nothing is done before somebody says yes");
    approve(folder, &asked);
    script.go_on();
    assert_eq!(script.next("added"), done("Oiled.\n"));
    // The answer was taken, so that another call is another wish.
    assert_eq!(script.next("again"), asks());
    assert_eq!(folder.read("canary.txt"), "Oiled.\n");
    assert_eq!(script.next("counted"), done("counting\ndone\n"));
    let progress = script.next("progress");
    let first = &progress[0];
    assert_eq!((first[0].as_f64(), &first[2]), (Some(1.0), &json!("counting")), "{progress}");
    script.end();
}

/// Tells a script where the server is, and how to speak.
fn meets(era: Era, over: Over, start: impl FnOnce(&Value) -> Script) {
    let folder = notes();
    let reached = over.reach(&folder, era);
    looks_adds_and_counts(&folder, start(&reached.told), era.version());
}

fn python_sdk(era: Era, over: Over) {
    meets(era, over, |told| Script::python("client_mcp.py", &MODERN, told));
}

fn fastmcp(era: Era, over: Over) {
    meets(era, over, |told| Script::python("client_fastmcp.py", &MODERN, told));
}

fn typescript_sdk(era: Era, over: Over) {
    meets(era, over, |told| Script::node("client_typescript.mjs", "second", told));
}

/// The first line of the SDK, which most clients of today are built on, knows no newer wire.
fn first_typescript_sdk(over: Over) {
    meets(Era::Legacy, over, |told| Script::node("client_typescript.mjs", "first", told));
}

#[test]
fn the_python_sdk_works_over_http() {
    python_sdk(Era::Modern, Over::Http);
}

#[test]
fn the_python_sdk_works_over_stdio() {
    python_sdk(Era::Auto, Over::Stdio);
}

#[test]
fn the_python_sdk_works_over_http_as_in_2025() {
    python_sdk(Era::Legacy, Over::Http);
}

#[test]
fn the_python_sdk_works_over_stdio_as_in_2025() {
    python_sdk(Era::Legacy, Over::Stdio);
}

#[test]
fn fastmcp_works_over_http() {
    fastmcp(Era::Auto, Over::Http);
}

#[test]
fn fastmcp_works_over_stdio() {
    fastmcp(Era::Modern, Over::Stdio);
}

#[test]
fn fastmcp_works_over_http_as_in_2025() {
    fastmcp(Era::Legacy, Over::Http);
}

#[test]
fn fastmcp_works_over_stdio_as_in_2025() {
    fastmcp(Era::Legacy, Over::Stdio);
}

#[test]
fn the_typescript_sdk_works_over_http() {
    typescript_sdk(Era::Modern, Over::Http);
}

#[test]
fn the_typescript_sdk_works_over_stdio() {
    typescript_sdk(Era::Auto, Over::Stdio);
}

#[test]
fn the_typescript_sdk_works_over_http_as_in_2025() {
    typescript_sdk(Era::Legacy, Over::Http);
}

#[test]
fn the_typescript_sdk_works_over_stdio_as_in_2025() {
    typescript_sdk(Era::Legacy, Over::Stdio);
}

#[test]
fn the_first_typescript_sdk_works_over_http() {
    first_typescript_sdk(Over::Http);
}

#[test]
fn the_first_typescript_sdk_works_over_stdio() {
    first_typescript_sdk(Over::Stdio);
}
