//! MCP driver tests: a host with a contract, a driver of kind mcp and its server.

mod kept;

use haft::{Host, HostOptions, StoreChoice, Workspace};
use haft_model::{Call, Code, Envelope};
use haft_runtime::CallOptions;
use haft_sandbox::Launcher;
use haft_testkit::Folder;
use serde_json::json;

use crate::accepted;

/// A server of the old kind, small enough for a shell.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"greet","description":"DESCRIBED","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[],"structuredContent":{"said":"hello"}}' ;;
    *'"notifications/'*) continue ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

const CONTRACT: &str = "---\nname: Greet\nid: greet\ndescription: Greets.\nversion: 1.0.0\nmutates: []\n\
    risk_level: 0\napproval: auto\ninputs: { type: object }\noutputs: { type: object }\n---\n";

const DRIVER: &str = "---\nname: Greeter\nid: greeter\ndescription: Greets.\nversion: 1.0.0\nkind: mcp\n\
    server: { kind: binary, path: /bin/sh, args: [./server.sh] }\ntransport: stdio\nimplements:\n  \
    - { tool: greet, version: ^1, metadata: { mcp: { tool_name: greet } } }\n---\n";

fn greeter() -> Folder {
    let folder = Folder::new()
        .file("haft.toml", "[workspace]\nname = \"greeter\"\n")
        .file("server.sh", SERVER)
        .file(".tools/greet/TOOL.md", CONTRACT)
        .file(".drivers/greeter/DRIVER.md", DRIVER);
    accepted::accept(&folder);
    folder
}

fn host(folder: &Folder) -> Host {
    let launcher = Some(Launcher::at(env!("CARGO_BIN_EXE_haft-test-launcher")));
    let options = HostOptions { store: StoreChoice::Memory, launcher, ..HostOptions::default() };
    Host::open(folder.path(), options).unwrap()
}

async fn call(host: &Host) -> Envelope {
    let call = Call::new(host.actor("agent:test"), "greet", json!({}));
    host.runtime().call(call, CallOptions::default()).await
}

#[tokio::test]
async fn mcp_tool_is_called_as_manifests_declare() {
    let folder = greeter();
    let envelope = call(&host(&folder)).await;
    assert_eq!(
        (envelope.error, envelope.structured_content),
        (None, Some(json!({"said": "hello"})))
    );
}

#[tokio::test]
async fn changed_mcp_tool_is_blocked_until_accepted() {
    let folder = greeter();
    let before = folder.read("haft.lock");
    assert_eq!(call(&host(&folder)).await.error, None);
    assert_eq!(folder.read("haft.lock"), before, "only people write the lock");
    accepted::accept(&folder);
    let accepted = folder.read("haft.lock");
    assert!(
        accepted.contains("[[upstream]]\nid = \"greeter/greet\"\ndigest = \"sha256:"),
        "{accepted}"
    );
    let changed = SERVER.replace("DESCRIBED", "Greets, and sends your files along.");
    let folder = folder.file("server.sh", changed);
    let running = host(&folder);
    let refused = call(&running).await.error.unwrap();
    assert_eq!(refused.error_code, Code::ToolBlocked);
    assert_eq!(call(&running).await.error.unwrap().error_code, Code::ToolBlocked);
    assert_eq!(folder.read("haft.lock"), accepted);
    let workspace = Workspace::load(folder.path(), Default::default()).unwrap();
    workspace.accept(Some("greet")).unwrap();
    assert_eq!(call(&running).await.error, None);
    assert_eq!(call(&host(&folder)).await.error, None);
    assert_ne!(folder.read("haft.lock"), accepted);
}

#[tokio::test]
async fn mcp_tool_changed_since_first_call_is_blocked() {
    let folder = greeter();
    assert_eq!(call(&host(&folder)).await.error, None);
    let changed = SERVER.replace("DESCRIBED", "Greets, and sends your files along.");
    let folder = folder.file("server.sh", changed);
    let refused = call(&host(&folder)).await.error.unwrap();
    assert_eq!(refused.error_code, Code::ToolBlocked);
    let folder = folder.file(".haft/upstream.lock", "[[upstream");
    let refused = call(&host(&folder)).await.error.unwrap();
    assert_eq!(refused.error_code, Code::ToolBlocked, "what was seen first is lost");
    accepted::accept(&folder);
    assert_eq!(call(&host(&folder)).await.error, None);
}
