//! What this version cannot do is refused before anything happens, and never left out in silence.

use haft_model::Code;
use serde_json::json;

use crate::stage::Stage;

#[test]
fn a_declared_login_is_never_left_out() {
    let with_auth = Stage::writing(json!({})).with("auth", json!({"state": {"env": ["SHOP_KEY"]}}));
    let in_header = Stage::writing(json!({"headers": {"Authorization": "Bearer ${secrets.KEY}"}}));
    let in_body = Stage::writing(json!({"body_template": {"a": [{"b": "${secrets.KEY}"}]}}));
    for stage in [with_auth, in_header, in_body] {
        let stop = stage.preflight(json!({})).unwrap_err();
        let words =
            "driver `shop` declares a login, and this version cannot hand secrets to a driver";
        assert_eq!((stop.code, stop.message.as_str()), (Code::CredentialMissing, words));
        assert_eq!(stage.run(json!({})).fate().0, Code::CredentialMissing);
        assert_eq!(stage.backend.connections(), 0);
    }
}

#[test]
fn what_cannot_be_run_is_refused_by_name() {
    for (stage, what) in [
        (Stage::writing(json!({})).with("streaming", json!({"transport": "sse"})), "`streaming`"),
        (Stage::writing(json!({})).with("code", json!("x.js")), "`code`"),
        (Stage::writing(json!({})).with("runner", json!({})), "`runner`"),
        (Stage::writing(json!({"streaming": {}})), "`metadata.http.streaming`"),
        (
            Stage::writing(json!({})).haft(json!({"body": "multipart"})),
            "a body of the form `multipart`",
        ),
        (Stage::writing(json!({})).haft(json!({"body": "form"})), "a body of the form `form`"),
        (
            Stage::writing(json!({})).haft(json!({"pagination": {"next": "a", "parameter": "b"}})),
            "`metadata.haft.pagination`",
        ),
        (
            Stage::writing(json!({})).haft(json!({"query_style": {"ids": {"style": "form"}}})),
            "`metadata.haft.query_style`",
        ),
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
            Stage::writing(json!({})).haft(json!({"status_map": {"404": "nonsense"}})),
            "driver `shop`: `status_map` cannot say `404: nonsense`",
        ),
    ] {
        let stop = stage.preflight(json!({})).unwrap_err();
        assert_eq!((stop.code, stop.message.as_str()), (Code::SetupRequired, words));
    }
}
