//! Tests of requests: every value is where the manifest puts it, and nowhere else.

use haft_model::Code;
use haft_testkit::ReceivedRequest;
use serde_json::{Value, json};

use crate::http::stage::Stage;

/// The request of a call, without the headers that every request has.
fn sent(stage: &Stage, input: Value) -> (String, String, Vec<(String, String)>, Value) {
    stage.run(input).output();
    let ReceivedRequest { method, path, mut headers, body } = stage.backend.heard().remove(0);
    let usual = ["host", "content-length", "user-agent", "accept-encoding"];
    headers.retain(|(name, _)| !usual.contains(&name.as_str()));
    headers.sort();
    let body = if body.is_empty() { Value::Null } else { serde_json::from_str(&body).unwrap() };
    (method, path, headers, body)
}

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

const JSON: (&str, &str) = ("accept", "application/json");
const BODY: (&str, &str) = ("content-type", "application/json");

#[test]
fn everything_the_manifest_says_is_sent_with_its_type() {
    let stage = Stage::writing(json!({
        "method": "PUT",
        "endpoint": "/orders/${input.order}/${context.tenant}",
        "query_template": {"q": "${input.note}", "n": "${input.amount}"},
        "headers": {"X-Note": "for ${input.order}", "Accept": "text/plain"},
        "body_template": {"amount": "${input.amount}", "list": "${input.list}", "ref": "${reference}",
                          "text": "n=${input.amount}", "deep": [{"fixed": true}]},
    }))
    .with("default_headers", json!({"X-Note": "default", "X-All": "yes"}));
    let input = json!({"order": "o1", "amount": 5, "note": "a&b=c/d", "list": [1, null]});
    let expected = [("accept", "text/plain"), BODY, ("x-all", "yes"), ("x-note", "for o1")];
    assert_eq!(
        sent(&stage, input),
        (
            "PUT".to_owned(),
            "/orders/o1/t1?q=a%26b%3Dc%2Fd&n=5".to_owned(),
            headers(&expected),
            json!({"amount": 5, "list": [1, null], "ref": "o1", "text": "n=5",
                   "deep": [{"fixed": true}]}),
        )
    );
}

#[test]
fn a_value_is_one_segment_whatever_it_holds() {
    let stage = Stage::reading(json!({"endpoint": "/orders/${input.order}/x"}));
    let (_, path, ..) = sent(&stage, json!({"order": "a b?c#d%2e&é"}));
    assert_eq!(path, "/orders/a%20b%3Fc%23d%252e%26%C3%A9/x");
    for order in ["..", ".", "", "a/b", "../../etc", "a\\b", "/"] {
        let refused = stage.preflight(json!({"order": order})).unwrap_err();
        assert_eq!(refused.code, Code::InputValue, "{order}");
    }
    let pieces = Stage::reading(json!({"endpoint": "/${input.a}${input.b}"}));
    assert_eq!(pieces.preflight(json!({"a": ".", "b": "."})).unwrap_err().code, Code::InputValue);
    assert_eq!(stage.backend.heard().len(), 1);
}

#[test]
fn a_header_cannot_be_split_by_a_value() {
    let stage = Stage::writing(json!({"headers": {"X-Note": "${input.note}"}}));
    for note in ["a\r\nX-Evil: 1", "a\nb", "a\0b"] {
        let refused = stage.preflight(json!({"note": note})).unwrap_err();
        assert_eq!(refused.code, Code::InputValue, "{note:?}");
    }
    assert_eq!(stage.backend.connections(), 0);
}

#[test]
fn absent_values_are_omitted_and_named_inputs_form_body() {
    let stage = Stage::writing(json!({
        "endpoint": "/orders/${input.order}",
        "query_template": {"q": "${input.q | default(null)}", "n": "${input.n | default(null)}"},
        "headers": {"X-Note": "${input.note | default(null)}", "Cookie": "fixed=1"},
    }))
    .haft(json!({
        "body_inputs": ["amount", "note", "gone"],
        "cookies": {"seen": "${input.seen | default(null)}", "gone": "${input.gone | default(null)}"},
    }));
    let input = json!({"order": "o1", "n": 2, "amount": 5, "note": null, "seen": "a b;c"});
    let expected = [JSON, BODY, ("cookie", "fixed=1; seen=a%20b%3Bc")];
    let body = json!({"amount": 5, "note": null});
    assert_eq!(
        sent(&stage, input),
        ("POST".to_owned(), "/orders/o1?n=2".to_owned(), headers(&expected), body)
    );
}

#[test]
fn one_input_is_the_body_or_none_is() {
    for (made_of, input, body) in [
        (json!("list"), json!({"order": "o1", "list": [1]}), json!([1])),
        (json!("list"), json!({"order": "o1"}), Value::Null),
        (json!([]), json!({"order": "o1"}), Value::Null),
    ] {
        let stage = Stage::writing(json!({})).haft(json!({"body_inputs": made_of}));
        assert_eq!(sent(&stage, input).3, body, "{made_of}");
    }
}

#[test]
fn without_template_input_is_sent_under_backend_names() {
    let input = json!({"order": "o1", "amount": 5});
    let (method, path, given, body) = sent(&Stage::writing(json!({})), input.clone());
    assert_eq!((method.as_str(), path.as_str()), ("POST", "/pay"));
    assert_eq!(given, headers(&[JSON, BODY]));
    assert_eq!(body, json!({"reference": "o1", "amount": 5}));
    for method in ["GET", "DELETE"] {
        let (.., given, body) = sent(&Stage::writing(json!({"method": method})), input.clone());
        assert_eq!((given, body), (headers(&[JSON]), Value::Null), "{method}");
    }
    let templated = Stage::writing(json!({"method": "DELETE", "body_template": {"why": "x"}}));
    assert_eq!(sent(&templated, input).3, json!({"why": "x"}));
}

#[test]
fn base_path_is_prefixed_and_fixed_query_kept() {
    let stage = Stage::reading(json!({
        "endpoint": "look?fixed=1", "query_template": {"more": "${input.order}"},
    }));
    let base = format!("http://{}/v2/", stage.backend.host());
    let (_, path, ..) = sent(&stage.with("base_url", json!(base)), json!({"order": "o1"}));
    assert_eq!(path, "/v2/look?fixed=1&more=o1");
}

#[test]
fn idempotency_key_is_same_in_every_attempt_never_invented() {
    let mut stage = Stage::writing(json!({"idempotency_key_header": "Idempotency-Key"}));
    stage.run(json!({})).output();
    stage.key = Some("k-1".to_owned());
    stage.run(json!({})).output();
    stage.run(json!({})).output();
    let keys: Vec<_> = stage
        .backend
        .heard()
        .iter()
        .map(|heard| heard.header("idempotency-key").map(str::to_owned))
        .collect();
    assert_eq!(keys, [None, Some("k-1".to_owned()), Some("k-1".to_owned())]);
    stage.key = Some("a\r\nb".to_owned());
    assert_eq!(stage.run(json!({})).fate().0, Code::InputValue);
    assert_eq!(stage.backend.heard().len(), 3);
}

#[test]
fn missing_value_and_huge_body_are_refused_preflight() {
    let stage = Stage::writing(json!({"body_template": {"note": "${input.note}"}}));
    let missing = stage.preflight(json!({})).unwrap_err();
    assert_eq!(
        (missing.code, missing.message.as_str()),
        (Code::InputValue, "`body_template` cannot be filled in: `input.note` has no value")
    );
    let huge = stage.preflight(json!({"note": "x".repeat(6 << 20)})).unwrap_err();
    assert_eq!(huge.code, Code::InputValue);
    assert!(huge.message.contains("and 5242880 can be sent"), "{}", huge.message);
    assert_eq!(stage.backend.connections(), 0);
}

#[test]
fn lists_and_objects_serialize_in_declared_style() {
    let stage = Stage::reading(json!({
        "endpoint": "/orders/${input.ids}",
        "query_template": {
            "ids": "${input.ids}", "tags": "${input.tags}", "filter": "${input.filter}",
            "plain": "${input.ids}", "gone": "${input.gone | default(null)}",
        },
        "headers": {"X-Ids": "${input.ids}", "X-Gone": "${input.gone | default(null)}"},
    }))
    .haft(json!({"query_style": {
        "ids": {"style": "form", "explode": true}, "tags": {"style": "pipeDelimited"},
        "filter": {"style": "deepObject"},
    }}));
    let input = json!({"ids": [1, 2], "tags": ["a,b", "c"], "filter": {"since": "x y"}});
    let (_, path, given, _) = sent(&stage, input);
    let query = "ids=1&ids=2&tags=a%2Cb%7Cc&filter%5Bsince%5D=x%20y&plain=%5B1%2C2%5D";
    assert_eq!(path, format!("/orders/1,2?{query}"));
    assert_eq!(given, headers(&[JSON, ("x-ids", "1,2")]));
}

#[test]
fn a_value_cannot_begin_another_cookie() {
    let stage = Stage::reading(json!({"headers": {"Cookie": "a=${input.a}; b=2"}}));
    let (.., given, _) = sent(&stage, json!({"a": "1"}));
    assert_eq!(given, headers(&[JSON, ("cookie", "a=1; b=2")]));
    let refused = stage.preflight(json!({"a": "1; admin=1"})).unwrap_err();
    assert_eq!((refused.code, refused.field.as_deref()), (Code::InputValue, Some("/a")));
}
