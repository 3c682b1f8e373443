//! MCP Inspector tests: each call is a process, so an approval that one process requests is
//! answered to the next.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::clients::deferred::{is_found, refused};
use crate::clients::installed::{node, npm};
use crate::clients::libraries::{asks, done};
use crate::clients::notes::{Shown, approve, notes};
use crate::clients::script::{Era, Over, Reached, without_ids};
use crate::stage::{finished, json as answer, started};

const ADD: [&str; 4] = ["--tool-name", "note_add", "--tool-args-json", r#"{"line":"Oiled."}"#];

fn command(home: &Path, reached: &Reached, era: Era, arguments: &[&str]) -> Command {
    let mut command = Command::new(node());
    let inspector = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    command.arg(npm().join(inspector)).args(["--cli", "--format", "json", "--quiet"]);
    command.args(["--protocol-era", era.name(), "--method"]).args(arguments);
    let words = reached.told["command"].as_array().map(Vec::as_slice);
    command.args(words.unwrap_or_default().iter().map(|word| word.as_str().unwrap()));
    if let Some(url) = reached.told["url"].as_str() {
        command.args(["--server-url", url]);
    }
    // It keeps what it knows of servers at home.
    command.env("HOME", home).env("XDG_CONFIG_HOME", home.join(".config")).stdin(Stdio::null());
    command
}

/// The result that it prints.
#[track_caller]
fn printed(child: Child) -> Value {
    let ran = finished(child, "inspector");
    let said = String::from_utf8(ran.stdout).unwrap();
    let remarks = String::from_utf8_lossy(&ran.stderr).into_owned();
    let told: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said} {remarks}"));
    told["result"].clone()
}

/// The open question of the approval inbox, as soon as there is one.
#[track_caller]
fn question(folder: &Folder) -> Value {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let (_, open) = answer(folder, "approvals --json");
        if open != json!([]) {
            return open;
        }
        assert!(Instant::now() < patience, "nobody was asked");
    }
}

/// The same without ids, and without what the newer version says about its kind.
#[track_caller]
fn read(era: Era, result: &Value) -> Value {
    let mut result = without_ids(result);
    let kind = result.as_object_mut().unwrap().remove("resultType");
    assert_eq!(kind.is_some(), era != Era::Legacy, "{result}");
    result
}

/// What comes of a write that a person has to allow.
#[track_caller]
fn adds(folder: &Folder, era: Era, call: &dyn Fn() -> Child) -> Value {
    match era {
        Era::June | Era::Legacy => {
            let asked = printed(call());
            assert_eq!(read(era, &asked), asks());
            approve(folder, &asked);
            printed(call())
        }
        // The newer version knows tasks, and polls its own until a person has answered.
        Era::Auto | Era::Modern => {
            let waits = call();
            approve(folder, &question(folder));
            printed(waits)
        }
    }
}

/// Lists, reads, asks a person and writes once.
fn looks_and_adds(era: Era, over: Over) {
    let folder = notes(Shown::All);
    let reached = over.reach(&folder, era, Shown::All);
    let begin = |arguments: &[&str]| started(command(folder.path(), &reached, era, arguments));
    let call = |arguments: &[&str]| begin(&[&["tools/call"], arguments].concat());
    let listed = printed(begin(&["tools/list"]));
    let tools = listed["tools"].as_array().unwrap().iter();
    let names = tools.filter_map(|tool| tool["name"].as_str());
    let names: Vec<_> = names.filter(|name| name.starts_with("note")).collect();
    assert_eq!(names, ["note_add", "note_count", "note_list", "note_read"]);
    let monday = ["--tool-name", "note_read", "--tool-args-json", r#"{"name":"monday"}"#];
    let note = read(era, &printed(call(&monday)));
    assert_eq!(note, done("Oil the walnut tray.\n"));
    let added = adds(&folder, era, &|| call(&ADD));
    assert_eq!(read(era, &added), done("Oiled.\n"));
    assert_eq!(folder.read("canary.txt"), "Oiled.\n");
    let counted = printed(call(&["--tool-name", "note_count"]));
    assert_eq!(read(era, &counted), done("counting\ndone\n"));
}

/// Each of its processes is a session of its own, unless it names one; until 2025-11-25 the server
/// tells them apart by themselves.
const SESSION: [&str; 2] = ["--tool-metadata", "dev.haft/session=s-1"];

const ADD_BY_OURS: [&str; 4] = [
    "--tool-name",
    "call_write",
    "--tool-args-json",
    r#"{"name":"note_add","arguments":{"line":"Oiled."}}"#,
];

/// Searches, and is refused what it has not loaded.
fn finds_and_is_refused(call: &dyn Fn(&[&str]) -> Child, era: Era) {
    let words = r#"{"query":"read a note","limit":1}"#;
    let search = ["--tool-name", "tool_search", "--tool-args-json", words];
    is_found(read(era, &printed(call(&search))));
    let monday = r#"{"name":"note_read","arguments":{"name":"monday"}}"#;
    let note = ["--tool-name", "call_read", "--tool-args-json", monday];
    assert_eq!(read(era, &printed(call(&note))), refused());
}

/// Searches, loads and calls what its list left out, each by a process of its own.
fn finds_loads_and_adds(era: Era) {
    let folder = notes(Shown::Few);
    let reached = Over::Http.reach(&folder, era, Shown::Few);
    let begin = |arguments: &[&str]| started(command(folder.path(), &reached, era, arguments));
    let session = if era == Era::Legacy { &SESSION[..] } else { &[] };
    let call = |arguments: &[&str]| begin(&[&["tools/call"], arguments, session].concat());
    finds_and_is_refused(&call, era);
    let names = r#"{"names":["note_add","note_read"]}"#;
    let loaded = printed(call(&["--tool-name", "tool_load", "--tool-args-json", names]));
    assert_eq!(loaded["structuredContent"]["next_action"], "call", "{loaded:#}");
    let monday = r#"{"name":"note_read","arguments":{"name":"monday"}}"#;
    let note = printed(call(&["--tool-name", "call_read", "--tool-args-json", monday]));
    assert_eq!(read(era, &note), done("Oil the walnut tray.\n"));
    let added = adds(&folder, era, &|| call(&ADD_BY_OURS));
    assert_eq!(read(era, &added), done("Oiled.\n"));
    assert_eq!(folder.read("canary.txt"), "Oiled.\n");
}

/// Over standard input and output each call has a server of its own, in which nothing is loaded.
fn is_told_what_to_load(era: Era) {
    let folder = notes(Shown::Few);
    let reached = Over::Stdio.reach(&folder, era, Shown::Few);
    let call = |arguments: &[&str]| {
        started(command(folder.path(), &reached, era, &[&["tools/call"], arguments].concat()))
    };
    finds_and_is_refused(&call, era);
}

#[test]
fn inspector_finds_loads_and_adds_over_http() {
    finds_loads_and_adds(Era::Modern);
}

#[test]
fn inspector_in_legacy_era_finds_loads_and_adds() {
    finds_loads_and_adds(Era::Legacy);
}

#[test]
fn inspector_is_told_what_to_load_over_stdio() {
    is_told_what_to_load(Era::Auto);
}

#[test]
fn inspector_in_legacy_era_is_told_what_to_load() {
    is_told_what_to_load(Era::Legacy);
}

#[test]
fn inspector_waits_for_its_task_over_http() {
    looks_and_adds(Era::Modern, Over::Http);
}

#[test]
fn inspector_waits_for_its_task_over_stdio() {
    looks_and_adds(Era::Auto, Over::Stdio);
}

#[test]
fn inspector_in_legacy_era_retries_pending_call_over_http() {
    looks_and_adds(Era::Legacy, Over::Http);
}

#[test]
fn inspector_in_legacy_era_retries_pending_call_over_stdio() {
    looks_and_adds(Era::Legacy, Over::Stdio);
}
