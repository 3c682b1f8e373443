//! Numbers and keys of inputs, over every edge: exact, or refused before anything is sent.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use haft_testkit::{ALLOW, Backend, Folder, Keys, Served, WRITE, decimal};
use serde_json::{Value, json};

use crate::stage::{command, run};
use crate::wire::Server;

/// Inputs that would not arrive as they are, and the code that says so.
const FLAWED: [(&str, &str); 4] = [
    (r#"{"id":9007199254740993}"#, "input.number_not_exact"),
    (r#"{"deep":[{"id":0.10000000000000000001}]}"#, "input.number_not_exact"),
    (r#"{"id":1e-400}"#, "input.number_not_exact"),
    (r#"{"id":1,"id":2}"#, "input.schema"),
];

fn shop(backend: &Backend) -> Folder {
    Served::by(backend)
        .at("pay", WRITE, "POST", "/pay")
        .tool(
            "look",
            "mutates: []\nrisk_level: 0\napproval: auto\n",
            "{ http: { method: GET, endpoint: \"/look/${input.n}\", query_template: { n: \"${input.n}\" } } }",
        )
        .with(ALLOW)
}

/// A message of MCP: the newest version is answered where it comes in, and a header that repeats an
/// argument leaves it to the library.
fn mcp(server: &Server, input: &str, is_straight: bool) -> String {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"pay","_meta":{meta},"arguments":{input}}}}}"#
    );
    let mut headers = vec![
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "pay"),
    ];
    if !is_straight {
        headers.push(("Content-Type", "application/json; charset=utf-8"));
    }
    text(&server.ask("POST", "/mcp", &headers, Some(&body)).body)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The answer to a call over standard input and output.
fn lines(folder: &Folder, input: &str) -> String {
    let mut child = command(folder, "serve --stdio")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    }});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"pay","arguments":{input}}}}}"#
    );
    write!(stdin, "{hello}\n{ready}\n{call}\n").unwrap();
    let mut heard = String::new();
    while !heard.contains("\"id\":7") {
        heard.clear();
        assert_ne!(stdout.read_line(&mut heard).unwrap(), 0, "the server ended");
    }
    drop(stdin);
    child.wait().unwrap();
    heard
}

#[test]
fn every_edge_refuses_numbers_that_are_not_exact() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let ask = |path: &str, body: String| text(&server.ask("POST", path, &[], Some(&body)).body);
    for (input, code) in FLAWED {
        let quoted = Value::from(input).to_string();
        let file = folder.path().join("input.json");
        std::fs::write(&file, input).unwrap();
        std::fs::write(
            folder.path().join("batch.json"),
            format!(r#"{{"tool":"pay","input":{input}}}"#),
        )
        .unwrap();
        let cli = |line: &str| {
            let ran = run(&folder, line);
            text(&ran.stdout) + &text(&ran.stderr)
        };
        let answers = [
            ("call", ask("/v1/call", format!(r#"{{"tool":"pay","input":{input}}}"#))),
            ("why", ask("/v1/why", format!(r#"{{"tool":"pay","input":{input}}}"#))),
            (
                "batch",
                ask("/v1/batch", format!(r#"{{"calls":[{{"tool":"pay","input":{input}}}]}}"#)),
            ),
            (
                "openai",
                ask(
                    "/v1/functions/openai",
                    format!(
                        r#"[{{"id":"c","type":"function","function":{{"name":"pay","arguments":{quoted}}}}}]"#
                    ),
                ),
            ),
            (
                "anthropic",
                ask(
                    "/v1/functions/anthropic",
                    format!(r#"[{{"type":"tool_use","id":"t","name":"pay","input":{input}}}]"#),
                ),
            ),
            (
                "gemini",
                ask(
                    "/v1/functions/gemini",
                    format!(r#"[{{"functionCall":{{"name":"pay","args":{input}}}}}]"#),
                ),
            ),
            (
                "a2a",
                ask(
                    "/a2a",
                    format!(
                        r#"{{"jsonrpc":"2.0","id":1,"method":"message/send","params":{{"message":{{"kind":"message","role":"user","messageId":"m","parts":[{{"kind":"data","data":{{"skill":"pay","input":{input}}}}}]}}}}}}"#
                    ),
                ),
            ),
            ("mcp", mcp(&server, input, true)),
            ("mcp by the library", mcp(&server, input, false)),
            ("mcp line by line", lines(&folder, input)),
            ("haft call", cli(&format!("--json call pay --input @{}", file.display()))),
            ("haft why", cli(&format!("--json why pay --input @{}", file.display()))),
        ];
        for (edge, answer) in answers {
            assert!(answer.contains(code), "{edge} of {input}: {answer}");
        }
        let answer = cli(&format!("batch {}", folder.path().join("batch.json").display()));
        assert!(answer.contains("is no batch"), "{input}: {answer}");
    }
    let said = run(&folder, "--json call pay id=9007199254740993");
    assert!(text(&said.stdout).contains("input.number_not_exact"), "{}", text(&said.stdout));
    let said = run(&folder, "--json call pay id=1 id=2");
    assert!(text(&said.stdout).contains("comes twice"), "{}", text(&said.stdout));
    assert_eq!((backend.heard().len(), backend.effects()), (0, 0));
}

#[test]
fn a_number_is_sent_as_the_number_it_is() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let numbers = [
        "9007199254740994",
        "1e21",
        "1e-7",
        "-0",
        "1.0",
        "123456789012345680000",
        "1234567890123456800",
        "0.30000000000000004",
        "1078066338983220.2",
        "-12.50",
    ];
    for number in numbers {
        let ask = |tool: &str| {
            let body = format!(r#"{{"tool":"{tool}","input":{{"n":{number}}}}}"#);
            let answer = server.ask("POST", "/v1/call", &[], Some(&body)).json();
            assert_eq!(answer["error"], Value::Null, "{number}");
            backend.heard().pop().unwrap()
        };
        let body = ask("pay").body;
        let sent = body.trim_start_matches(r#"{"n":"#).trim_end_matches('}').to_owned();
        assert_eq!(decimal(&sent), decimal(number), "in the body: {body}");
        let path = ask("look").path.replace("%2B", "+");
        let (in_path, in_query) = path.trim_start_matches("/look/").split_once("?n=").unwrap();
        let sent = [decimal(in_path), decimal(in_query)];
        assert_eq!(sent, [decimal(number), decimal(number)], "in the address: {path}");
    }
}

#[test]
fn a_reply_with_numbers_elsewhere_is_taken() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let reply = r#"{"created_ns":1234567890123456789,"usage":{"cost":0.10000000000000000001},
        "content":[{"type":"tool_use","id":"t","name":"pay","input":{"id":"9007199254740993"}}]}"#;
    let answer = server.ask("POST", "/v1/functions/anthropic", &[], Some(reply)).json();
    assert_eq!(answer["results"][0]["error"], Value::Null, "{answer:#}");
    assert_eq!(backend.heard()[0].body, r#"{"id":"9007199254740993"}"#);
}
