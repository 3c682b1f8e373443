//! Client fixture: a workspace with notes to read, a write that needs approval, and a slow tool.

use haft_testkit::{ALLOW, Folder};
use serde_json::Value;

use crate::stage::run;

const DRIVER: &str = r#"---
name: notes
id: notes
description: Notes, by a shell.
version: 1.0.0
kind: cli
bin: sh
sandbox:
  fs: { read: ["./**"], write: ["./canary.txt"] }
implements:
  - { tool: note.list, version: ^1, metadata: { cli: { argv: ["-c", "ls notes"] } } }
  - { tool: note.read, version: ^1, metadata: { cli: { argv: ["-c", "cat \"notes/$0\"", "${input.name}"] } } }
  - { tool: note.add, version: ^1, metadata: { cli: { argv: ["-c", "echo \"$0\" | tee -a canary.txt", "${input.line}"] } } }
  - { tool: note.count, version: ^1, metadata: { cli: { argv: ["-c", "echo counting; sleep 1.5; echo done"] } } }
---
"#;

const READS: &str = "mutates: []\nrisk_level: 0";
const ASKS: &str = "mutates: [\"workspace:canary.txt\"]\nrisk_level: 1\napproval: always\n\
    metadata: { haft: { facts: { destructive: false } } }";

/// A surface with deferred loading of every schema.
const FEW: &str = "[[surface]]\nscope = \"workspace\"\ntools = [\"note.*\"]\ndefer_above = 0\n";

fn tool(id: &str, does: &str, effects: &str, takes: &str) -> String {
    format!(
        "---\nname: {id}\nid: {id}\ndescription: {does}\nversion: 1.0.0\n{effects}\ninputs:\n  \
         type: object\n  properties: {{ {takes} }}\n  additionalProperties: false\noutputs:\n  \
         type: object\n  properties: {{ text: {{ type: string }} }}\n  required: [text]\n---\n"
    )
}

/// How many of the tools a client is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shown {
    All,
    Few,
}

impl Shown {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Shown::All => "all",
            Shown::Few => "few",
        }
    }
}

/// The workspace, with nothing in its canary.
pub(crate) fn notes(shown: Shown) -> Folder {
    let surface = match shown {
        Shown::All => "",
        Shown::Few => FEW,
    };
    let list = tool("note.list", "Lists the notes.", READS, "");
    let read = tool("note.read", "Reads a note.", READS, "name: { type: string }");
    let add = tool("note.add", "Adds a line to the canary.", ASKS, "line: { type: string }");
    let count = tool("note.count", "Counts for a while.", READS, "");
    Folder::new()
        .file("haft.toml", format!("[workspace]\nname = \"notes\"\n{surface}{ALLOW}"))
        .file(".tools/note.list/TOOL.md", list)
        .file(".tools/note.read/TOOL.md", read)
        .file(".tools/note.add/TOOL.md", add)
        .file(".tools/note.count/TOOL.md", count)
        .file(".drivers/notes/DRIVER.md", DRIVER)
        .file("notes/monday", "Oil the walnut tray.\n")
        .file("canary.txt", "")
}

/// A person approves what an answer asks about, at a terminal of their own.
#[track_caller]
pub(crate) fn approve(folder: &Folder, asked: &Value) {
    let asked = asked.to_string();
    let begin = asked.find("apr_").unwrap_or_else(|| panic!("nobody is asked: {asked}"));
    let line = format!("approve {}", &asked[begin..begin + 36]);
    let ran = run(folder, &line);
    assert!(ran.status.success(), "haft {line}\n{ran:?}");
    assert_eq!(folder.read("canary.txt"), "Oiled.\n", "what was approved is done at once");
}
