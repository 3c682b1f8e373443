//! Trace propagation: the trace of a caller reaches the backend of each kind of driver.

use haft::{Host, HostOptions, Launcher, StoreChoice};
use haft_model::{Call, Trace};
use haft_runtime::CallOptions;
use haft_testkit::{ALLOW, Act, Backend, Folder, Keys, READ, Then};
use serde_json::{Value, json};

use crate::accepted;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const STATE: &str = "vendor=1";

/// A server small enough for a shell, which answers with the trace that a request tells it.
const SERVER: &str = r#"while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  said=${line#*\"traceparent\":\"}; said=${said%%\"*}
  state=${line#*\"tracestate\":\"}; state=${state%%\"*}
  case "$line" in
    *'"traceparent"'*) ;; *) said=none ;;
  esac
  case "$line" in
    *'"tracestate"'*) ;; *) state=none ;;
  esac
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[],"structuredContent":{"parent":"'$said'","state":"'$state'"}}' ;;
    *'"notifications/'*) continue ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

const PROGRAM: &str =
    r#"printf '{"parent":"%s","state":"%s"}' "${TRACEPARENT:-none}" "${TRACESTATE:-none}""#;

const NODE: &str = "export const look = () => ({\n  \
    parent: process.env.TRACEPARENT ?? 'none', state: process.env.TRACESTATE ?? 'none',\n});\n";

const PYTHON: &str = "import os\n\ndef look():\n    \
    return {'parent': os.environ.get('TRACEPARENT', 'none'), 'state': os.environ.get('TRACESTATE', 'none')}\n";

fn contract(id: &str, host: &str) -> String {
    format!(
        "---\nname: {id}\nid: {id}\ndescription: Looks.\nversion: 1.0.0\n{READ}\
         requires: {{ network: [\"{host}\"] }}\ninputs: {{ type: object }}\noutputs: {{ type: object }}\n---\n"
    )
}

fn driver(id: &str, how: &str, kind: &str, entry: &str) -> String {
    format!(
        "---\nname: {id}\nid: {id}\ndescription: Looks.\nversion: 1.0.0\nkind: {kind}\n{how}\
         implements:\n  - {{ tool: {id}, version: ^1, metadata: {{ {kind}: {entry} }} }}\n---\n"
    )
}

fn workspace(backend: &Backend) -> Folder {
    let host = backend.host();
    let sdk = |entrypoint: &str, style: &str| {
        format!(
            "package: looks\npackage_manager: local\nentrypoint: {entrypoint}\nimport_style: {style}\n"
        )
    };
    let http = format!("base_url: http://{host}\nnetwork: {{ egress: [\"{host}\"] }}\n");
    let mcp = "server: { kind: binary, path: /bin/sh, args: [./server.sh] }\ntransport: stdio\n"
        .to_owned();
    let function = "{ function_ref: look }";
    let drivers = [
        (
            "by-cli",
            "bin: /bin/sh\noutput: { default_format: json }\n".to_owned(),
            "cli",
            "{ argv: [\"./look.sh\"] }",
        ),
        ("by-mcp", mcp, "mcp", "{ tool_name: look }"),
        ("by-node", sdk("looks.mjs", "esm"), "sdk", function),
        ("by-python", sdk("looks.py", "python"), "sdk", function),
        ("by-http", http, "http", "{ endpoint: /look, method: GET }"),
    ];
    let folder = Folder::new()
        .file("haft.toml", format!("[workspace]\nname = \"looks\"\n{ALLOW}"))
        .file("look.sh", PROGRAM)
        .file("server.sh", SERVER)
        .file("looks.mjs", NODE)
        .file("looks.py", PYTHON);
    drivers.iter().fold(folder, |folder, (id, how, kind, entry)| {
        folder
            .file(&format!(".tools/{id}/TOOL.md"), contract(id, &host))
            .file(&format!(".drivers/{id}/DRIVER.md"), driver(id, how, kind, entry))
    })
}

fn open(folder: &Folder) -> Host {
    let launcher = Some(Launcher::at(env!("CARGO_BIN_EXE_haft-test-launcher")));
    let options = HostOptions { store: StoreChoice::Memory, launcher, ..HostOptions::default() };
    accepted::accept(folder);
    Host::open(folder.path(), options).unwrap()
}

/// What the backend of a tool heard, and the last letters of the id of the call.
async fn heard(host: &Host, tool: &str, native: Vec<Value>) -> (Value, String) {
    let mut call = Call::new(host.actor("agent:test"), tool, json!({}));
    call.native = native;
    let ended = host.runtime().call(call, CallOptions::default()).await;
    assert_eq!(ended.error, None, "{tool}");
    let id = ended.invocation_id.to_string();
    (ended.structured_content.unwrap_or_default(), id[id.len() - 32..].to_owned())
}

#[tokio::test]
async fn every_driver_kind_continues_or_starts_trace() {
    let backend = Backend::new(Keys::Ignored);
    let folder = workspace(&backend);
    let host = open(&folder);
    let trace = Trace::parse(&format!("00-{TRACE}-00f067aa0ba902b7-01")).unwrap();
    let native = vec![trace.with_state(Some(STATE)).reference()];
    for tool in ["by-cli", "by-mcp", "by-node", "by-python"] {
        let (said, id) = heard(&host, tool, native.clone()).await;
        let parent = format!("00-{TRACE}-{}-01", &id[16..]);
        assert_eq!(said, json!({ "parent": parent, "state": STATE }), "{tool}");
        let (said, id) = heard(&host, tool, Vec::new()).await;
        let parent = format!("00-{id}-{}-01", &id[16..]);
        assert_eq!(said, json!({ "parent": parent, "state": "none" }), "{tool}");
    }
    backend.will(Act::refuses(Then::json(200, "{}")));
    let (_, id) = heard(&host, "by-http", native).await;
    let request = backend.heard().pop().unwrap();
    let parent = format!("00-{TRACE}-{}-01", &id[16..]);
    assert_eq!(request.header("traceparent"), Some(&*parent));
    assert_eq!(request.header("tracestate"), Some(STATE));
}
