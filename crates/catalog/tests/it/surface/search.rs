//! Search result tests: whole `tool_search_result` records.

use haft_catalog::{Index, Provider, Surface};
use serde_json::{Value, json};

use crate::surface::catalog::{shop, surface, view};

/// The session sees all but payments, more than may be loaded.
fn asked_on(own: &Surface, query: &str, missing: &[(&str, Provider)]) -> Value {
    let snapshot = shop();
    let answer = view(own, &snapshot, missing).search(query, &Index::new(&snapshot), &snapshot, 5);
    answer.record()
}

fn session() -> Surface {
    surface("session:s-1", &["mail.*", "order.*", "report.*", "stock.*"], 2)
}

fn asked(query: &str) -> Value {
    asked_on(&session(), query, &[])
}

fn get(words: Value) -> Value {
    json!({
        "tool_id": "order.get@1", "name": "order_get", "title": "order-get",
        "description": "Shows one order with its state.", "score": 1.0, "matched_words": words,
        "state": "deferred", "reason": "deferred_until_discovered",
    })
}

#[test]
fn select_matches_exact_names_and_reports_missing_ones() {
    assert_eq!(
        asked("select:order.get, order.gte,order.get@1"),
        json!({
            "query": "select:order.get, order.gte,order.get@1", "query_type": "select",
            "matches": ["order.get@1"],
            "match_details": [get(json!(["order.get"]))],
            "total_deferred_tools": 4,
            "missing_names": ["order.gte"],
            "pending_providers": [],
            "next_action": "load_schema_then_call",
            "did_you_mean": { "order.gte": "order.get" },
        })
    );
}

#[test]
fn keyword_search_matches_hints_without_showing_schemas() {
    let mut answer = asked("look up the purchase");
    let score = answer["match_details"][0]["score"].take();
    assert!(score.as_f64().is_some_and(|score| score >= 1.0), "{score}");
    answer["match_details"][0]["score"] = json!(1.0);
    assert_eq!(
        answer,
        json!({
            "query": "look up the purchase", "query_type": "keyword",
            "matches": ["order.get@1"],
            "match_details": [get(json!(["look", "purchase"]))],
            "total_deferred_tools": 4,
            "missing_names": [],
            "pending_providers": [],
            "next_action": "load_schema_then_call",
        })
    );
    assert!(!answer.to_string().contains("properties"), "{answer}");
}

#[test]
fn nothing_found_says_why() {
    let nothing = |query: &str, kind: &str, reason: &str, missing: Value| {
        json!({
            "query": query, "query_type": kind, "matches": [], "match_details": [],
            "total_deferred_tools": 4, "missing_names": missing, "pending_providers": [],
            "next_action": "search_with_other_words", "no_match_reason": reason,
        })
    };
    let is = |query: &str, kind: &str, reason: &str, missing: Value| {
        assert_eq!(asked(query), nothing(query, kind, reason, missing));
    };
    is("zyzzyva", "keyword", "nothing_matches", json!([]));
    is("what is it", "keyword", "no_words", json!([]));
    is("select:zyzzyva", "select", "unknown_names", json!(["zyzzyva"]));
    is("select:", "select", "unknown_names", json!([]));
    let empty = asked_on(&surface("workspace", &[], 2), "order", &[]);
    assert_eq!(empty["no_match_reason"], "nothing_on_surface");
}

#[test]
fn search_reports_pending_provider_with_its_tools() {
    let missing = [("mail-send-http", Provider::Connecting)];
    let answer = asked_on(&session(), "send a letter", &missing);
    assert_eq!(
        [&answer["matches"], &answer["match_details"][0]["state"], &answer["next_action"]],
        [&json!(["mail.send@1"]), &json!("pending_provider"), &json!("wait_for_provider")]
    );
    let pending = json!([{ "provider": "mail-send-http", "state": "connecting" }]);
    assert_eq!(answer["pending_providers"], pending);
    let unknown = asked_on(&session(), "select:mail.later", &missing);
    assert_eq!(
        [&unknown["missing_names"], &unknown["pending_providers"], &unknown["next_action"]],
        [&json!(["mail.later"]), &pending, &json!("wait_for_provider")]
    );
}

#[test]
fn hidden_tools_appear_only_in_exact_name_search() {
    let states = |query: &str| {
        let answer = asked(query);
        let details = answer["match_details"].as_array().unwrap().iter();
        details
            .map(|found| json!([found["name"], found["state"], found["reason"]]))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        states("select:stock.count,payment.refund,report.old"),
        [
            json!(["stock_count", "blocked", "lifecycle_disabled"]),
            json!(["payment_refund", "excluded", "role_not_allowed"]),
            json!(["report_old", "deferred", "deferred_until_discovered"]),
        ]
    );
    for words in ["count what is left of an article", "money back", "a month"] {
        assert!(states(words).is_empty(), "{words}");
    }
    let blocked = asked("select:stock.count");
    assert_eq!(blocked["next_action"], "choose_another_tool");
    let loaded = asked_on(&Surface::whole("workspace"), "select:order.get", &[]);
    assert_eq!(loaded["next_action"], "call");
}
