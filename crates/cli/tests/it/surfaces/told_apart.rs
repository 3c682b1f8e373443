//! Visibility tests (§23, test 3): unknown, blocked, excluded and another tenant's tools are told
//! apart, or not.

use haft_testkit::{ALLOW, Backend, Keys, READ};
use serde_json::{Value, json};

use crate::client::Client;
use crate::surfaces::warehouse;
use crate::wire::Server;

#[test]
fn test_03_unknown_blocked_excluded_differ_foreign_tenant_hidden() {
    let backend = Backend::new(Keys::Ignored);
    let off = format!("{READ}metadata: {{ haft: {{ lifecycle: {{ state: disabled }} }} }}\n");
    let surfaces = "[[surface]]\nscope = \"role:agent\"\ntools = [\"shelf*\", \"weather.*\", \"off\"]\n\
                    [[surface]]\nscope = \"tenant:elsewhere\"\ntools = [\"vault.*\"]\n";
    let folder = warehouse(&backend)
        .at("off", &off, "GET", "/off")
        .at("hidden.look", READ, "GET", "/hidden")
        .at("vault.open", READ, "GET", "/vault")
        .with(&format!("{surfaces}{ALLOW}"));
    let server = Server::of(&folder);
    let client = Client { server: &server, session: Some("s-1") };
    let mut answers: Vec<Value> = Vec::new();
    for tool in ["nothing.here", "off", "hidden.look", "vault.open", "vault.opan"] {
        let answer = client.call(tool, json!({}));
        let (id, class, cause) = match &answer["error"]["data"] {
            Value::Null => {
                let meta = &answer["_meta"];
                let error = &meta["dev.haft/error"];
                (&meta["dev.haft/invocation-id"], &error["error_class"], &error["cause"]["reason"])
            }
            data => (&data["invocation_id"], &answer["error"]["code"], &Value::Null),
        };
        let kept = server.get(&format!("/v1/invocations/{}", id.as_str().unwrap())).json();
        let result = &kept["result"];
        if let Some(told) = answer["error"]["data"]["result_id"].as_str() {
            assert_eq!(result["result_id"], told);
        }
        let error = &result["error"];
        answers.push(json!([
            tool,
            class,
            cause,
            error["error_class"],
            error["message"],
            error["help"]
        ]));
    }
    let unknown = |name: &str| {
        let words = format!("there is no tool `{name}`");
        // A person would be told the command that lists them.
        json!([name, -32602, null, "unknown_tool", words, null])
    };
    assert_eq!(answers[0], unknown("nothing.here"));
    assert_eq!(
        answers[1].as_array().unwrap()[1..4],
        [json!("blocked_tool"), json!("lifecycle_disabled"), json!("blocked_tool")]
    );
    assert_eq!(
        answers[2].as_array().unwrap()[1..4],
        [json!("blocked_tool"), json!("role_not_allowed"), json!("blocked_tool")]
    );
    assert_eq!(answers[3], unknown("vault.open"), "another tenant's is as if it were not there");
    assert_eq!(answers[4], unknown("vault.opan"), "and is not suggested");
    assert_eq!(backend.connections(), 0);

    let found = client.search("select:vault.open");
    assert_eq!((&found["matches"], &found["missing_names"]), (&json!([]), &json!(["vault.open"])));
    for place in ["/v1/search?q=vault", "/v1/surfaces", "/v1/catalog"] {
        let seen = server.get(place).json();
        assert!(!seen.to_string().contains("vault."), "{place}");
    }
    assert_eq!(server.get("/v1/catalog/vault.open").problem().0, 404);
    assert_eq!(server.post("/v1/why", &json!({ "tool": "vault.open" })).problem().0, 404);
}
