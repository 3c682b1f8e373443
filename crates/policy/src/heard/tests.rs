//! Tests of recorded hook opinions: which of them count as trusted when a call is judged again.

use haft_model::{Timestamp, Verdict};
use serde_json::json;

use super::*;

fn recorded(opinion: serde_json::Value) -> Decision {
    Decision {
        verdict: Verdict::Allow,
        deciding: None,
        opinions: vec![
            serde_json::from_value(opinion).unwrap(),
            Opinion::new(Layer::Rule, Says::Allow, "on file").by("trusted:x"),
        ],
        needs: Vec::new(),
        code: None,
        suggested_updates: Vec::new(),
        decided_at: Timestamp::UNIX_EPOCH,
    }
}

/// The hooks of today: a name, and whether it is trusted.
type Hooks = &'static [(&'static str, bool)];

#[test]
fn recorded_opinion_is_trusted_by_field_or_confirmed_mark() {
    let by = |rule: &str| json!({"layer": "hook", "says": "allow", "rule": rule, "reason": "fine"});
    let mut with_field = by("x");
    with_field["trusted"] = json!(true);
    let cases: [(&str, _, Hooks, bool); 8] = [
        ("the record says so", with_field, &[], true),
        ("the record does not say so", by("x"), &[("x", true)], false),
        ("an earlier mark", by("trusted:x"), &[("y", false), ("x", true)], true),
        ("the hook is gone", by("trusted:x"), &[("y", true)], false),
        ("the hook lost its trust", by("trusted:x"), &[("x", false)], false),
        ("two hooks share the name", by("trusted:x"), &[("x", true), ("x", false)], false),
        ("a hook has the mark as its name", by("trusted:x"), &[("trusted:x", false)], false),
        ("both", by("trusted:x"), &[("x", true), ("trusted:x", false)], false),
    ];
    for (case, opinion, hooks, trusted) in cases {
        let decision = recorded(opinion);
        let expected = Opinion { trusted, ..decision.opinions[0].clone() };
        assert_eq!(recorded_opinions(&decision, hooks.iter().copied()), [expected], "{case}");
    }
}

#[test]
fn untrusted_opinion_is_recorded_without_the_field() {
    let plain = Opinion::new(Layer::Hook, Says::Allow, "fine").by("x");
    let record = json!({"layer": "hook", "says": "allow", "rule": "x", "reason": "fine"});
    assert_eq!(serde_json::to_value(&plain).unwrap(), record);
    let mut with_field = record;
    with_field["trusted"] = json!(true);
    assert_eq!(serde_json::to_value(Opinion { trusted: true, ..plain }).unwrap(), with_field);
}
