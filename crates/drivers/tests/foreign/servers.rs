//! Calls to third-party MCP servers.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use haft_model::{Code, Content, EffectState};
use serde_json::{Value, json};

use crate::installed;
use crate::stage::Stage;

/// An npm package, as in a workspace that installed it.
fn npm(stage: Stage, package: &str, args: &[&str]) -> Stage {
    let modules = installed::npm().join("node_modules");
    std::os::unix::fs::symlink(modules, stage.folder.path().join("node_modules")).unwrap();
    let package = format!("@modelcontextprotocol/{package}@2026.8.31");
    stage.with("server", json!({"kind": "npm", "package": package, "args": args}))
}

/// A program of a Python environment, which sees that environment and the workspace.
fn python(stage: Stage, program: &str, args: &[&str]) -> Stage {
    let home = installed::python();
    let path = home.join("bin").join(program);
    stage
        .with("server", json!({"kind": "binary", "path": path, "args": args}))
        .with("sandbox", json!({"fs": {"read": [".", home]}}))
}

fn list(stage: &Stage) -> Value {
    let listing = haft_drivers::mcp::list(stage.typed(), stage.place(), Duration::from_secs(30));
    stage.runtime.block_on(listing).unwrap()
}

#[test]
fn everything_server_answers_in_every_content_kind() {
    let mut stage = npm(Stage::reading("get-structured-content", &[]), "server-everything", &[]);
    let output = stage.run(json!({"location": "Chicago"})).output();
    let value = output.structured.unwrap();
    assert!(value["temperature"].is_number() && value["conditions"].is_string(), "{value}");
    assert_eq!(output.content, [Content::text(value.to_string())]);
    assert_eq!(output.native[0]["protocol_version"], json!("2025-11-25"));
    let mut stage = npm(Stage::reading("get-tiny-image", &[]), "server-everything", &[]);
    let output = stage.run(json!({})).output();
    assert!(output.content.iter().any(|piece| matches!(piece, Content::Image(_))));
    let mut stage = npm(Stage::reading("get-resource-links", &[]), "server-everything", &[]);
    let output = stage.run(json!({"count": 2})).output();
    let links = output.content.iter().filter(|piece| matches!(piece, Content::ResourceLink(_)));
    assert_eq!(links.count(), 2);
}

#[test]
fn everything_server_lists_tools_that_ask_clients() {
    let stage = npm(Stage::reading("echo", &[]), "server-everything", &[]);
    let listing = list(&stage);
    let names: Vec<&str> = listing["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    for name in ["get-roots-list", "trigger-elicitation-request", "trigger-sampling-request"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(names.len() >= 17, "{names:?}");
}

#[test]
fn everything_server_reports_progress_and_respects_timeout() {
    let mut stage =
        npm(Stage::reading("trigger-long-running-operation", &[]), "server-everything", &[]);
    let ended = stage.run(json!({"duration": 1, "steps": 4}));
    let percent: Vec<Option<f64>> = ended.progress.iter().map(|said| said.percent).collect();
    assert_eq!(percent, [25.0, 50.0, 75.0, 100.0].map(Some));
    stage.patience = Duration::from_millis(500);
    let failure = stage.run(json!({"duration": 60, "steps": 1})).failure();
    assert_eq!(
        (failure.stop.code, failure.effect),
        (Code::TimeoutUnknownCommit, EffectState::None)
    );
    stage.patience = Duration::from_secs(20);
    stage.run(json!({"duration": 0.1, "steps": 1})).output();
}

#[test]
fn everything_says_why_an_argument_is_wrong() {
    let mut stage = npm(Stage::reading("get-sum", &[]), "server-everything", &[]);
    let sum = stage.run(json!({"a": 2, "b": 3})).output();
    assert_eq!(sum.content, [Content::text("The sum of 2 and 3 is 5.")]);
    let failure = stage.run(json!({"a": 2, "b": "x"})).failure();
    assert!(matches!(failure.stop.code, Code::ExecutionFailed | Code::InputValue));
    let failure = stage.run(json!({"a": 2})).failure();
    assert_eq!(failure.stop.code, Code::SetupRequired);
}

#[test]
fn filesystem_server_writes_only_where_contract_permits() {
    let mut stage = npm(Stage::writing("write_file", &[]), "server-filesystem", &["."]);
    let path = stage.folder.path().join("note.txt");
    let output = stage.run(json!({"path": path, "content": "hello"})).output();
    assert_eq!(output.effect, EffectState::Committed);
    assert_eq!(stage.folder.read("note.txt"), "hello");
    // A read-only contract opens nothing for writing, whatever the tool's name.
    let mut reading = npm(Stage::reading("write_file", &[]), "server-filesystem", &["."]);
    let path = reading.folder.path().join("note.txt");
    let failure = reading.run(json!({"path": path, "content": "hello"})).failure();
    assert_eq!(failure.stop.code, Code::ExecutionFailed);
    assert!(!path.exists());
    let mut outside = npm(Stage::reading("read_text_file", &[]), "server-filesystem", &["/"]);
    let elsewhere = stage.folder.path().join("note.txt");
    let failure = outside.run(json!({"path": elsewhere})).failure();
    assert!(failure.stop.message.contains("ENOENT"), "{}", failure.stop.message);
}

#[test]
fn memory_server_persists_its_graph_in_workspace() {
    let stage = npm(Stage::writing("create_entities", &[]), "server-memory", &[]);
    let mut stage = stage;
    let file = stage.folder.path().join("memory.jsonl");
    stage.manifest["server"]["env"] = json!({"MEMORY_FILE_PATH": file});
    let entity = json!({"name": "Ada", "entityType": "person", "observations": ["writes"]});
    stage.run(json!({"entities": [entity]})).output();
    stage.let_go();
    stage.manifest["implements"][0]["metadata"]["mcp"]["tool_name"] = json!("read_graph");
    let graph = stage.run(json!({})).output().structured.unwrap();
    assert_eq!(graph["entities"][0]["name"], json!("Ada"));
}

#[test]
fn git_server_is_called_in_modern_protocol() {
    let stage = Stage::reading("git_log", &[]);
    let repository = stage.folder.path().join("repo");
    for args in [
        vec!["init", "-q", repository.to_str().unwrap()],
        vec![
            "-C",
            repository.to_str().unwrap(),
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.example",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "the beginning",
        ],
    ] {
        assert!(Command::new("git").args(args).status().unwrap().success());
    }
    let mut stage = python(stage, "mcp-server-git", &[]).entry("result_extract", json!("$.text"));
    let output = stage.run(json!({"repo_path": repository})).output();
    assert!(output.structured.unwrap().as_str().unwrap().contains("the beginning"));
    assert_eq!(output.native[0]["protocol_version"], json!("2026-07-28"));
    let names: Vec<Value> =
        list(&stage)["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert!(names.contains(&json!("git_commit")), "{names:?}");
}

#[test]
fn time_server_is_called_and_its_failure_reported() {
    let mut stage = python(Stage::reading("convert_time", &[]), "mcp-server-time", &[]);
    let input = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let value = stage.run(input).output().structured.unwrap();
    assert_eq!(value["time_difference"], json!("+9.0h"));
    let failure = stage
        .run(json!({"source_timezone": "Nowhere/Here", "time": "12:00",
        "target_timezone": "UTC"}))
        .failure();
    assert_eq!(failure.stop.code, Code::ExecutionFailed);
}

/// A process that is killed on drop.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A free port, for a server that cannot report which one it got.
fn port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn everything_is_called_over_http() {
    let package = installed::npm().join("node_modules/@modelcontextprotocol/server-everything");
    let port = port();
    let mut child = Command::new("node")
        .arg(package.join("dist/index.js"))
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    let _started = Started(child);
    let mut lines = said.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("listening")));
    let host = format!("127.0.0.1:{port}");
    let mut stage = Stage::reading("trigger-long-running-operation", &[])
        .with("server", json!({"kind": "remote", "url": format!("http://{host}/mcp")}))
        .with("transport", json!("http"))
        .with("network", json!({"egress": [host]}));
    stage.network = vec![host];
    let ended = stage.run(json!({"duration": 0.4, "steps": 2}));
    assert_eq!(ended.progress.len(), 2);
    let output = ended.output();
    assert_eq!(output.native[0]["protocol_version"], json!("2025-11-25"));
}
