//! Tests of unsupported manifest fields: each is refused before the call starts, never ignored.

use haft_model::Code;
use serde_json::json;

use crate::http::stage::Stage;

#[test]
fn what_cannot_be_run_is_refused_by_name() {
    for (stage, what) in [
        (Stage::writing(json!({})).with("code", json!("x.js")), "`code`"),
        (Stage::writing(json!({})).with("runner", json!({})), "`runner`"),
        (Stage::writing(json!({})).with("sandbox", json!({})), "`sandbox`"),
    ] {
        let stop = stage.preflight(json!({})).unwrap_err();
        let words = format!("driver `shop` uses {what}, which this version cannot run");
        assert_eq!((stop.code, stop.message), (Code::SetupRequired, words));
    }
}

#[test]
fn a_manifest_that_contradicts_http_is_refused() {
    for (stage, words) in [
        (
            Stage::writing(json!({"headers": {"Host": "elsewhere"}})),
            "driver `shop` cannot set a header `Host`",
        ),
        (
            Stage::writing(json!({"idempotency_key_header": "content-length"})),
            "driver `shop` cannot set a header `content-length`",
        ),
        (
            Stage::writing(json!({"headers": {"a b": "x"}})),
            "driver `shop` cannot set a header `a b`",
        ),
        (
            Stage::writing(json!({"endpoint": "/x?q=${input.q}"})),
            "driver `shop`: `metadata.http.endpoint` cannot be used",
        ),
        (
            Stage::writing(json!({})).haft(json!({"status_map": {"200": "conflict"}})),
            "driver `shop`: `status_map` cannot say `200: conflict`",
        ),
        (
            Stage::writing(json!({"headers": {"X-Key": "${secrets}"}})),
            "driver `shop`: `secrets` names no secret",
        ),
        (
            Stage::writing(json!({"streaming": {}})),
            "driver `shop`: `metadata.http.streaming` cannot be used",
        ),
        (
            Stage::reading(json!({"streaming": {"transport": "sse"}}))
                .haft(json!({"pagination": {"style": "link", "items": "$"}})),
            "driver `shop`: `metadata.http.streaming` cannot be used",
        ),
        (
            Stage::reading(json!({})).haft(json!({"pagination": {"style": "page", "items": "$"}})),
            "driver `shop`: `pagination` cannot be used: it has no `param`",
        ),
        (
            Stage::writing(json!({})).haft(json!({"pagination": {"style": "link", "items": "$"}})),
            "`shop.pay@1` may change something, and pages are only read",
        ),
        (
            Stage::writing(json!({}))
                .haft(json!({"status_map": {"500": "effect.partial not_committed"}})),
            "driver `shop`: `status_map` cannot say `500: effect.partial not_committed`",
        ),
        (
            Stage::writing(json!({})).haft(json!({"status_map": {"404": "nonsense"}})),
            "driver `shop`: `status_map` cannot say `404: nonsense`",
        ),
    ] {
        let stop = stage.preflight(json!({})).unwrap_err();
        assert_eq!((stop.code, stop.message.as_str()), (Code::SetupRequired, words));
    }
}
