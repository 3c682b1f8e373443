//! Tests of secrets in requests: each is where the manifest puts it, and nowhere else.

use haft_model::{Code, EffectState};
use haft_testkit::{Act, Backend, Keys, Then};
use serde_json::json;

use crate::http::stage::Stage;

const KEY: (&str, &str) = ("KEY", "k /é\"1");

fn with_key(stage: Stage) -> Stage {
    let mut stage = stage.with("auth", json!({"state": {"env": ["KEY"]}}));
    stage.secrets = vec![KEY];
    stage
}

#[test]
fn a_secret_stands_wherever_the_manifest_says() {
    let stage = with_key(Stage::writing(json!({
        "endpoint": "/pay/${secrets.PLAIN}",
        "query_template": {"key": "${secrets.KEY}"},
        "headers": {"Authorization": "Bearer ${secrets.PLAIN}", "Cookie": "s=${secrets.PLAIN}"},
        "body_template": {"deep": [{"key": "${secrets.KEY}"}]},
    })));
    let mut stage = stage;
    stage.secrets.push(("PLAIN", "plain-1"));
    stage.preflight(json!({})).unwrap();
    let ended = stage.run(json!({}));
    assert_eq!(ended.wanted, ["KEY", "PLAIN"]);
    ended.output();
    let heard = stage.backend.heard().remove(0);
    assert_eq!(heard.path, "/pay/plain-1?key=k%20%2F%C3%A9%221");
    assert_eq!(heard.header("authorization"), Some("Bearer plain-1"));
    assert_eq!(heard.header("cookie"), Some("s=plain-1"));
    let body: serde_json::Value = serde_json::from_str(&heard.body).unwrap();
    assert_eq!(body, json!({"deep": [{"key": KEY.1}]}));
}

#[test]
fn basic_auth_is_one_header_and_redacted() {
    let mut stage =
        Stage::reading(json!({})).haft(json!({"basic": {"user": "NAME", "password": "WORD"}}));
    stage.secrets = vec![("NAME", "ana"), ("WORD", "p:w")];
    let ended = stage.run(json!({}));
    assert_eq!(
        (ended.wanted.as_slice(), ended.hidden.as_slice()),
        (["NAME".to_owned(), "WORD".to_owned()].as_slice(), ["YW5hOnA6dw==".to_owned()].as_slice())
    );
    ended.output();
    let heard = stage.backend.heard().remove(0);
    assert_eq!(heard.header("authorization"), Some("Basic YW5hOnA6dw=="));
    stage.secrets = vec![("NAME", "a:b"), ("WORD", "pw")];
    let failure = stage.run(json!({})).failure();
    let words = "`NAME` holds a colon, which no user name can have";
    assert_eq!(
        (failure.stop.code, failure.stop.message.as_str()),
        (Code::CredentialMissing, words)
    );
    assert_eq!(stage.backend.heard().len(), 1);
}

#[test]
fn a_declared_login_is_never_left_out() {
    let unused = Stage::writing(json!({})).with("auth", json!({"state": {"env": ["SHOP_KEY"]}}));
    let stop = unused.preflight(json!({})).unwrap_err();
    let words = "driver `shop` declares a login, and this request carries none of it";
    assert_eq!((stop.code, stop.message.as_str()), (Code::CredentialMissing, words));
    assert_eq!(unused.run(json!({})).fate().0, Code::CredentialMissing);
    assert_eq!(unused.backend.connections(), 0);
    let in_header = json!({"headers": {"Authorization": "Bearer ${secrets.GONE | default('x')}"}});
    let in_body = json!({"body_template": {"a": [{"b": "${secrets.GONE}"}]}});
    let in_query = json!({"query_template": {"key": "${secrets.GONE}"}});
    for http in [in_header, in_body, in_query] {
        for stage in [Stage::writing(http.clone()), Stage::reading(http.clone())] {
            let stage = with_key(stage);
            stage.preflight(json!({})).unwrap();
            let failure = stage.run(json!({})).failure();
            assert_eq!(failure.stop.message, "`GONE` is not there");
            assert_eq!(
                (failure.stop.code, failure.effect),
                (Code::CredentialMissing, EffectState::NotSubmitted)
            );
            assert_eq!(stage.backend.connections(), 0);
        }
    }
}

#[test]
fn unsendable_call_opens_no_secret() {
    let stage = with_key(Stage::writing(json!({
        "headers": {"X-Key": "${secrets.KEY}", "X-Note": "${input.note}"},
    })));
    let ended = stage.run(json!({"note": "a\nb"}));
    assert_eq!(ended.wanted, [] as [&str; 0]);
    assert_eq!(ended.fate().0, Code::InputValue);
}

#[test]
fn secret_invalid_in_header_is_reported_by_header_name() {
    let mut stage = with_key(Stage::writing(json!({"headers": {"X-Key": "${secrets.KEY}"}})));
    stage.secrets = vec![("KEY", "two\nlines")];
    let failure = stage.run(json!({})).failure();
    let words = "the header `x-key` would hold a character that no header can carry";
    assert_eq!((failure.stop.message.as_str(), failure.effect), (words, EffectState::NotSubmitted));
}

#[test]
fn another_host_is_told_no_secret() {
    let other = Backend::new(Keys::Ignored);
    let stage = with_key(Stage::reading(json!({
        "headers": {"X-Key": "${secrets.PLAIN}"}, "query_template": {"k": "${secrets.PLAIN}"},
    })));
    let hosts = vec![stage.backend.host(), other.host()];
    let mut stage = stage.with("network", json!({"egress": hosts}));
    (stage.network, stage.secrets) = (hosts, vec![("PLAIN", "plain-1")]);
    let place = format!("Location: http://{}/there\r\n", other.host()).leak();
    stage.backend.will(Act::refuses(Then::Answer(302, place, Vec::new())));
    stage.run(json!({})).output();
    let there = other.heard().remove(0);
    assert_eq!(there.path, "/there");
    assert!(!format!("{there:?}").contains("plain-1"), "{there:?}");
}

#[test]
fn no_failure_repeats_an_address_that_holds_a_secret() {
    let stage = || {
        let mut stage = with_key(Stage::writing(json!({
            "endpoint": "/${secrets.PLAIN}", "query_template": {"k": "${secrets.PLAIN}"},
        })));
        stage.secrets = vec![("PLAIN", "plain-1")];
        stage
    };
    for then in [Then::Reset, Then::Garbage, Then::status(500), Then::status(302), Then::Half(200)]
    {
        let stage = stage();
        stage.backend.will(Act::refuses(then.clone()));
        let failure = stage.run(json!({})).failure();
        assert!(!format!("{failure:?}").contains("plain-1"), "{then:?}: {failure:?}");
    }
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut stage = stage()
        .with("base_url", json!(format!("http://{closed}")))
        .with("network", json!({"egress": [closed.to_string()]}));
    stage.network = vec![closed.to_string()];
    let failure = stage.run(json!({})).failure();
    assert!(!format!("{failure:?}").contains("plain-1"), "{failure:?}");
}
