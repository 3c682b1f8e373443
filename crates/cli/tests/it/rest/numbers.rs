//! Number precision tests over every edge: exact, or refused before anything is sent.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use haft_testkit::{ALLOW, Backend, Folder, Keys, Served, WRITE, decimal};
use serde_json::{Value, json};

use crate::stage::{command, run};
use crate::wire::Server;

/// Inputs that would not arrive as they are, and the code that says so.
const FLAWED: [(&str, &str); 6] = [
    (r#"{"id":9007199254740993}"#, "input.number_not_exact"),
    (r#"{"deep":[{"id":0.10000000000000000001}]}"#, "input.number_not_exact"),
    (r#"{"id":1e-400}"#, "input.number_not_exact"),
    (r#"{"id":1,"id":2}"#, "input.schema"),
    (r#"{"deep":[{"order":{"id":1,"\u0069d":2}}]}"#, "input.schema"),
    (r#"{"id":1,"id":1,"amount":0.10000000000000000001}"#, "input.schema"),
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
fn mcp(server: &Server, tool: &str, input: &str, is_straight: bool) -> String {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"dev.haft/session":"s-1"}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","_meta":{meta},"arguments":{input}}}}}"#
    );
    let mut headers = vec![
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
    ];
    if !is_straight {
        headers.push(("Content-Type", "application/json; charset=utf-8"));
    }
    text(&server.ask("POST", "/mcp", &headers, Some(&body)).body)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The answer to a model's reply that calls a function, in the words of its provider.
fn functions(server: &Server, provider: &str, name: &str, input: &str) -> String {
    let quoted = Value::from(input).to_string();
    let reply = match provider {
        "openai" => format!(
            r#"[{{"id":"c","type":"function","function":{{"name":"{name}","arguments":{quoted}}}}}]"#
        ),
        "anthropic" => {
            format!(r#"[{{"type":"tool_use","id":"t","name":"{name}","input":{input}}}]"#)
        }
        _ => format!(r#"[{{"functionCall":{{"name":"{name}","args":{input}}}}}]"#),
    };
    reply_of(server, provider, &reply)
}

fn reply_of(server: &Server, provider: &str, reply: &str) -> String {
    let headers = [("Haft-Session", "s-1")];
    text(&server.ask("POST", &format!("/v1/functions/{provider}"), &headers, Some(reply)).body)
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
            ("openai", functions(&server, "openai", "pay", input)),
            ("anthropic", functions(&server, "anthropic", "pay", input)),
            ("gemini", functions(&server, "gemini", "pay", input)),
            (
                "a2a",
                ask(
                    "/a2a",
                    format!(
                        r#"{{"jsonrpc":"2.0","id":1,"method":"message/send","params":{{"message":{{"kind":"message","role":"user","messageId":"m","parts":[{{"kind":"data","data":{{"skill":"pay","input":{input}}}}}]}}}}}}"#
                    ),
                ),
            ),
            ("mcp", mcp(&server, "pay", input, true)),
            ("mcp by the library", mcp(&server, "pay", input, false)),
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

/// A folder whose list leaves tools out, so that they are called by the tools that Haft adds.
fn deferring(backend: &Backend) -> Folder {
    let tools = (0..60).fold(Served::by(backend), |served, number| {
        let many =
            format!("{WRITE}inputs: {{ type: object, description: \"{}\" }}\n", "x".repeat(2000));
        served.at(&format!("shelf{number:02}.count"), &many, "POST", "/shelf")
    });
    let surface = "[[surface]]\nscope = \"workspace\"\ntools = [\"*\"]\n";
    tools.at("pay", WRITE, "POST", "/pay").with(&format!("{surface}{ALLOW}"))
}

#[test]
fn wrapped_call_with_any_flaw_is_refused() {
    let backend = Backend::new(Keys::Ignored);
    let folder = deferring(&backend);
    let server = Server::of(&folder);
    let load = mcp(&server, "tool_load", r#"{"names":["pay"]}"#, true);
    assert!(load.contains("call_destructive"), "{load}");
    let cases = [
        ("call_destructive", r#"{"name":"pay","name":"pay","arguments":{"id":1,"id":2}}"#),
        ("call_destructive", r#"{"name":"pay","name":"pay","arguments":{"id":9007199254740993}}"#),
        ("call_destructive", r#"{"name":"pay","arguments":{"id":1},"arguments":{"id":2}}"#),
        ("call_destructive", r#"{"arguments":{"deep":[{"id":1,"id":2}]},"name":"pay"}"#),
        ("call_destructive", r#"{"arguments":{"id":0.10000000000000000001},"name":"pay"}"#),
        ("tool_search", r#"{"query":"look","query":"pay"}"#),
        ("tool_load", r#"{"names":["look"],"names":["pay"]}"#),
    ];
    for (tool, input) in cases {
        let answers = [
            ("mcp", mcp(&server, tool, input, true)),
            ("mcp by the library", mcp(&server, tool, input, false)),
            ("openai", functions(&server, "openai", tool, input)),
            ("anthropic", functions(&server, "anthropic", tool, input)),
            ("gemini", functions(&server, "gemini", tool, input)),
        ];
        for (edge, answer) in answers {
            let refused = answer.contains("comes twice") || answer.contains("is not exact");
            assert!(refused, "{edge}: {tool} of {input}: {answer}");
        }
    }
    assert_eq!((backend.heard().len(), backend.effects()), (0, 0));
    let sound = r#"{"name":"pay","arguments":{"id":1}}"#;
    functions(&server, "openai", "call_destructive", sound);
    mcp(&server, "call_destructive", sound, true);
    assert_eq!(backend.effects(), 2, "{:?}", backend.heard());
}

#[test]
fn reply_with_two_arguments_members_is_refused() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    for (provider, reply) in [
        ("gemini", r#"[{"functionCall":{"name":"pay","args":{"id":1},"args":{"id":2}}}]"#),
        ("gemini", r#"[{"functionCall":{"name":"pay","args":{"id":1},"\u0061rgs":{"id":2}}}]"#),
        ("gemini", r#"[{"functionCall":{"name":"look","args":{}},"functionCall":{"name":"pay"}}]"#),
        (
            "anthropic",
            r#"[{"type":"tool_use","id":"t","name":"pay","input":{"id":1},"input":{"id":2}}]"#,
        ),
        (
            "anthropic",
            r#"[{"type":"tool_use","id":"t","name":"look","name":"pay","input":{"id":1}}]"#,
        ),
        (
            "openai",
            r#"[{"id":"c","type":"function","function":{"name":"pay","arguments":"{}","arguments":"{}"}}]"#,
        ),
    ] {
        let answer = reply_of(&server, provider, reply);
        assert!(answer.contains("comes twice"), "{provider} of {reply}: {answer}");
    }
    assert_eq!((backend.heard().len(), backend.effects()), (0, 0));
}

#[test]
fn approval_edit_with_any_flaw_is_refused() {
    let backend = Backend::new(Keys::Ignored);
    let people = "[[actor]]\nid = \"user:bo\"\nroles = [\"approver\"]\n";
    let ask = "[[rule]]\ntool = \"pay\"\nverdict = \"ask\"\n";
    let folder =
        Served::by(&backend).at("pay", WRITE, "POST", "/pay").with(&format!("{people}{ask}"));
    let said = run(&folder, "token new user:bo --json");
    let token: Value = serde_json::from_slice(&said.stdout).unwrap();
    let bearer = format!("Bearer {}", token["token"].as_str().unwrap());
    let server = Server::of(&folder);
    let asked = server.post("/v1/call", &json!({ "tool": "pay", "input": { "id": 1 } })).json();
    let id = asked["approval_id"].as_str().unwrap_or_else(|| panic!("{asked:#}"));
    let place = format!("/v1/approvals/{id}");
    let file = folder.path().join("edit.json");
    for (input, code) in FLAWED {
        let headers = [("authorization", bearer.as_str())];
        for member in ["input", "content"] {
            let body = format!(r#"{{"decision":"approve","{member}":{input}}}"#);
            let answer = text(&server.ask("POST", &place, &headers, Some(&body)).body);
            assert!(answer.contains(code), "{member} {input}: {answer}");
        }
        std::fs::write(&file, input).unwrap();
        for option in ["--edit", "--fields"] {
            let ran = run(&folder, &format!("--json approve {id} {option} @{}", file.display()));
            let answer = text(&ran.stdout) + &text(&ran.stderr);
            let refused = answer.contains("comes twice") || answer.contains("is not exact");
            assert!(refused && !ran.status.success(), "{option} {input}: {answer}");
        }
    }
    for fields in ["--field id=1 --field id=2", "--field id=9007199254740993"] {
        let ran = run(&folder, &format!("--json approve {id} {fields}"));
        assert!(!ran.status.success(), "{fields}: {}", text(&ran.stdout));
    }
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
