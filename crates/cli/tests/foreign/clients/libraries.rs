//! MCP library tests: every answer is compared as a whole.

use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::clients::deferred::finds_loads_and_calls;
use crate::clients::installed::{JUNE, MODERN};
use crate::clients::notes::{Shown, approve, notes};
use crate::clients::script::{Era, Over, Script, without_ids};

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
    let says = "agent:local wants to use note.add@1: approval is `always`";
    let approval = json!({ "approval_id": "apr_[id]", "state": "open", "decided_by": "a person" });
    json!({
        "content": [{ "type": "text", "text": format!("{says}; a person has to decide (apr_[id])") }],
        "isError": true,
        "_meta": { "dev.haft/invocation-id": "inv_[id]", "dev.haft/approval": approval },
    })
}

/// What every client hears, whichever library it uses.
#[track_caller]
fn looks_adds_and_counts(folder: &Folder, mut script: Script, version: &str) {
    assert_eq!(script.next("version"), version);
    let tools = json!(["note_add", "note_count", "note_list", "note_read"]);
    assert_eq!(script.next("tools"), tools);
    assert_eq!(script.next("read"), done("Oil the walnut tray.\n"));
    let asked = script.raw("asked");
    assert_eq!(without_ids(&asked), asks());
    assert_eq!(folder.read("canary.txt"), "", "nothing is done before somebody says yes");
    approve(folder, &asked);
    script.go_on();
    assert_eq!(script.next("added"), done("Oiled.\n"));
    // The result was delivered, so that another call is another intent.
    assert_eq!(script.next("again"), asks());
    assert_eq!(folder.read("canary.txt"), "Oiled.\n");
    assert_eq!(script.next("counted"), done("counting\ndone\n"));
    tells_progress(&script.next("progress"));
    script.end();
}

/// What is heard while the count goes on.
#[track_caller]
pub(crate) fn tells_progress(progress: &Value) {
    let first = &progress[0];
    assert_eq!((first[0].as_f64(), &first[2]), (Some(1.0), &json!("counting")), "{progress}");
}

/// A library, and which line of it.
#[derive(Clone, Copy, Debug)]
enum Library {
    Python,
    Fastmcp,
    Typescript,
    /// The first line of the SDK, which most clients of today are built on, knows no newer wire.
    FirstTypescript,
    PythonOfJune,
    TypescriptOfJune,
}

impl Library {
    fn start(self, told: &Value) -> Script {
        match self {
            Library::Python => Script::python("client_mcp.py", &MODERN, told),
            Library::Fastmcp => Script::python("client_fastmcp.py", &MODERN, told),
            Library::Typescript => Script::node("client_typescript.mjs", "second", told),
            Library::FirstTypescript => Script::node("client_typescript.mjs", "first", told),
            Library::PythonOfJune => Script::python("client_mcp_of_june.py", &JUNE, told),
            Library::TypescriptOfJune => Script::node("client_typescript.mjs", "june", told),
        }
    }

    /// It is shown every tool, and then few of them.
    fn works(self, era: Era, over: Over) {
        for (shown, check) in [
            (Shown::All, looks_adds_and_counts as fn(&Folder, Script, &str)),
            (Shown::Few, finds_loads_and_calls),
        ] {
            let folder = notes(shown);
            let reached = over.reach(&folder, era, shown);
            check(&folder, self.start(&reached.told), era.version());
        }
    }
}

#[test]
fn the_python_sdk_works_over_http() {
    Library::Python.works(Era::Modern, Over::Http);
}

#[test]
fn the_python_sdk_works_over_stdio() {
    Library::Python.works(Era::Auto, Over::Stdio);
}

#[test]
fn the_python_sdk_works_over_http_as_in_2025() {
    Library::Python.works(Era::Legacy, Over::Http);
}

#[test]
fn the_python_sdk_works_over_stdio_as_in_2025() {
    Library::Python.works(Era::Legacy, Over::Stdio);
}

#[test]
fn fastmcp_works_over_http() {
    Library::Fastmcp.works(Era::Auto, Over::Http);
}

#[test]
fn fastmcp_works_over_stdio() {
    Library::Fastmcp.works(Era::Modern, Over::Stdio);
}

#[test]
fn fastmcp_works_over_http_as_in_2025() {
    Library::Fastmcp.works(Era::Legacy, Over::Http);
}

#[test]
fn fastmcp_works_over_stdio_as_in_2025() {
    Library::Fastmcp.works(Era::Legacy, Over::Stdio);
}

#[test]
fn the_typescript_sdk_works_over_http() {
    Library::Typescript.works(Era::Modern, Over::Http);
}

#[test]
fn the_typescript_sdk_works_over_stdio() {
    Library::Typescript.works(Era::Auto, Over::Stdio);
}

#[test]
fn the_typescript_sdk_works_over_http_as_in_2025() {
    Library::Typescript.works(Era::Legacy, Over::Http);
}

#[test]
fn the_typescript_sdk_works_over_stdio_as_in_2025() {
    Library::Typescript.works(Era::Legacy, Over::Stdio);
}

#[test]
fn the_first_typescript_sdk_works_over_http() {
    Library::FirstTypescript.works(Era::Legacy, Over::Http);
}

#[test]
fn the_first_typescript_sdk_works_over_stdio() {
    Library::FirstTypescript.works(Era::Legacy, Over::Stdio);
}

#[test]
fn the_python_sdk_of_june_2025_works_over_http() {
    Library::PythonOfJune.works(Era::June, Over::Http);
}

#[test]
fn the_python_sdk_of_june_2025_works_over_stdio() {
    Library::PythonOfJune.works(Era::June, Over::Stdio);
}

#[test]
fn the_typescript_sdk_of_june_2025_works_over_http() {
    Library::TypescriptOfJune.works(Era::June, Over::Http);
}

#[test]
fn the_typescript_sdk_of_june_2025_works_over_stdio() {
    Library::TypescriptOfJune.works(Era::June, Over::Stdio);
}
