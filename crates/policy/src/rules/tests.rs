//! Tests of rule matching, on rule examples.

use haft_model::Rule;
use serde_json::json;

use super::*;

fn rule(verdict: &str, fields: Value) -> Rule {
    let mut rule = fields;
    rule["verdict"] = verdict.into();
    serde_json::from_value(rule).unwrap()
}

fn about(rule: &Rule, tool: &str, input: &Value) -> bool {
    let classes = BTreeSet::from([EffectClass::ReversibleWrite]);
    let targets = &Targets::default();
    let action = Some("storage:write");
    let subject =
        Subject { tool, action, classes: &classes, actor: None, input, mapped: None, targets };
    matches(&CompiledRule::new(rule), &subject)
}

#[test]
fn an_example_is_held_against_everything_but_the_actor() {
    let input = json!({ "path": "docs/a.md" });
    for (fields, expected) in [
        (json!({ "tool": "fs.*" }), true),
        (json!({ "tool": "git.*" }), false),
        (json!({ "tool": "fs.*", "actor": "agent:nobody" }), true),
        (json!({ "action": "storage:*" }), true),
        (json!({ "action": "payments:*" }), false),
        (json!({ "class": "reversible_write" }), true),
        (json!({ "class": "*write" }), true),
        (json!({ "class": "irreversible" }), false),
        (json!({ "path": "docs/*" }), true),
        (json!({ "path": "keys/*" }), false),
        (json!({ "url": "*" }), false),
        (json!({ "command": "*" }), false),
        (json!({ "tool": "fs.*", "path": "keys/*" }), false),
    ] {
        for verdict in ["allow", "ask", "deny"] {
            let found = about(&rule(verdict, fields.clone()), "fs.write", &input);
            assert_eq!(found, expected, "{verdict} {fields}");
        }
    }
}

#[test]
fn deny_needs_one_matching_value_and_allow_needs_all() {
    let input = json!({ "from_path": "docs/a", "to_path": "keys/b" });
    for (path, allows, denies) in
        [("docs/*", false, true), ("keys/*", false, true), ("*", true, true), ("x/*", false, false)]
    {
        let found = ["allow", "deny"]
            .map(|verdict| about(&rule(verdict, json!({ "path": path })), "fs.copy", &input));
        assert_eq!(found, [allows, denies], "{path}");
    }
}

#[test]
fn shell_cannot_smuggle_second_command_past_rule() {
    for (command, allows, denies) in [
        ("git status", true, false),
        ("git status; rm -r x", false, true),
        ("git status && rm -r x", false, true),
        ("git log | rm -r x", false, true),
        ("git log `rm -r x`", false, true),
        ("git log $(rm -r x)", false, true),
        ("git log\nrm -r x", false, true),
        ("rm -r x", false, true),
        ("firm -r x", false, false),
    ] {
        let input = json!({ "command": command });
        let allowed = about(&rule("allow", json!({ "command": "git *" })), "shell.run", &input);
        let denied = about(&rule("deny", json!({ "command": "rm *" })), "shell.run", &input);
        assert_eq!([allowed, denied], [allows, denies], "{command}");
    }
    let exact = json!({ "command": "git log | head" });
    assert!(about(&rule("allow", exact.clone()), "shell.run", &exact), "a line written out");
}
