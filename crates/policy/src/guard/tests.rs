//! Tests of target guards, on the restrictions of one rule.

use std::collections::BTreeSet;

use haft_model::Rule;
use serde_json::{Value, json};

use super::*;
use crate::ProgramFile;

fn guard(rule: &Value, input: &Value) -> TargetGuard {
    let rule: Rule = serde_json::from_value(rule.clone()).unwrap();
    let mut fences = Fences::default();
    let subject = Subject {
        tool: "fs.write",
        action: None,
        classes: &BTreeSet::new(),
        actor: None,
        input,
        mapped: None,
        targets: &Targets::default(),
    };
    fences.add(0, &CompiledRule::new(&rule), &subject);
    TargetGuard(Some(Arc::new(fences)))
}

#[test]
fn rule_restricts_targets_where_its_other_conditions_match() {
    let input = json!({ "path": "docs/a", "url": "https://a.example/x" });
    let command = CommandLine::text("/bin/rm x", &|_| ProgramFile::Unknown);
    for (rule, expected) in [
        (json!({ "path": "keys/*" }), [true, false, false]),
        (json!({ "path": "./keys/*" }), [true, false, false]),
        (json!({ "path": "other/*" }), [false, false, false]),
        (json!({ "tool": "fs.*", "path": "keys/*" }), [true, false, false]),
        (json!({ "tool": "git.*", "path": "keys/*" }), [false, false, false]),
        (json!({ "url": "HTTPS://B.example/*" }), [false, true, false]),
        (json!({ "path": "keys/*", "url": "https://a.example/*" }), [true, false, false]),
        (json!({ "path": "keys/*", "url": "https://b.example/*" }), [false, false, false]),
        (json!({ "path": "docs/*", "url": "https://b.example/*" }), [false, true, false]),
        (json!({ "command": "rm *" }), [false, false, true]),
        (json!({ "path": "docs/*", "command": "rm *" }), [false, false, true]),
        (json!({ "path": "keys/*", "command": "rm *" }), [false, false, false]),
    ] {
        for verdict in ["deny", "ask"] {
            let mut rule = rule.clone();
            rule["verdict"] = verdict.into();
            let guard = guard(&rule, &input);
            let refused = [
                guard.path("keys/b").is_err(),
                guard.url("https://b.example/y").is_err(),
                guard.command(&command).is_err(),
            ];
            assert_eq!(refused, expected, "{rule}");
        }
    }
}

#[test]
fn rule_closes_whole_paths_and_programs() {
    let input = json!({ "path": "docs/a" });
    let closed = |rule: Value| {
        let guard = guard(&rule, &input);
        let programs = guard.closed_programs().into_iter().map(|glob| glob.source().to_owned());
        (guard.closed_paths(), programs.collect::<Vec<_>>())
    };
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let keys = closed(json!({ "verdict": "deny", "path": "./keys/*" }));
    assert_eq!(keys, (words(&["keys"]), words(&[])));
    let programs = closed(json!({ "verdict": "deny", "command": "rm *" }));
    assert_eq!(programs, (words(&[]), words(&["rm"])));
}
