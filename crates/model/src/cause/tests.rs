//! Tests of the cause: every shape that was ever written is read and written unchanged.

use serde_json::json;

use super::*;
use crate::{Code, EffectState, Stop, ToolError};

/// Every shape that a release wrote, each with whether all of its facts have a type.
fn shapes() -> Vec<(bool, Value)> {
    let inner = ToolError::new(Stop::new(Code::Conflict, "x"), EffectState::Unknown);
    vec![
        (true, json!({"reason": "deferred_until_discovered"})),
        (true, json!({"reason": "wrong_tier", "tier": "write"})),
        (true, json!({"region": false})),
        (true, json!({"driver": "aa", "login": null, "env": [], "state": "logged_out"})),
        (true, json!({"driver": "aa", "login": {"url": "u"}, "env": ["K"], "state": null})),
        (true, json!({"login": "expired"})),
        (true, json!({"login": "insufficient", "scopes": ["a"], "challenge": "Bearer"})),
        (true, json!({"login": "user_cancelled"})),
        (true, json!({"login": "upstream_error"})),
        (true, json!({"login": "access_denied"})),
        (true, json!({"login": "callback_failed"})),
        (true, json!({"login": "discovery_failed"})),
        (
            true,
            json!({"violations": [{"pointer": "", "rule": "type", "message": "m", "value": 7}]}),
        ),
        (
            true,
            json!({"violations": [{"pointer": "/a", "rule": "r", "message": "m", "value": null}]}),
        ),
        (true, json!({"violations": [{"pointer": "/pin", "message": "[withheld]"}]})),
        (true, json!({"phase": "run"})),
        (true, json!({"phase": "run", "form": "refused"})),
        (true, json!({"phase": "run", "form": "secret", "field": "pin"})),
        (true, json!({"phase": "run", "missing_abilities": ["form", "page", "sample", "roots"]})),
        (true, json!({"missing_abilities": ["tasks"]})),
        (true, json!({"phase": "run", "retry_after_ms": 1500})),
        (true, json!({"until": "2026-01-02T03:04:05Z"})),
        (true, json!({"since": "2026-01-02T03:04:05.123456Z"})),
        (true, json!({"compensates": "inv_1", "error": inner})),
        (true, json!({"key_reused": "inv_1"})),
        (true, json!({"sibling": 3})),
        (true, json!({"layer": "rule", "rule": "haft.toml#0"})),
        (true, json!({"layer": null, "rule": null})),
        (true, json!({"phase": "run", "scopes": ["/tmp/*"]})),
        (true, json!({"phase": "run", "rule": "a", "pattern": "*.env"})),
        (
            true,
            json!({"phase": "run", "http_status": 409, "answer": {"e": [1]}, "retry_after_ms": 1,
                   "native": "taken", "login": "expired"}),
        ),
        (true, json!({"phase": "run", "errno": 2})),
        (true, json!({"native": "E1", "phase": "run", "stderr": "no\n", "exit_code": 3})),
        (true, json!({"stderr": ["one", "two"]})),
        (true, json!({"phase": "run", "exception": "Refused"})),
        (true, json!({"phase": "run", "json_rpc": {"code": -32602, "data": null}})),
        (true, json!({"phase": "run", "json_rpc": {"code": -32603, "message": "m"}})),
        (true, json!({"phase": "run", "json_rpc": {"code": -1, "message": "m", "data": [2]}})),
        (true, json!({"phase": "run", "answer": null, "structured": null})),
        (true, json!({"phase": "run", "input_requests": {"a": {"method": "roots/list"}}})),
        (false, json!({"phase": "run", "retry_after_ms": null})),
        (false, json!({"json_rpc": {"code": 1, "data": 2, "more": 3}, "region": true})),
        (false, json!({"login": "lent", "later": {"b": 1, "a": 2}, "phase": "walk"})),
        (false, json!({"missing_abilities": ["telepathy"], "until": "tomorrow", "tier": 7})),
        (false, json!({"key_reused": true, "sent": "x", "heard": []})),
    ]
}

#[test]
fn cause_of_every_shape_is_written_as_read() {
    for (typed, value) in shapes() {
        let cause: Cause = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(json!(cause).to_string(), value.to_string());
        assert_eq!(serde_json::to_string(&cause).unwrap(), value.to_string());
        let other = |detail: &CauseDetail| matches!(detail, CauseDetail::Other(..));
        assert_eq!(!cause.details().iter().any(other), typed, "{cause:?}");
    }
}

#[test]
fn error_of_the_ledger_is_written_as_read() {
    let bare = json!(ToolError::new(Stop::new(Code::Conflict, "x"), EffectState::Unknown));
    assert_eq!(bare.get("cause"), None);
    let causes = shapes().into_iter().map(|(_, value)| value);
    for cause in causes.chain([json!({}), json!([1]), json!("why"), json!(7), json!(false)]) {
        let mut written = bare.clone();
        written.as_object_mut().unwrap().insert("cause".to_owned(), cause);
        let error: ToolError = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(json!(error), written);
    }
}

#[test]
fn insert_replaces_the_fact_of_the_same_key() {
    let method = json!({"run": "haft login bank"});
    let mut cause = Cause::from([CauseDetail::LoginMethod(method), CauseDetail::Region(true)]);
    cause.insert(CauseDetail::Login(LoginFailure::Expired));
    cause.extend(Cause::running());
    assert_eq!(cause, json!({"login": "expired", "region": true, "phase": "run"}));
    assert_eq!((cause.login(), cause.is_running()), (Some(LoginFailure::Expired), true));
}

#[test]
fn foreign_json_is_kept_until_it_can_hold_facts() {
    let running = |value: Value| {
        let mut cause = Cause::from(value);
        cause.extend(Cause::running());
        cause.to_json()
    };
    assert_eq!(running(json!({})), json!({"phase": "run"}));
    assert_eq!(running(json!("why")), json!("why"));
    assert_eq!(running(json!(null)), json!({"phase": "run"}));
}

#[test]
fn edited_cause_keeps_its_types_where_they_fit() {
    let mut cause = Cause::running().with(CauseDetail::RetryAfterMs(5));
    cause.edit(|value| {
        value.as_object_mut().unwrap().insert("retry_after_ms".to_owned(), json!("[withheld]"));
    });
    assert_eq!((cause.is_running(), cause.retry_after_ms()), (true, None));
    assert_eq!(cause, json!({"phase": "run", "retry_after_ms": "[withheld]"}));
}
