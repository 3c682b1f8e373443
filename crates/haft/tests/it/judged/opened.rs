//! Driver state tests: a path that a manifest opens for writing is a target of every call of its
//! driver, whatever its kind.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use haft::Host;
use haft_model::{Call, Code, Envelope, Event, Verdict};
use haft_runtime::Reader;
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::judged::stage::{call, code, open, shown};

/// The fields of a driver by its kind, and of its entry.
const KINDS: [(&str, &str, &str); 4] = [
    ("cli", "bin: cat", "cli: { argv: [x] }"),
    (
        "mcp",
        "server: { kind: binary, path: /bin/sh, args: [./server.sh] }\ntransport: stdio",
        "mcp: { tool_name: demo }",
    ),
    (
        "sdk",
        "package: demo\npackage_manager: local\nentrypoint: demo.mjs\nimport_style: esm",
        "sdk: { function_ref: demo }",
    ),
    (
        "http",
        "base_url: https://demo.example\nnetwork: { egress: [demo.example] }",
        "http: { endpoint: /demo, headers: { X-Word: \"${secrets.WORD}\" } }",
    ),
];

/// A manifest path, what it needs of the contract, and rules that name it.
struct Opened {
    manifest: String,
    mutates: &'static str,
    stated: String,
    rules: Vec<String>,
}

/// A login of the driver's own, as its manifest states it.
fn login(stated: &str, rules: &[String]) -> Opened {
    Opened {
        manifest: format!("auth: {{ state: {{ paths: [\"{stated}\"] }} }}"),
        mutates: "mutates: []\nrisk_level: 0",
        stated: stated.to_owned(),
        rules: rules.to_vec(),
    }
}

/// Every way in which a manifest opens a path for writing.
fn opened(beyond: &Path) -> Vec<Opened> {
    let real = fs::canonicalize(beyond).unwrap().display().to_string();
    let folder = |name: &str| {
        let all = [format!("{real}/{name}"), format!("{real}/{name}/*"), format!("{real}/*")];
        login(&format!("{real}/{name}"), &all)
    };
    let write = Opened {
        manifest: "sandbox: { fs: { write: [\"out/**\"] } }".to_owned(),
        mutates: "mutates: [\"workspace:out/**\"]\nrisk_level: 1",
        stated: String::new(),
        rules: ["out", "out/*", "./out/**", "*"].map(str::to_owned).into(),
    };
    let kept = Opened {
        mutates: write.mutates,
        ..login("./out/login", &["out/login".to_owned(), "out/*".to_owned()])
    };
    let link =
        login(&format!("{real}/link/**"), &[format!("{real}/there"), format!("{real}/there/*")]);
    let home = login("~/.config/demo", &["~/.config/demo".into(), "~/.config/demo/*".into()]);
    vec![folder("there"), folder("missing"), link, home, write, kept]
}

fn workspace(kind: &(&str, &str, &str), opened: &Opened, rules: &str) -> Folder {
    let (kind, fields, entry) = kind;
    // A request carries its login itself.
    let secret = if *kind == "http" { "state: { env: [WORD], " } else { "state: { " };
    let manifest = opened.manifest.replace("state: { ", secret);
    let settings = "[workspace]\nname = \"opened\"\nautonomy = 3\n[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";
    let tool = format!(
        "---\nname: Demo\nid: demo\ndescription: Does it.\nversion: 1.0.0\n{}\napproval: auto\n\
         requires: {{ network: [demo.example] }}\ninputs: {{ type: object }}\noutputs: {{ type: object }}\n---\n",
        opened.mutates
    );
    let driver = format!(
        "---\nname: Demo\nid: demo\ndescription: Does it.\nversion: 1.0.0\nkind: {kind}\n{fields}\n{}\n\
         implements:\n  - {{ tool: demo, version: ^1, metadata: {{ {entry} }} }}\n---\n",
        manifest
    );
    let folder = Folder::new()
        .file("haft.toml", format!("{settings}{rules}"))
        .file("out/a.txt", "")
        .file("server.sh", "")
        .file("demo.mjs", "")
        .file(".tools/demo/TOOL.md", tool)
        .file(".drivers/demo/DRIVER.md", driver);
    fs::create_dir_all(folder.path().join("out/login")).unwrap();
    folder
}

async fn why(host: &Host) -> (Option<Verdict>, Value) {
    let call = Call::new(host.actor("agent:test"), "demo", json!({}));
    let why = host.runtime().why(&call, Some(json!({}))).await.unwrap();
    (why.decision.as_ref().map(|decision| decision.verdict), why.to_json())
}

fn beyond() -> Folder {
    let beyond = Folder::new();
    fs::create_dir(beyond.path().join("there")).unwrap();
    symlink("there", beyond.path().join("link")).unwrap();
    beyond
}

#[tokio::test]
async fn path_that_any_manifest_opens_is_judged() {
    let beyond = beyond();
    for kind in KINDS {
        // An HTTP driver starts no program, so it has no sandbox to open.
        let opens = |opened: &Opened| kind.0 != "http" || !opened.manifest.contains("sandbox");
        for opened in opened(beyond.path()).iter().filter(|opened| opens(opened)) {
            let folder = workspace(&kind, opened, "");
            let (verdict, told) = why(&open(&folder, 1)).await;
            let case = format!("{} {}: {told}", kind.0, opened.manifest);
            // A login makes no read a write that asks.
            assert_eq!(verdict, Some(Verdict::Allow), "{case}");
            let named = told["route"]["driver_state"].to_string().contains(&opened.stated);
            assert!(named || opened.stated.is_empty(), "{case}");
            for pattern in &opened.rules {
                denied(&kind, opened, pattern).await;
            }
        }
    }
}

async fn denied(kind: &(&str, &str, &str), opened: &Opened, pattern: &str) {
    let rule = format!("[[rule]]\nverdict = \"deny\"\npath = \"{pattern}\"\n");
    let folder = workspace(kind, opened, &rule);
    let host = open(&folder, 1);
    let (verdict, told) = why(&host).await;
    let case = format!("{} {} {pattern}: {told}", kind.0, opened.manifest);
    assert_eq!(verdict, Some(Verdict::Deny), "{case}");
    let envelope = call(&host, "demo", json!({})).await;
    assert_eq!(code(&envelope), Some(Code::PermissionDenied), "{case} {}", shown(&envelope));
    for event in events(&host, &envelope).await {
        match event {
            Event::Started(_) => panic!("{case}: something ran"),
            Event::PermissionDecided(decided) => {
                let stated = decided.driver_state.concat();
                assert_eq!(stated, opened.stated, "{case}: the record names what it opens");
            }
            _ => {}
        }
    }
}

async fn events(host: &Host, envelope: &Envelope) -> Vec<Event> {
    let reader = host.runtime().reader();
    reader.caught_up().await.unwrap();
    let entries = reader.story(&envelope.invocation_id).await.unwrap();
    let facts = entries.iter().flat_map(|entry| Reader::facts(entry).unwrap());
    facts.map(|fact| fact.event).collect()
}
