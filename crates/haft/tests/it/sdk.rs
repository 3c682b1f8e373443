//! SDK driver tests: a host with a contract and a driver of kind sdk calls a real function.

use haft::{Host, HostOptions, Launcher, StoreChoice};
use haft_model::{Call, EffectState};
use haft_runtime::CallOptions;
use haft_testkit::{ALLOW, Folder, READ};
use serde_json::json;

use crate::accepted;

fn contract(id: &str, effects: &str) -> String {
    format!(
        "---\nname: {id}\nid: {id}\ndescription: Does {id}.\nversion: 1.0.0\n{effects}\
         inputs: {{ type: object, properties: {{ text: {{ type: string }} }}, required: [text] }}\n\
         outputs: {{ type: object }}\n---\n"
    )
}

fn driver(entrypoint: &str, style: &str) -> String {
    let entry = |tool: &str, function: &str| {
        format!(
            "  - {{ tool: {tool}, version: ^1, metadata: {{ sdk: {{ function_ref: {function} }} }} }}\n"
        )
    };
    format!(
        "---\nname: Notes\nid: notes\ndescription: Notes.\nversion: 1.0.0\nkind: sdk\n\
         package: notes\npackage_manager: local\nentrypoint: {entrypoint}\nimport_style: {style}\n\
         implements:\n{}{}---\n",
        entry("note.look", "look"),
        entry("note.keep", "keep"),
    )
}

async fn check(entrypoint: &str, style: &str, code: &str) {
    let write = "mutates: [\"workspace:notes/**\"]\nrisk_level: 1\napproval: auto\n";
    let folder = Folder::new()
        .file("haft.toml", format!("[workspace]\nname = \"notes\"\n{ALLOW}"))
        .file(".tools/note.look/TOOL.md", contract("note.look", READ))
        .file(".tools/note.keep/TOOL.md", contract("note.keep", write))
        .file(".drivers/notes/DRIVER.md", driver(entrypoint, style))
        .file(entrypoint, code)
        .file("notes/log", "");
    let launcher = Some(Launcher::at(env!("CARGO_BIN_EXE_haft-test-launcher")));
    let options = HostOptions { store: StoreChoice::Memory, launcher, ..HostOptions::default() };
    accepted::accept(&folder);
    let host = Host::open(folder.path(), options).unwrap();
    let call = |tool: &str| {
        let call = Call::new(host.actor("agent:test"), tool, json!({"text": "a"}));
        host.runtime().call(call, CallOptions::default())
    };
    let read = call("note.look").await;
    assert_eq!((read.error, read.structured_content), (None, Some(json!({"seen": "a"}))));
    let write = call("note.keep").await;
    assert_eq!((write.error, write.structured_content), (None, Some(json!({"kept": "a"}))));
    assert_eq!(write.effect_state, EffectState::Committed);
    assert_eq!(folder.read("notes/log"), "a");
}

#[tokio::test]
async fn a_read_and_a_write_reach_functions_of_node() {
    let code = "import fs from 'node:fs';
export const look = ({ text }) => ({ seen: text });
export const keep = async ({ text }) => {
  await fs.promises.appendFile('notes/log', text);
  return { kept: text };
};
";
    check("lib/notes.mjs", "esm", code).await;
}

#[tokio::test]
async fn a_read_and_a_write_reach_functions_of_python() {
    let code = "def look(text):
    return {'seen': text}

def keep(text):
    with open('notes/log', 'a') as log:
        log.write(text)
    return {'kept': text}
";
    check("lib/notes.py", "python", code).await;
}
