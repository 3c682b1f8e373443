//! Hot reload tests: files that change while a server runs.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use haft_testkit::{Backend, Folder, Keys};
use serde_json::{Value, json};

use crate::serve::{eventually, workspace};
use crate::stage::{READS, done, driver, tool};
use crate::wire::Server;

const META: &str = "io.modelcontextprotocol";

/// A request of MCP as clients of 2026-07-28 send it.
fn message(method: &str, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        format!("{META}/protocolVersion"): "2026-07-28",
        format!("{META}/clientCapabilities"): {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn headers(method: &str) -> [(&str, &str); 3] {
    [
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", method),
    ]
}

/// The descriptions of the tools of ours, by their names.
fn listed(server: &Server) -> Vec<(String, String)> {
    let body = message("tools/list", json!({})).to_string();
    let answer = server.ask("POST", "/mcp", &headers("tools/list"), Some(&body)).json();
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let text = |tool: &Value, key: &str| tool[key].as_str().unwrap_or_default().to_owned();
    let named = tools.iter().map(|tool| (text(tool, "name"), text(tool, "description")));
    named.filter(|(name, _)| name.starts_with("shop")).collect()
}

/// Listens for changes of a list: gives what arrives.
fn listening(server: &Server, list: &str) -> TcpStream {
    let method = "subscriptions/listen";
    let body = message(method, json!({"notifications": {list: true}})).to_string();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let lines = headers(method).map(|(name, value)| format!("{name}: {value}\r\n")).concat();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{lines}Content-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    )
    .unwrap();
    stream
}

/// Reads until a text has come.
#[track_caller]
fn hears(stream: &mut TcpStream, text: &str) {
    let mut heard = String::new();
    let mut bytes = [0; 4096];
    while !heard.contains(text) {
        let count = stream.read(&mut bytes).unwrap_or_else(|fault| panic!("{fault}: {heard}"));
        assert_ne!(count, 0, "it ended: {heard}");
        heard.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
}

fn contract(words: &str) -> String {
    tool("shop.look", "1.0.0", READS).replace("Does what shop.look says.", words)
}

fn shop() -> Folder {
    workspace()
        .file(".tools/shop.look/TOOL.md", contract("Looks around."))
        .file(".drivers/shop/DRIVER.md", driver("shop", &[("shop.look", "^1")]))
}

fn put(folder: &Folder, path: &str, text: &str) {
    let path = folder.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_good_change_is_served_and_told() {
    let folder = shop();
    let server = Server::of(&folder);
    let before = listed(&server);
    assert_eq!(before.len(), 1, "{before:?}");
    let name = before[0].0.clone();
    assert!(before[0].1.starts_with("Looks around."), "{before:?}");
    let mut stream = listening(&server, "toolsListChanged");
    hears(&mut stream, "acknowledged");
    put(&folder, ".tools/shop.look/TOOL.md", &contract("Looks everywhere."));
    hears(&mut stream, "notifications/tools/list_changed");
    eventually(|| listed(&server)[0].1.starts_with("Looks everywhere.").then_some(()));
    // Folders that come later are seen, too, and what is gone is gone.
    put(&folder, ".tools/shop.buy/TOOL.md", &tool("shop.buy", "1.0.0", READS));
    put(&folder, ".drivers/till/DRIVER.md", &driver("till", &[("shop.buy", "^1")]));
    done(&folder, "accept shop.buy");
    eventually(|| (listed(&server).len() == 2).then_some(()));
    for gone in [".tools/shop.look", ".drivers/shop"] {
        std::fs::remove_dir_all(folder.path().join(gone)).unwrap();
    }
    eventually(|| (listed(&server).len() == 1).then_some(()));
    assert_ne!(listed(&server)[0].0, name);
}

#[test]
fn a_bad_change_keeps_what_was_and_says_so() {
    let folder = shop();
    let server = Server::of(&folder);
    let before = listed(&server);
    let errors = || server.get("/v1/ready").json()["notices"]["errors"].as_u64().unwrap();
    assert_eq!(errors(), 0);
    let good = contract("Looks around.");
    put(&folder, ".tools/shop.look/TOOL.md", &good.replace("risk_level: 0", "risk_level: none"));
    eventually(|| (errors() > 0).then_some(()));
    let said = eventually(|| Some(server.said()).filter(|said| said.contains("holds on")));
    assert!(said.contains(".tools/shop.look/TOOL.md:"), "{said}");
    assert_eq!(listed(&server), before, "the list is the old one");
    // What is right of the rest is served.
    put(&folder, ".drivers/till/DRIVER.md", &driver("till", &[("shop.buy", "^1")]));
    put(&folder, ".tools/shop.buy/TOOL.md", &tool("shop.buy", "1.0.0", READS));
    done(&folder, "accept shop.buy");
    let more = eventually(|| Some(listed(&server)).filter(|listed| listed.len() == 2));
    assert!(more.contains(&before[0]), "{more:?}");
    assert!(errors() > 0);
    put(&folder, ".tools/shop.look/TOOL.md", &contract("Looks everywhere."));
    eventually(|| (errors() == 0).then_some(()));
    eventually(|| (!listed(&server).contains(&before[0])).then_some(()));
}

#[test]
fn reverted_bad_change_is_reported_as_resolved() {
    let folder = workspace();
    let server = Server::of(&folder);
    let good = folder.read("haft.toml");
    put(&folder, "haft.toml", &format!("{good}nonsense = ["));
    eventually(|| server.said().contains("holds on").then_some(()));
    put(&folder, "haft.toml", &good);
    eventually(|| server.said().contains("and that is right").then_some(()));
}

#[test]
fn broken_settings_keep_the_last_good_rules() {
    let folder = shop();
    let server = Server::of(&folder);
    let errors = || server.get("/v1/ready").json()["notices"]["errors"].as_u64().unwrap();
    let call = || {
        let body = json!({"tool": "time.now"});
        server.post("/v1/call", &body).json()["status"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(call(), "succeeded");
    let good = folder.read("haft.toml");
    put(&folder, "haft.toml", &format!("{good}[[rule]]\nverdict = \"perhaps\"\n"));
    eventually(|| (errors() > 0).then_some(()));
    assert_eq!(call(), "succeeded");
    put(&folder, "haft.toml", &format!("{good}[[rule]]\nverdict = \"deny\"\ntool = \"time.*\"\n"));
    eventually(|| (errors() == 0).then_some(()));
    eventually(|| (call() != "succeeded").then_some(()));
    put(&folder, "haft.toml", &good);
    eventually(|| (call() == "succeeded").then_some(()));
}

#[test]
fn health_check_notices_backend_going_and_coming_back() {
    let mut backend = Backend::closed(Keys::Ignored);
    let host = backend.host();
    let fields = format!("{READS}\nrequires: {{ network: [\"{host}\"] }}");
    let web = format!(
        "---\nname: Shop\nid: shop\ndescription: The shop.\nversion: 1.0.0\nkind: http\n\
         base_url: http://{host}\nnetwork: {{ egress: [\"{host}\"] }}\n\
         health_check: {{ method: http, http: {{ url: \"http://{host}/health\" }}, every: PT1S }}\n\
         implements:\n  - {{ tool: shop.look, version: ^1, metadata: {{ http: {{ method: GET, \
         endpoint: /look }} }} }}\n---\n"
    );
    let folder = workspace()
        .file(".tools/shop.look/TOOL.md", tool("shop.look", "1.0.0", &fields))
        .file(".drivers/shop/DRIVER.md", web);
    let server = Server::of(&folder);
    let call = || server.post("/v1/call", &json!({"tool": "shop.look"})).json();
    let down = || {
        let told = call().to_string();
        told.contains("its health check failed lately").then_some(())
    };
    eventually(down);
    let mut stream = listening(&server, "toolsListChanged");
    hears(&mut stream, "acknowledged");
    backend.open();
    hears(&mut stream, "notifications/tools/list_changed");
    eventually(|| (call()["status"] == "succeeded").then_some(()));
    drop(backend);
    eventually(down);
}

/// A server that says with each call that its resources are others now.
#[cfg(target_os = "linux")]
const RADIO: &str = r#"while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{"listChanged":true}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"tune","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) printf '{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}\n'
      result='{"content":[],"structuredContent":{}}' ;;
    *'"notifications/'*) continue ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[cfg(target_os = "linux")]
#[test]
fn subscriber_hears_backend_whose_manifest_changed_meanwhile() {
    let radio = |words: &str| {
        format!(
            "---\nname: Radio\nid: radio\ndescription: {words}\nversion: 1.0.0\nkind: mcp\n\
             server: {{ kind: binary, path: /bin/sh, args: [./radio.sh] }}\ntransport: stdio\n\
             implements:\n  - {{ tool: radio.tune, version: ^1, metadata: {{ mcp: {{ tool_name: tune }} }} }}\n---\n"
        )
    };
    let folder = workspace()
        .file("radio.sh", RADIO)
        .file(".tools/radio.tune/TOOL.md", tool("radio.tune", "1.0.0", READS))
        .file(".drivers/radio/DRIVER.md", radio("A radio."));
    let server = Server::of(&folder);
    let tune = || {
        let answer = server.post("/v1/call", &json!({"tool": "radio.tune"})).json();
        assert_eq!(answer["status"], "succeeded", "{answer:#}");
    };
    let mut stream = listening(&server, "resourcesListChanged");
    hears(&mut stream, "acknowledged");
    tune();
    hears(&mut stream, "notifications/resources/list_changed");
    put(&folder, ".drivers/radio/DRIVER.md", &radio("Another radio."));
    // What is written later is not seen before.
    let contract = tool("radio.tune", "1.0.0", READS).replace("Does what", "Does all that");
    put(&folder, ".tools/radio.tune/TOOL.md", &contract);
    let told = || server.get("/v1/catalog/radio.tune").json().to_string();
    eventually(|| told().contains("Does all that").then_some(()));
    tune();
    hears(&mut stream, "notifications/resources/list_changed");
}
