//! CLI driver tests: a host runs the git program and makes real commits in a real repository.

mod governing;
mod numbers;

use std::process::Command;
use std::sync::Arc;

use haft::{Host, HostOptions, Launcher, StoreChoice};
use haft_driver::{BoxFuture, OpenedSecret, SecretRequest, Vault, Withheld};
use haft_model::{Call, Code, EffectState, Envelope, Event, ResultStatus, Secret};
use haft_runtime::{AnswerOutcome, CallOptions, Patience, Reader, Reply};
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::accepted;

fn contract(id: &str, effects: &str, inputs: &str, required: &str) -> String {
    format!(
        "---\nname: {id}\nid: {id}\ndescription: Does {id}.\nversion: 1.0.0\n{effects}\
         inputs: {{ type: object, properties: {{ {inputs} }}, required: [{required}] }}\n\
         outputs: {{ type: object, properties: {{ text: {{ type: string }} }}, required: [text] }}\n---\n"
    )
}

const READ: &str = "mutates: []\nrisk_level: 0\napproval: auto\nrequires: {}\n";
const WRITE: &str =
    "mutates: [\"workspace:/.git\"]\nrisk_level: 1\napproval: on-mutate\nrequires: {}\n";
const STRAY: &str = "mutates: [\"workspace:/docs\"]\nrisk_level: 1\napproval: auto\nrequires: {}\n";

/// Reads by a bundle, whose way through `commands` begins the command line.
const BUNDLE: &str = r#"---
name: Git
id: git
description: The git program, for reading.
version: 1.0.0
bin: git
bin_args: ["--no-pager", "-c", "safe.directory=*"]
install: [{ method: apt, package: git }]
version_check: { cmd: git --version, parse: "git version (\\d+\\.\\d+\\.\\d+)", range: ">=2.20" }
sandbox:
  network: { egress: [] }
  fs: { read: ["./**"], write: [] }
  exec: { allow: false }
  env: { set: { GIT_CONFIG_NOSYSTEM: "1", GIT_OPTIONAL_LOCKS: "0" } }
output: { exit_codes: { 128: not_found } }
commands: { log: ../../.tools/git.log/TOOL.md }
metadata:
  cli: { log: { argv: ["--format=%s", "--max-count=${input.count}", "--end-of-options", "${input.from}"] } }
---
"#;

/// Writes by a driver.
const DRIVER: &str = r#"---
name: Git writer
id: git-writer
description: The git program, for committing.
version: 1.0.0
kind: cli
bin: git
bin_args: ["-c", "safe.directory=*", "-c", "user.name=Ana", "-c", "user.email=ana@example.com", "-c", "gc.auto=0", "-c", "maintenance.auto=false"]
sandbox:
  fs: { read: ["./**"], write: ["./.git/**"] }
  env: { set: { GIT_CONFIG_NOSYSTEM: "1" } }
implements:
  - tool: git.commit
    version: ^1
    metadata:
      cli: { argv: ["commit", "--allow-empty", "--message=${input.message}"] }
      haft: { not_committed: [129] }
  - tool: git.stray
    version: ^1
    metadata:
      cli: { argv: ["commit", "--allow-empty", "--message=${input.message}"] }
---
"#;

/// A repository with one commit and its contracts.
fn repository() -> Folder {
    let message = "message: { type: string }";
    let folder = Folder::new()
        .file("haft.toml", "[workspace]\nname = \"repo\"\n")
        .file("docs/a.md", "a\n")
        .file(
            ".tools/git.log/TOOL.md",
            contract(
                "git.log",
                READ,
                "count: { type: integer, default: 10 }, from: { type: string, default: HEAD }",
                "",
            ),
        )
        .file(".tools/git.commit/TOOL.md", contract("git.commit", WRITE, message, "message"))
        .file(".tools/git.stray/TOOL.md", contract("git.stray", STRAY, message, "message"))
        .file(".cli/git/CLI.md", BUNDLE)
        .file(".drivers/git-writer/DRIVER.md", DRIVER);
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    git(&folder, &["commit", "--quiet", "--allow-empty", "--message=first"]);
    folder
}

/// What git says outside of Haft.
fn git(folder: &Folder, args: &[&str]) -> String {
    let identity = ["-c", "user.name=Ana", "-c", "user.email=ana@example.com"];
    let output =
        Command::new("git").args(identity).args(args).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn open(folder: &Folder) -> Host {
    let options = HostOptions {
        store: StoreChoice::Memory,
        launcher: Some(Launcher::at(env!("CARGO_BIN_EXE_haft-test-launcher"))),
        ..HostOptions::default()
    };
    accepted::accept(folder);
    Host::open(folder.path(), options).unwrap()
}

/// A call that a person approves where they are asked.
async fn call(host: &Host, tool: &str, input: Value) -> Envelope {
    let manner = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
    let asked = host.runtime().call(Call::new(host.actor("agent:test"), tool, input), manner).await;
    let question = asked.approval_id.clone().filter(|_| asked.status == ResultStatus::Pending);
    let Some(question) = question else { return asked };
    let reply = Reply {
        by: host.owner("ana"),
        approves: true,
        reason: None,
        edited_input: None,
        content: None,
        always: false,
        channel: "inbox".into(),
    };
    match host.runtime().answer_and_run(&question, reply).await.unwrap() {
        AnswerOutcome::CarriedOut(envelope) => *envelope,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_bundle_reads_and_a_driver_commits() {
    let folder = repository();
    let host = open(&folder);
    let log = call(&host, "git.log", json!({})).await;
    assert_eq!((log.error, log.effect_state), (None, EffectState::None));
    assert_eq!(log.structured_content, Some(json!({"text": "first\n"})));
    let written = call(&host, "git.commit", json!({"message": "--amend; rm -rf /"})).await;
    assert_eq!((written.error, written.effect_state), (None, EffectState::Committed));
    assert_eq!(git(&folder, &["log", "--format=%an %s"]), "Ana --amend; rm -rf /\nAna first\n");
    let log = call(&host, "git.log", json!({"count": 1})).await;
    assert_eq!(log.structured_content, Some(json!({"text": "--amend; rm -rf /\n"})));
}

#[tokio::test]
async fn driver_maps_exit_code_to_error_and_records_it() {
    let folder = repository();
    let host = open(&folder);
    let gone = call(&host, "git.log", json!({"from": "no-such-branch"})).await;
    let error = gone.error.unwrap();
    assert_eq!((error.error_code, error.effect_state), (Code::ResourceNotFound, EffectState::None));
    assert!(error.message.starts_with("`git` ended with code 128: "), "{}", error.message);
    let story = host.runtime().reader().story(&gone.invocation_id).await.unwrap();
    let mut facts = story.iter().flat_map(|entry| Reader::facts(entry).unwrap());
    let native = facts.find_map(|fact| match fact.event {
        Event::AttemptEnded(ended) => ended.native.first().cloned(),
        _ => None,
    });
    let native = native.unwrap();
    let told = (native.get("source").cloned(), native.get("exit_code").cloned());
    assert_eq!(told, (Some(json!("cli")), Some(json!(128))));
}

#[tokio::test]
async fn undeclared_mutation_by_cli_tool_is_blocked() {
    let folder = repository();
    let host = open(&folder);
    let stray = call(&host, "git.stray", json!({"message": "second"})).await;
    let error = stray.error.unwrap();
    assert!(
        matches!(error.error_code, Code::ExecutionFailed | Code::EffectUndeclared),
        "{error:?}"
    );
    assert_eq!(git(&folder, &["log", "--format=%s"]), "first\n");
}

/// A vault with one value, whatever is asked for.
struct Drawer;

const HELD: &str = "held-4711-in-the-drawer";

impl Vault for Drawer {
    fn open<'a>(
        &'a self,
        asked: SecretRequest<'a>,
    ) -> BoxFuture<'a, Result<OpenedSecret, Withheld>> {
        let slug = asked.name.to_ascii_lowercase().replace('_', "-");
        Box::pin(std::future::ready(Ok(OpenedSecret { slug, value: Secret::new(HELD.to_owned()) })))
    }
}

#[tokio::test]
async fn secret_printed_by_program_never_reaches_result_or_ledger() {
    let driver = "---\nname: Demo\nid: demo\ndescription: A program.\nversion: 1.0.0\nkind: cli\nbin: sh\n\
        auth: { state: { env: [DEMO_TOKEN] } }\nimplements:\n  - tool: demo.run\n    version: ^1\n    \
        metadata: { cli: { argv: [\"-c\", 'echo token $DEMO_TOKEN; echo again $DEMO_TOKEN >&2; exit $1', sh, \"${input.code}\"] } }\n---\n";
    let effects =
        format!("{}requires: {{ secrets: [demo-token] }}\n", READ.replace("requires: {}\n", ""));
    let folder = Folder::new()
        .file("haft.toml", "[workspace]\nname = \"demo\"\n")
        .file(
            ".tools/demo.run/TOOL.md",
            contract("demo.run", &effects, "code: { type: integer }", "code"),
        )
        .file(".drivers/demo/DRIVER.md", driver);
    let options = HostOptions {
        store: StoreChoice::Memory,
        vault: Some(Arc::new(Drawer)),
        launcher: Some(Launcher::at(env!("CARGO_BIN_EXE_haft-test-launcher"))),
        ..HostOptions::default()
    };
    accepted::accept(&folder);
    let host = Host::open(folder.path(), options).unwrap();
    for code in [0, 3] {
        let envelope = call(&host, "demo.run", json!({"code": code})).await;
        assert_eq!(envelope.error.is_some(), code != 0, "{:?}", envelope.error);
        let told = serde_json::to_string(&envelope).unwrap();
        assert!(told.contains(if code == 0 { "token" } else { "again" }), "{told}");
        let story = host.runtime().reader().story(&envelope.invocation_id).await.unwrap();
        let lines: String = story.into_iter().map(|entry| entry.line).collect();
        assert!(!told.contains(HELD) && !lines.contains(HELD), "{told}{lines}");
    }
}
