//! Tests of remote MCP servers: how they are reached, what their answers mean, what they never get.

use std::time::{Duration, Instant};

use haft_driver::Cancel;
use haft_model::{Code, EffectState, Progress, Tri};
use serde_json::json;

use crate::mcp::elsewhere::Elsewhere;
use crate::mcp::stage::Stage;

pub(crate) fn stage(server: &Elsewhere, read_only: Tri) -> Stage {
    let host = server.host();
    let remote = json!({"kind": "remote", "url": format!("http://{host}/mcp")});
    let mut stage = Stage::writing("do", &[])
        .with("server", remote)
        .with("transport", json!("http"))
        .with("network", json!({"egress": [host]}));
    stage.network = vec![server.host()];
    stage.read_only = read_only;
    stage
}

#[test]
fn both_ways_of_speaking_are_spoken_over_http() {
    let modern = Elsewhere::new(true);
    let output = stage(&modern, Tri::No).run(json!({})).output();
    assert_eq!((output.structured, output.effect), (Some(json!("done")), EffectState::Committed));
    assert_eq!(modern.methods(), ["server/discover", "tools/list", "tools/call"]);
    let call = modern.heard().pop().unwrap();
    assert_eq!(call.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(call.header("mcp-method"), Some("tools/call"));
    assert_eq!(call.header("mcp-name"), Some("do"));
    let legacy = Elsewhere::new(false);
    let mut stage = stage(&legacy, Tri::No);
    let output = stage.run(json!({})).output();
    assert_eq!(output.native[0]["server"], json!({"name": "elsewhere", "version": "2"}));
    let methods: Vec<String> =
        legacy.methods().into_iter().filter(|method| method != "GET").collect();
    let expected =
        ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"];
    assert_eq!(methods, expected);
    let mut calls = legacy.heard().into_iter().filter(|heard| heard.body["method"] == "tools/call");
    assert_eq!(calls.next_back().unwrap().header("mcp-session-id"), Some("s1"));
}

#[test]
fn an_answer_may_be_a_stream_of_events() {
    for modern in [true, false] {
        let server = Elsewhere::new(modern);
        let ended = stage(&server, Tri::Yes).run(json!({"how": "events"}));
        let half = Progress { percent: Some(50.0), ..Progress::default() };
        assert_eq!(ended.progress, [half]);
        assert_eq!(ended.output().structured, Some(json!("done")));
    }
}

#[test]
fn log_right_before_result_is_never_lost_over_http() {
    for modern in [true, false] {
        let server = Elsewhere::new(modern);
        let mut stage = stage(&server, Tri::Yes);
        for round in 0..200 {
            let ended = stage.run(json!({"how": "log", "text": round}));
            let logged: Vec<_> = ended.remarks.iter().map(|said| said.data.clone()).collect();
            assert_eq!(logged, [json!(round)], "{modern}");
        }
    }
}

#[test]
fn broken_event_stream_is_resumed_after_its_last_event() {
    let server = Elsewhere::new(false);
    let output = stage(&server, Tri::Yes).run(json!({"how": "resume"})).output();
    assert_eq!(output.structured, Some(json!("resumed")));
    let resumed = server.heard().into_iter().find(|heard| heard.header("last-event-id").is_some());
    let resumed = resumed.unwrap();
    assert_eq!((resumed.method.as_str(), resumed.header("mcp-session-id")), ("GET", Some("s1")));
}

/// A 404 means that the server does not know the session any more.
#[test]
fn forgotten_session_is_opened_anew_by_next_call() {
    let server = Elsewhere::new(false);
    let mut stage = stage(&server, Tri::No);
    let fate = stage.run(json!({"how": "404"})).fate();
    assert_eq!(fate, (Code::DependencyUnavailable, EffectState::NotCommitted, 1));
    let before = Instant::now();
    while let Err(failure) = stage.run(json!({})).result {
        // The pool backs off for a moment.
        assert_eq!(failure.effect, EffectState::NotSubmitted);
        assert!(before.elapsed() < Duration::from_secs(5));
    }
    let handshakes = server.methods().into_iter().filter(|method| method == "initialize");
    assert_eq!(handshakes.count(), 2);
}

#[test]
fn each_invalid_response_maps_to_code_and_effect() {
    use EffectState::{NotCommitted, Unknown};
    for (how, code, effect) in [
        ("close", Code::DependencyUnavailable, Unknown),
        ("401", Code::CredentialMissing, NotCommitted),
        ("403", Code::PermissionDenied, NotCommitted),
        ("404", Code::DependencyUnavailable, NotCommitted),
        ("307", Code::SetupRequired, NotCommitted),
        ("429", Code::RateLimited, NotCommitted),
        ("503", Code::DependencyUnavailable, Unknown),
        ("html", Code::OutputInvalid, Unknown),
        ("nan", Code::OutputInvalid, Unknown),
        ("nan event", Code::OutputInvalid, Unknown),
        ("deep event", Code::OutputInvalid, Unknown),
        ("flood", Code::ResultTooLarge, Unknown),
    ] {
        for modern in [true, false] {
            let server = Elsewhere::new(modern);
            let fate = stage(&server, Tri::No).run(json!({"how": how})).fate();
            assert_eq!(fate, (code, effect, 1), "{how} {modern}");
            let calls = server.methods().into_iter().filter(|method| method == "tools/call");
            assert_eq!(calls.count(), 1, "{how} {modern}");
        }
    }
}

#[test]
fn an_event_without_end_is_not_waited_for() {
    let server = Elsewhere::new(true);
    let mut stage = stage(&server, Tri::No);
    let (_, effect, submissions) = stage.run(json!({"how": "flood events"})).fate();
    assert_eq!((effect, submissions), (EffectState::Unknown, 1));
}

#[test]
fn a_call_that_is_called_off_ends_its_request() {
    for modern in [true, false] {
        let server = Elsewhere::new(modern);
        let mut stage = stage(&server, Tri::No);
        let cancel = Cancel::new();
        let mut submitted = || {
            let cancel = cancel.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(100));
                cancel.cancel();
            });
            Ok(())
        };
        let before = Instant::now();
        let fate = stage.run_around(json!({"how": "hang"}), &cancel, &mut submitted).fate();
        assert_eq!(fate, (Code::CanceledCaller, EffectState::Unknown, 1));
        assert!(before.elapsed() < Duration::from_secs(2));
        assert!(stage.run(json!({})).result.is_ok());
    }
}

#[test]
fn host_missing_from_either_egress_allowlist_is_not_reached() {
    let server = Elsewhere::new(true);
    let host = server.host();
    let mut one = stage(&server, Tri::Yes);
    one.network.clear();
    let words =
        format!("`test.tool@1` may not reach `{host}`: its contract does not list that host");
    assert_eq!(one.run(json!({})).failure().stop.message, words);
    let mut other = stage(&server, Tri::Yes).with("network", json!({"egress": []}));
    assert_eq!(other.run(json!({})).failure().stop.code, Code::SandboxViolation);
    assert_eq!(server.methods(), Vec::<String>::new());
}

#[test]
fn what_is_not_encrypted_stays_at_home() {
    let server = Elsewhere::new(true);
    let remote = json!({"kind": "remote", "url": "http://mcp.example/mcp"});
    let mut stage = stage(&server, Tri::Yes)
        .with("server", remote)
        .with("network", json!({"egress": ["mcp.example:80"]}));
    stage.network = vec!["mcp.example:80".into()];
    let stop = stage.preflight(json!({})).unwrap_err();
    assert_eq!(
        (stop.code, stop.message.as_str()),
        (Code::SandboxViolation, "`mcp.example` is not encrypted")
    );
}

#[test]
fn every_request_carries_its_login_or_nothing_is_sent() {
    let server = Elsewhere::new(true);
    let mut stage = stage(&server, Tri::Yes);
    stage.manifest["server"]["headers"] = json!({"X-Team": "a"});
    stage.run(json!({})).output();
    assert!(server.heard().iter().all(|heard| heard.header("x-team") == Some("a")));
    let heard = server.heard().len();
    stage.let_go();
    stage.manifest["server"]["auth"] = json!({"oauth": {}});
    assert_eq!(stage.run(json!({})).failure().stop.code, Code::CredentialMissing);
    stage.let_go();
    stage.manifest["server"]["auth"] = json!({"bearer": "${secrets.TOKEN}"});
    assert_eq!(stage.run(json!({})).failure().stop.code, Code::CredentialMissing);
    assert_eq!(server.heard().len(), heard);
}

#[test]
fn a_list_can_be_asked_for_without_a_call() {
    let server = Elsewhere::new(false);
    let stage = stage(&server, Tri::Yes);
    let list = haft_drivers::mcp::list(stage.typed(), stage.place(), Duration::from_secs(10));
    let list = stage.runtime.block_on(list).unwrap();
    assert_eq!(list["tools"], json!([{"name": "do", "inputSchema": {"type": "object"}}]));
    assert_eq!(list["serverInfo"]["name"], json!("elsewhere"));
    let program = Stage::reading("echo", &["modern"]);
    let list = haft_drivers::mcp::list(program.typed(), program.place(), Duration::from_secs(10));
    let list = program.runtime.block_on(list).unwrap();
    assert_eq!(list["protocolVersion"], json!("2026-07-28"));
    assert_eq!(list["tools"][0]["name"], json!("echo"));
}
