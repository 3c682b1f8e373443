//! REST call tests: waited for, left, repeated, listed, read, cancelled.

use haft_testkit::{ALLOW, Act, Backend, Keys, READ, Served, Then};
use serde_json::{Value, json};

use crate::rest::shop;
use crate::wire::Server;

/// Looks until a call has a result.
fn result(server: &Server, place: &str) -> Value {
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        let shown = server.get(place).json();
        if !shown["result"].is_null() {
            return shown;
        }
        assert!(std::time::Instant::now() < patience, "{shown} has no end");
    }
}

#[test]
fn call_returns_its_envelope_whatever_the_outcome() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let cases = [
        (json!({ "tool": "look" }), "succeeded", Value::Null),
        (json!({ "tool": "nothing" }), "failed", json!("tool.unknown")),
        (json!({ "tool": "look", "input": 7 }), "failed", json!("input.schema")),
        (json!({ "tool": "look", "pin": "nobody" }), "failed", json!("route.pin_unavailable")),
    ];
    for (call, status, code) in cases {
        let answer = server.post("/v1/call", &call);
        let envelope = answer.json();
        assert_eq!(answer.status, 200, "{envelope:#}");
        assert_eq!(envelope["status"], status, "{call}");
        assert_eq!(envelope.pointer("/error/error_code").cloned().unwrap_or_default(), code);
    }
}

#[test]
fn idempotency_key_and_trace_are_kept_and_retry_replays() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let headers = [("Idempotency-Key", "k-1"), ("traceparent", parent), ("X-Request-Id", "req-9")];
    let pay = r#"{"tool": "pay", "input": {"amount": 5}}"#;
    let first = server.ask("POST", "/v1/call", &headers, Some(pay));
    let again = server.ask("POST", "/v1/call", &headers, Some(pay));
    let (one, two) = (first.json(), again.json());
    assert_eq!(one["status"], "succeeded", "{one:#}");
    assert_eq!((&one["invocation_id"], &two["replayed"]), (&two["invocation_id"], &json!(true)));
    assert_eq!(backend.effects(), 1);
    let id = one["invocation_id"].as_str().unwrap();
    let span = &id[id.len() - 16..];
    let continued = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{span}-01");
    assert_eq!(first.header("traceparent"), Some(&*continued));
    let told = server.get(&format!("/v1/invocations/{id}/trace")).json();
    assert_eq!((&told["channel"], &told["key"]), (&json!("http"), &json!("k-1")));
    assert_eq!(told["native"][0]["request_id"], "req-9");
    assert_eq!(told["native"][1]["traceparent"], parent);
    let other = r#"{"tool": "pay", "input": {"amount": 6}}"#;
    let other = server.ask("POST", "/v1/call", &headers, Some(other)).json();
    assert_eq!(other["error"]["error_code"], "conflict", "{other:#}");
    assert_eq!(backend.effects(), 1);
}

#[test]
fn async_call_returns_location_of_the_invocation() {
    let backend = Backend::new(Keys::Ignored);
    backend.will(Act::commits(Then::Id).held());
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let body = r#"{"tool": "pay"}"#;
    let left = server.ask("POST", "/v1/call", &[("Prefer", "respond-async")], Some(body));
    assert_eq!((left.status, left.header("preference-applied")), (202, Some("respond-async")));
    let place = left.header("location").unwrap().to_owned();
    assert_eq!(left.json()["status"], "planned");
    backend.wait_for(1);
    let under_way = server.get(&place);
    assert_eq!((under_way.status, &under_way.json()["result"]), (200, &Value::Null));
    backend.let_go();
    let over = result(&server, &place);
    assert_eq!(
        (&over["status"], &over["result"]["status"]),
        (&json!("succeeded"), &json!("succeeded"))
    );
    assert_eq!(format!("/v1/invocations/{}", over["invocation_id"].as_str().unwrap()), place);
    let left = server.post("/v1/call", &json!({ "tool": "look", "async": true }));
    assert_eq!(left.status, 202);
    result(&server, left.header("location").unwrap());
}

#[test]
fn a_client_that_leaves_calls_its_call_off() {
    use std::io::Write as _;
    let backend = Backend::new(Keys::Ignored);
    backend.will(Act::refuses(Then::Hang));
    let stoppable = format!("{READ}metadata: {{ haft: {{ interrupt: cancel }} }}\n");
    let folder = Served::by(&backend).at("look", &stoppable, "GET", "/look").with(ALLOW);
    let server = Server::of(&folder);
    let mut stream = std::net::TcpStream::connect(server.address).unwrap();
    let body = r#"{"tool": "look"}"#;
    write!(
        stream,
        "POST /v1/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    backend.wait_for(1);
    drop(stream);
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        let runs = server.get("/v1/invocations?status=canceled").json();
        if runs["invocations"][0]["tool_id"] == "look@1" {
            break;
        }
        assert!(std::time::Instant::now() < patience, "{runs} was not called off");
    }
}

#[test]
fn invocations_are_paged_and_revalidated_by_etag() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let ids: Vec<Value> = (0..5)
        .map(|_| server.post("/v1/call", &json!({ "tool": "pay" })).json()["invocation_id"].take())
        .collect();
    let (mut seen, mut next) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/v1/invocations?limit=2{next}")).json();
        let runs = page["invocations"].as_array().unwrap();
        seen.extend(runs.iter().map(|run| run["invocation_id"].clone()));
        match page["next_cursor"].as_str() {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => break,
        }
    }
    seen.reverse();
    assert_eq!(seen, ids);
    let none = server.get("/v1/invocations?tool=look&status=failed,denied&open=true").json();
    assert_eq!(none, json!({ "invocations": [], "next_cursor": null }));
    let place = format!("/v1/invocations/{}", ids[0].as_str().unwrap());
    let shown = server.get(&place);
    let tag = shown.header("etag").unwrap().to_owned();
    let same = server.ask("GET", &place, &[("If-None-Match", &tag)], None);
    assert_eq!((same.status, same.body.len()), (304, 0));
    let over = server.ask("POST", &format!("{place}/cancel"), &[], None).problem();
    assert_eq!((over.0, &over.1["error_code"]), (409, &json!("conflict")));
}

#[test]
fn batch_results_keep_the_order_of_the_request() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let batch = json!({ "calls": [
        { "tool": "look", "id": "a" },
        { "tool": "pay", "id": "b", "depends_on": ["a"] },
        { "tool": "nothing" },
    ] });
    let answer = server.post("/v1/batch", &batch).json();
    let results = answer["results"].as_array().unwrap();
    let status: Vec<_> = results.iter().map(|one| &one["result"]["status"]).collect();
    assert_eq!(status, ["succeeded", "succeeded", "failed"], "{answer:#}");
    assert_eq!((&results[1]["id"], &results[2]["id"]), (&json!("b"), &Value::Null));
    let circle = json!({ "calls": [{ "tool": "look", "id": "a", "depends_on": ["a"] }] });
    let (status, problem) = server.post("/v1/batch", &circle).problem();
    assert_eq!((status, &problem["error_code"]), (409, &json!("conflict")), "{problem}");
}

#[test]
fn result_payload_is_read_whole_and_by_range() {
    let backend = Backend::new(Keys::Ignored);
    let big = format!("{{\"text\": \"{}\"}}", "x".repeat(300_000));
    backend.will(Act::refuses(Then::json(200, &big)));
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let envelope = server.post("/v1/call", &json!({ "tool": "look" })).json();
    let id = envelope["invocation_id"].as_str().unwrap();
    let told = server.get(&format!("/v1/invocations/{id}/trace")).json();
    let kept = &told["persistence"][0]["what"]["payload"];
    let digest = kept["digest"].as_str().unwrap_or_else(|| panic!("nothing kept: {told:#}"));
    let place = format!("/v1/invocations/{id}/payloads/{digest}");
    let whole = server.get(&place);
    assert_eq!((whole.status, whole.body.len() as u64), (200, kept["size"].as_u64().unwrap()));
    let tag = format!("\"{digest}\"");
    assert_eq!(whole.header("etag"), Some(&*tag));
    let part = server.ask("GET", &place, &[("Range", "bytes=10-19")], None);
    let place_of = format!("bytes 10-19/{}", whole.body.len());
    assert_eq!((part.status, part.header("content-range")), (206, Some(&*place_of)));
    assert_eq!(part.body, &whole.body[10..20]);
    let outside = server.ask("GET", &place, &[("Range", "bytes=9999999-")], None);
    assert_eq!(outside.problem().0, 416);
    let stale = [("Range", "bytes=10-19"), ("If-Range", "\"another\"")];
    assert_eq!(server.ask("GET", &place, &stale, None).status, 200);
    // The input of a call lies beside its result, and no caller may fetch it.
    let input = told["inputs"]["model"]["digest"].as_str().unwrap();
    let (status, _) = server.get(&format!("/v1/invocations/{id}/payloads/{input}")).problem();
    assert_eq!(status, 404);
}
