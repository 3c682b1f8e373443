//! Span tests: the names, attributes and status of a call's spans.

use haft_testkit::Folder;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::{self, command};
use crate::telemetry::collector::{Collector, Does, attributes, hex, text};
use crate::telemetry::workspace;
use crate::wire::Server;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

fn traceparent(flags: &str) -> String {
    format!("00-{TRACE}-{PARENT}-{flags}")
}

fn call(server: &Server, tool: &str, input: Value, headers: &[(&str, &str)]) -> Value {
    let body = json!({ "tool": tool, "input": input }).to_string();
    let answer = server.ask("POST", "/v1/call", headers, Some(&body));
    answer.json()
}

fn id(envelope: &Value) -> &str {
    envelope["invocation_id"].as_str().unwrap_or_else(|| panic!("{envelope:#}"))
}

fn names(spans: &[Span]) -> Vec<&str> {
    spans.iter().map(|span| &*span.name).collect()
}

fn is_error(span: &Span) -> bool {
    span.status.as_ref().is_some_and(|status| status.code() == StatusCode::Error)
}

#[test]
fn call_is_one_span_with_children_in_callers_trace() {
    let collector = Collector::new(Does::Takes);
    let folder = workspace(&collector, "service = \"bakery\"");
    let server = Server::of(&folder);
    let headers = [("traceparent", &*traceparent("01")), ("X-Request-Id", "req-9")];
    let done = call(&server, "fs.read", json!({ "path": "notes.txt" }), &headers);
    let id = id(&done);
    let spans = collector.of(id);
    assert_eq!(
        names(&spans),
        ["execute_tool fs.read", "plan", "queue", "attempt haft-builtin", "finish"]
    );
    let whole = &spans[0];
    assert_eq!((hex(&whole.trace_id), hex(&whole.parent_span_id)), (TRACE.into(), PARENT.into()));
    // The caller was told of this very span.
    assert_eq!(hex(&whole.span_id), id[id.len() - 16..]);
    assert_eq!((whole.kind(), is_error(whole)), (SpanKind::Internal, false));
    let told: Vec<(String, String)> = attributes(&whole.attributes).into_iter().collect();
    let expected = [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.call.id", "req-9"),
        ("gen_ai.tool.name", "fs.read"),
        ("gen_ai.tool.type", "function"),
        ("haft.actor", "agent:local"),
        ("haft.channel", "http"),
        ("haft.decision.id", &format!("dec_{}_1", id.trim_start_matches("inv_"))),
        ("haft.decision.verdict", "allow"),
        ("haft.driver.id", "haft-builtin"),
        ("haft.driver.version", "1.0.0"),
        ("haft.effect", "none"),
        ("haft.invocation.id", id),
        ("haft.status", "succeeded"),
        ("haft.tenant", "shop"),
        ("haft.tool.id", "fs.read@1"),
        ("haft.tool.version", "1.0.0"),
    ];
    assert_eq!(told, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    for part in &spans[1..] {
        assert_eq!(part.trace_id, whole.trace_id);
        assert_eq!(part.parent_span_id, whole.span_id);
        let within = whole.start_time_unix_nano..=whole.end_time_unix_nano;
        assert!(within.contains(&part.start_time_unix_nano), "{part:#?}\n{whole:#?}");
        assert!(within.contains(&part.end_time_unix_nano), "{part:#?}\n{whole:#?}");
        assert!(part.start_time_unix_nano <= part.end_time_unix_nano, "{part:#?}");
    }
    let mut ids: Vec<_> = spans.iter().map(|span| &span.span_id).collect();
    ids.dedup();
    assert_eq!(ids.len(), spans.len());
    let taken = collector.requests().remove(0);
    assert_eq!(taken.path, "/v1/traces");
    assert_eq!(taken.header("content-type"), Some("application/x-protobuf"));
    let all = taken.decoded().resource_spans.remove(0);
    let resource = attributes(&all.resource.unwrap().attributes);
    assert_eq!(
        resource.into_iter().collect::<Vec<_>>(),
        [("service.name".to_owned(), "bakery".to_owned())]
    );
}

#[test]
fn denied_unknown_and_failed_calls_are_error_spans() {
    let collector = Collector::new(Does::Takes);
    let folder = workspace(&collector, "");
    let server = Server::of(&folder);
    for (tool, input, name, code) in [
        ("time.now", json!({}), "execute_tool time.now", "permission.denied"),
        ("made.up", json!({}), "execute_tool", "tool.unknown"),
        ("fs.read", json!({ "path": 7 }), "execute_tool fs.read", "input.schema"),
        ("fs.read", json!({ "path": "gone.txt" }), "execute_tool fs.read", "resource.not_found"),
    ] {
        let spans = collector.of(id(&call(&server, tool, input, &[])));
        let whole = &spans[0];
        assert_eq!((&*whole.name, &*text(whole, "error.type")), (name, code));
        assert_eq!((text(whole, "gen_ai.tool.name"), is_error(whole)), (tool.to_owned(), true));
        assert!(whole.parent_span_id.is_empty());
        // Words of an error may repeat an input.
        assert_eq!(whole.status.clone().unwrap().message, code);
        assert!(spans[1..].iter().any(is_error) || code == "permission.denied", "{spans:#?}");
    }
}

#[test]
fn approval_wait_is_a_span_of_its_own() {
    let collector = Collector::new(Does::Takes);
    let folder = workspace(&collector, "commands = true");
    let server = Server::of(&folder);
    let input = json!({ "path": "new.txt", "content": "x" });
    let asked = call(&server, "fs.write", input, &[]);
    assert_eq!(asked["status"], "pending", "{asked:#}");
    let question = asked["approval_id"].as_str().unwrap();
    stage::done(&folder, &format!("approve {question}"));
    let spans = collector.of(id(&asked));
    assert_eq!(
        names(&spans),
        ["execute_tool fs.write", "plan", "approval", "queue", "attempt haft-builtin", "finish"]
    );
    let approval = &spans[2];
    assert_eq!(text(approval, "haft.approval.id"), question);
    assert_eq!(text(approval, "haft.approval.state"), "approved");
    assert!(approval.end_time_unix_nano > approval.start_time_unix_nano);
    assert_eq!(spans[4].kind(), SpanKind::Client);
    assert_eq!(text(&spans[4], "haft.attempt.number"), "1");
}

#[test]
fn mcp_call_span_names_method_and_continues_trace() {
    let collector = Collector::new(Does::Takes);
    let folder = workspace(&collector, "");
    let server = Server::of(&folder);
    let client = Client { server: &server, session: None };
    let params = json!({
        "name": "fs.read", "arguments": { "path": "notes.txt" },
        "_meta": { "traceparent": traceparent("01") },
    });
    let answer = client.rpc("tools/call", params);
    let id = answer["result"]["_meta"]["dev.haft/invocation-id"].as_str();
    let id = id.unwrap_or_else(|| panic!("{answer:#}"));
    let whole = collector.of(id).remove(0);
    assert_eq!(hex(&whole.trace_id), TRACE);
    assert_eq!(text(&whole, "mcp.method.name"), "tools/call");
    assert_eq!(text(&whole, "jsonrpc.request.id"), "1");
    assert_eq!(text(&whole, "haft.channel"), "mcp");
}

#[test]
fn the_trace_of_a_caller_is_among_the_references() {
    let collector = Collector::new(Does::Takes);
    let folder = workspace(&collector, "");
    let mut server = Server::of(&folder);
    let headers = [("traceparent", &*traceparent("01"))];
    let done = call(&server, "fs.read", json!({ "path": "notes.txt" }), &headers);
    server.end();
    let printed = stage::run(&folder, &format!("trace {} --records", id(&done))).stdout;
    let records: Value = serde_json::from_slice(&printed).unwrap();
    let refs = &records[0]["record"]["telemetry_refs"];
    let named = json!({ "source": "telemetry", "trace_id": TRACE, "span_id": PARENT, "traceparent": traceparent("01") });
    assert_eq!(*refs, json!([named]), "{records:#}");
}

#[test]
fn unsampled_trace_is_not_exported() {
    let collector = Collector::new(Does::Takes);
    let folder = workspace(&collector, "");
    let server = Server::of(&folder);
    let input = json!({ "path": "notes.txt" });
    let unkept = call(&server, "fs.read", input.clone(), &[("traceparent", &traceparent("00"))]);
    let kept = call(&server, "fs.read", input, &[("traceparent", &traceparent("01"))]);
    collector.of(id(&kept));
    let of = |call: &Value| {
        let spans = collector.spans();
        spans.iter().filter(|span| text(span, "haft.invocation.id") == id(call)).count()
    };
    assert_eq!((of(&unkept), of(&kept)), (0, 1));
}

#[test]
fn span_content_is_exported_only_when_enabled() {
    for (setting, arguments, result) in [
        ("content = true", r#"{"offset":0,"path":"notes.txt"}"#, "flour"),
        ("content = false", "", ""),
    ] {
        let collector = Collector::new(Does::Takes);
        let folder = workspace(&collector, setting);
        let server = Server::of(&folder);
        let done = call(&server, "fs.read", json!({ "path": "notes.txt" }), &[]);
        let whole = collector.of(id(&done)).remove(0);
        assert_eq!(text(&whole, "gen_ai.tool.call.arguments"), arguments);
        assert!(text(&whole, "gen_ai.tool.call.result").contains(result), "{whole:#?}");
        assert_eq!(text(&whole, "gen_ai.tool.call.result").is_empty(), result.is_empty());
    }
}

#[test]
fn the_environment_wins_and_its_headers_reach_the_collector() {
    let (named, other) = (Collector::new(Does::Takes), Collector::new(Does::Takes));
    let folder = workspace(&other, "");
    let mut serve = command(&folder, "serve --listen 127.0.0.1:0");
    serve
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", named.base())
        .env("OTEL_SERVICE_NAME", "till")
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=night%20shift");
    let server = Server::by(serve);
    let done = call(&server, "fs.read", json!({ "path": "notes.txt" }), &[]);
    named.of(id(&done));
    let taken = named.requests().remove(0);
    assert_eq!(taken.header("x-team"), Some("night shift"));
    let all = taken.decoded().resource_spans.remove(0);
    assert_eq!(attributes(&all.resource.unwrap().attributes)["service.name"], "till");
    assert!(other.requests().is_empty());
}

#[test]
fn command_exports_spans_when_enabled_and_continues_trace() {
    let called = |folder: &Folder| -> Value {
        let line = "call fs.read --input {\"path\":\"notes.txt\"} --json";
        let mut call = command(folder, line);
        call.env("TRACEPARENT", traceparent("01"));
        let ran = stage::finished(stage::started(call), line);
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"))
    };
    let collector = Collector::new(Does::Takes);
    let done = called(&workspace(&collector, "commands = true"));
    // A command ends once its spans are delivered, so the test need not wait.
    let spans = collector.spans();
    assert_eq!(text(&spans[0], "haft.invocation.id"), id(&done));
    assert_eq!(hex(&spans[0].trace_id), TRACE);
    let silent = Collector::new(Does::Takes);
    called(&workspace(&silent, ""));
    assert!(silent.requests().is_empty());
}
