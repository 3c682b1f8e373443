//! The Inspector on the command line, which is a process for each call: what one of them was asked
//! about is answered to the next.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::installed::{node, npm};
use crate::libraries::{asks, done};
use crate::notes::{approve, notes};
use crate::script::{Era, Over, Reached, without_ids};
use crate::stage::{finished, json as answer, started};

const ADD: [&str; 4] = ["--tool-name", "note.add", "--tool-args-json", r#"{"line":"Oiled."}"#];

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

/// What somebody is asked in the inbox, as soon as there is something.
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

/// Lists, reads, asks a person and writes once.
fn looks_and_adds(era: Era, over: Over) {
    let folder = notes();
    let reached = over.reach(&folder, era);
    let begin = |arguments: &[&str]| started(command(folder.path(), &reached, era, arguments));
    let call = |arguments: &[&str]| begin(&[&["tools/call"], arguments].concat());
    let listed = printed(begin(&["tools/list"]));
    let tools = listed["tools"].as_array().unwrap().iter();
    let names = tools.filter_map(|tool| tool["name"].as_str());
    let names: Vec<_> = names.filter(|name| name.starts_with("note")).collect();
    assert_eq!(names, ["note.add", "note.count", "note.list", "note.read"]);
    let monday = ["--tool-name", "note.read", "--tool-args-json", r#"{"name":"monday"}"#];
    let note = read(era, &printed(call(&monday)));
    assert_eq!(note, done("Oil the walnut tray.\n"));
    let added = match era {
        Era::Legacy => {
            let asked = printed(call(&ADD));
            assert_eq!(read(era, &asked), asks());
            approve(&folder, &asked);
            printed(call(&ADD))
        }
        // The newer one knows tasks, and looks after its own until somebody has answered.
        Era::Auto | Era::Modern => {
            let waits = call(&ADD);
            approve(&folder, &question(&folder));
            printed(waits)
        }
    };
    assert_eq!(read(era, &added), done("Oiled.\n"));
    assert_eq!(folder.read("canary.txt"), "Oiled.\n");
    let counted = printed(call(&["--tool-name", "note.count"]));
    assert_eq!(read(era, &counted), done("counting\ndone\n"));
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
fn inspector_is_told_to_call_again_over_http_as_in_2025() {
    looks_and_adds(Era::Legacy, Over::Http);
}

#[test]
fn inspector_is_told_to_call_again_over_stdio_as_in_2025() {
    looks_and_adds(Era::Legacy, Over::Stdio);
}
