//! Effect tier tests: calls are separated by the effects of their contract, not by its name.

use haft_testkit::{Backend, Keys, READ, WRITE};
use serde_json::json;

use crate::client::Client;
use crate::surfaces::{settings, warehouse};
use crate::wire::Server;

#[test]
fn tool_above_call_tier_is_refused_naming_right_tier() {
    let backend = Backend::new(Keys::Ignored);
    let kind = format!("{WRITE}metadata: {{ haft: {{ facts: {{ destructive: false }} }} }}\n");
    let folder = warehouse(&backend)
        .at("a.read", READ, "GET", "/a")
        .at("b.read", &kind, "POST", "/b")
        .at("c.read", WRITE, "POST", "/c")
        .with(&settings(""));
    let server = Server::of(&folder);
    let client = Client { server: &server, session: Some("s-1") };
    client.call("tool_load", json!({ "names": ["a.read", "b.read", "c.read"] }));
    let mut refused = Vec::new();
    for way in ["call_read", "call_write", "call_destructive"] {
        for tool in ["a.read", "b.read", "c.read"] {
            let result = client.call(way, json!({ "name": tool, "arguments": {} }));
            if result["isError"] == true {
                let text = result["content"].to_string();
                let use_instead = ["call_write", "call_destructive"]
                    .into_iter()
                    .find(|other| text.contains(&format!("use `{other}`")));
                refused.push((way, tool, use_instead.unwrap_or_else(|| panic!("{result:#}"))));
            }
        }
    }
    assert_eq!(
        refused,
        [
            ("call_read", "b.read", "call_write"),
            ("call_read", "c.read", "call_destructive"),
            ("call_write", "c.read", "call_destructive"),
        ]
    );
    assert_eq!(backend.heard().len(), 6);
    let wrong = client.call("call_read", json!({ "tool": "a.read" }));
    assert_eq!(wrong["isError"], true, "{wrong:#}");
}
