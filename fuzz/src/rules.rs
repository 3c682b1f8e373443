//! Rules about addresses and commands: every spelling of what is denied is denied.

use std::collections::BTreeSet;

use haft_model::Rule;
use haft_model::web::Url;
use haft_policy::Targets;
use haft_policy::rules::{Subject, matches};
use serde_json::{Value, json};

/// Reads the text as an address. Where the parser of the drivers reaches the denied host, the rule is about it.
pub fn rules(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(url) = Url::parse(text) else { return };
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    if host == "bank.example" && matches!(url.scheme(), "http" | "https") {
        let pattern = format!("{}://bank.example/*", url.scheme());
        let default = url.port().is_none();
        assert!(!default || denies(&pattern, &json!({ "url": text })), "{text:?} reaches {url}");
    }
}

fn denies(pattern: &str, input: &Value) -> bool {
    let rule = serde_json::from_value::<Rule>(json!({ "verdict": "deny", "url": pattern }));
    let subject = Subject {
        tool: "web.get",
        action: None,
        classes: &BTreeSet::new(),
        actor: None,
        input,
        mapped: None,
        targets: &Targets::default(),
    };
    rule.is_ok_and(|rule| matches(&rule, &subject))
}
