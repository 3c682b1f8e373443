//! Governing file protection: a confined program that may write the workspace cannot change its
//! rules.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft::Host;
use haft_model::{Code, Envelope};
use haft_testkit::Folder;
use serde_json::json;

use super::{call, contract, git, open};

const ALL: &str = "mutates: [\"workspace:*\"]\nrisk_level: 1\napproval: auto\nrequires: {}\n";
const CONFIG: &str =
    "mutates: [\"workspace:*\", \"git:config\"]\nrisk_level: 1\napproval: auto\nrequires: {}\n";

const SHELL: &str = r#"---
name: Shell
id: shell
description: A shell that works on the workspace.
version: 1.0.0
kind: cli
bin: sh
sandbox:
  fs: { read: ["./**"], write: ["./**"] }
  env: { set: { GIT_CONFIG_NOSYSTEM: "1" } }
implements:
  - { tool: shell.work, version: ^1, metadata: { cli: { argv: ["-c", "${input.script}"] } } }
  - { tool: shell.configure, version: ^1, metadata: { cli: { argv: ["-c", "${input.script}"] } } }
---
"#;

/// A tool and a driver in one file, as they would be put in place by a program that wants more.
const EVIL: &str = "---\\nname: evil\\nid: evil\\ndescription: e\\nversion: 1.0.0\\n---\\n";

fn workspace() -> Folder {
    let input = "script: { type: string }";
    let folder = Folder::new()
        .file("haft.toml", "[workspace]\nname = \"repo\"\n")
        .file("src/main", "m\n")
        .file(".tools/shell.work/TOOL.md", contract("shell.work", ALL, input, "script"))
        .file(
            ".tools/shell.configure/TOOL.md",
            contract("shell.configure", CONFIG, input, "script"),
        )
        .file(".drivers/shell/DRIVER.md", SHELL);
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    folder
}

async fn work(host: &Host, tool: &str, script: &str) -> Envelope {
    call(host, tool, json!({ "script": script })).await
}

fn code(envelope: &Envelope) -> Option<Code> {
    envelope.error.as_ref().map(|error| error.error_code)
}

/// Everything that governs the workspace, with its text.
fn rules(folder: &Folder) -> Vec<(PathBuf, String)> {
    let mut paths: Vec<PathBuf> = ["haft.toml", ".tools", ".drivers", ".git/config", ".git/hooks"]
        .map(|name| folder.path().join(name))
        .into();
    let mut found = Vec::new();
    while let Some(path) = paths.pop() {
        match fs::read_dir(&path) {
            Ok(listed) => paths.extend(listed.map(|entry| entry.unwrap().path())),
            Err(_) => found.push((path.clone(), fs::read_to_string(&path).unwrap())),
        }
    }
    found.sort();
    found
}

fn is_quarantined(folder: &Folder, path: &str) -> bool {
    let runs = fs::read_dir(folder.path().join(".haft/quarantine")).into_iter().flatten();
    runs.flatten().any(|run| run.path().join(path).exists())
}

fn tools(host: &Host) -> Vec<String> {
    host.workspace().snapshot().entries().map(|entry| entry.contract.key().to_string()).collect()
}

#[tokio::test]
async fn rules_survive_a_program_that_may_write_everything() {
    let folder = workspace();
    let host = open(&folder);
    let (before, known) = (rules(&folder), tools(&host));
    let attempts = [
        "printf '[workspace]\\nsandbox = \"off\"\\n' > haft.toml",
        "printf x > new && mv new haft.toml",
        "rm -rf .tools",
        "mv .drivers old",
        "printf x > .git/hooks/pre-commit",
        "printf x > .git/config",
        "git config core.fsmonitor ./evil",
        "mv .git old",
        "ln haft.toml same && printf x > same",
    ];
    for attempt in attempts {
        let envelope = work(&host, "shell.work", attempt).await;
        assert!(code(&envelope).is_some(), "{attempt}: {envelope:?}");
        assert_eq!(rules(&folder), before, "{attempt}");
        host.refresh().unwrap();
        assert_eq!(tools(&host), known, "{attempt}");
    }
    let made = [
        (format!("mkdir -p .cli/p && printf '%b' '{EVIL}' > .cli/p/CLI.md"), ".cli/p/CLI.md"),
        (
            format!("mkdir -p y && printf '%b' '{EVIL}' > y/ACTION.md && mv y .actions"),
            ".actions/ACTION.md",
        ),
        ("printf x > GOVERNANCE.md".to_owned(), "GOVERNANCE.md"),
        ("printf x > .envrc".to_owned(), ".envrc"),
        (
            "mkdir -p src/sub/.git && printf x > src/sub/.git/config".to_owned(),
            "src/sub/.git/config",
        ),
    ];
    for (attempt, path) in made {
        let envelope = work(&host, "shell.work", &attempt).await;
        assert_eq!(code(&envelope), Some(Code::SandboxViolation), "{attempt}: {envelope:?}");
        assert!(is_quarantined(&folder, path) && !folder.path().join(path).exists(), "{attempt}");
        assert_eq!(rules(&folder), before, "{attempt}");
        host.refresh().unwrap();
        assert_eq!(tools(&host), known, "{attempt}");
    }
    let fine =
        work(&host, "shell.work", "printf x > src/other && git add src && printf done").await;
    assert_eq!(code(&fine), None, "{fine:?}");
}

#[tokio::test]
async fn a_live_host_never_loads_what_a_run_makes() {
    let folder = workspace();
    let host = Arc::new(open(&folder));
    let known = tools(&host);
    let made = folder.path().join(".cli/shell/CLI.md");
    let text =
        SHELL.replace("kind: cli\n", "").replace('\n', "\\n").replace("id: shell", "id: evil");
    let script = format!(
        "mkdir -p .cli/shell && printf '%b' '{text}' > .cli/shell/CLI.md && \
         until [ -e src/go ]; do sleep 0.01; done"
    );
    let calling = tokio::spawn({
        let host = host.clone();
        async move { work(&host, "shell.work", &script).await }
    });
    while !Path::new(&made).exists() {
        tokio::task::yield_now().await;
        assert!(!calling.is_finished(), "{:?}", calling.await);
    }
    let is_loaded =
        || host.workspace().diagnostics().iter().any(|one| one.file.starts_with(".cli"));
    for _ in 0..3 {
        host.refresh().unwrap();
        assert_eq!(tools(&host), known);
        assert!(!is_loaded(), "it was read while it was not inspected");
    }
    fs::write(folder.path().join("src/go"), "").unwrap();
    let envelope = calling.await.unwrap();
    assert_eq!(code(&envelope), Some(Code::SandboxViolation), "{envelope:?}");
    host.refresh().unwrap();
    assert!(tools(&host) == known && !is_loaded() && !made.exists());
    assert!(is_quarantined(&folder, ".cli/shell/CLI.md"));
}

#[tokio::test]
async fn git_config_changes_where_a_contract_declares_it() {
    let folder = workspace();
    let host = open(&folder);
    let script = "git -c safe.directory='*' config demo.name value && printf done";
    let refused = work(&host, "shell.work", script).await;
    assert!(code(&refused).is_some(), "{refused:?}");
    let done = work(&host, "shell.configure", script).await;
    assert_eq!(code(&done), None, "{done:?}");
    assert_eq!(git(&folder, &["config", "demo.name"]), "value\n");
}
