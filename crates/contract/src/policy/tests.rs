//! Grants, limits and requirements: what is read, and what is refused.

use haft_model::{
    ActionGrant, Condition, DefaultDecision, Glob, Grant, Limit, Policy, Principal, Requirement,
};
use serde_json::json;

use crate::ParsedManifest;
use crate::trial::{check, good, reading};

const FILE: &str = ".policy/team/POLICY.md";

#[test]
fn a_policy_is_read_whole() {
    let manifest = good(
        FILE,
        r#"
schema: policy/v1
id: "@acme/policies/team"
version: 1.0.0
default: deny
grants:
  - principal: "bot://*"
    actions: [{ action: "tool:*" }, { action: storage:commit, scope: docs }]
    conditions: [{ kind: during-business-hours, timezone: Europe/Berlin }]
    ttl_seconds: 60
    granted_at: 2026-01-01T00:00:00Z
    granted_by: { name: Ana, email: ana@acme.example, role: owner }
  - principal: { ref: "@acme/ops", role: editor }
    actions: [{ action: "secrets:rotate:*" }]
    revoked: true
limits: [{ kind: rate-tool-calls, value: 30, per: minute, scope: user, applies_to: ["tool:*"] }]
requirements: [{ kind: signed-by, role: owner, applies_to: [storage:commit] }]
defaults: { sandbox: { read_only: true } }
metadata: { acme: { reviewed: true } }"#,
    );
    let ParsedManifest::Policy(policy) = manifest else { panic!("{manifest:?}") };
    let action = |action: &str, scope: Option<&str>| ActionGrant {
        action: action.into(),
        scope: scope.map(Glob::new),
    };
    let expected = Policy {
        id: "@acme/policies/team".into(),
        default: DefaultDecision::Deny,
        grants: vec![
            Grant {
                principal: Principal::Scheme(Glob::new("bot://*")),
                actions: vec![action("tool:*", None), action("storage:commit", Some("docs"))],
                conditions: vec![Condition {
                    kind: "during-business-hours".into(),
                    parameters: json!({ "timezone": "Europe/Berlin" }),
                }],
                ttl_seconds: Some(60),
                granted_at: Some("2026-01-01T00:00:00Z".into()),
                granted_by: Some(Principal::Person {
                    name: "Ana".into(),
                    email: "ana@acme.example".into(),
                    role: Some("owner".into()),
                }),
                revoked: false,
            },
            Grant {
                principal: Principal::Reference {
                    to: Glob::new("@acme/ops"),
                    role: Some("editor".into()),
                },
                actions: vec![action("secrets:rotate:*", None)],
                conditions: vec![],
                ttl_seconds: None,
                granted_at: None,
                granted_by: None,
                revoked: true,
            },
        ],
        limits: vec![Limit {
            kind: "rate-tool-calls".into(),
            value: 30.0,
            scope: Some("user".into()),
            per: Some("minute".into()),
            applies_to: vec!["tool:*".into()],
        }],
        requirements: vec![Requirement {
            kind: "signed-by".into(),
            applies_to: vec!["storage:commit".into()],
            parameters: json!({ "role": "owner" }),
        }],
    };
    assert_eq!(*policy, expected);
}

#[test]
fn empty_policy_denies_by_default_with_file_as_id() {
    let reading = reading(FILE, "schema: policy/v1");
    let Some(ParsedManifest::Policy(policy)) = reading.manifest else { panic!("{reading:?}") };
    assert_eq!(*policy, Policy { id: FILE.into(), ..Policy::default() });
}

#[test]
fn a_policy_breaks_the_rules_of_its_fields() {
    check(
        FILE,
        &[
            (
                "schema: policy/v1\nid: acme/team\ndefault: maybe\ngrant: []",
                &[
                    "P002 3 `id`: `acme/team` is not an address",
                    "P004 4 `default` cannot be `maybe`",
                    "P030 5 POLICY.md has no field `grant`",
                ],
            ),
            (
                "schema: policy/v1\nid: \"@a/b\"\ngrants:\n- principal: ana\n  actions: []\n- actions: [{ action: \"a:*:b\" }]\n  ttl: 1",
                &[
                    "P005 5 `principal`: `ana` is not a principal",
                    "P005 6 `actions` needs at least 1 entry",
                    "P005 7 `principal` is missing from a grant",
                    "P005 7 `action`: `a:*:b` is not an action",
                    "P005 8 a grant has no field `ttl`",
                ],
            ),
            (
                "schema: policy/v1\nid: \"@a/b\"\ngrants:\n- principal: { role: owner }\n  actions: [{ action: a }]",
                &[
                    "P005 5 `principal` must be a principal or a map with `ref` or a map with `file` or a map with `name` and `email`, not a map",
                ],
            ),
            (
                "schema: policy/v1\nid: \"@a/b\"\nlimits: [{ kind: rate-tool-calls, value: -1, per: week }]\nrequirements: [{}]",
                &[
                    "P006 4 `value` is -1; it must be at least 0",
                    "P006 4 `per` cannot be `week`",
                    "P007 5 `kind` is missing from a requirement",
                ],
            ),
        ],
    );
}

#[test]
fn a_policy_breaks_the_rules_across_its_fields() {
    check(
        FILE,
        &[
            (
                "schema: policy/v1\ndefault: allow",
                &[
                    "P041 2 the policy does not say its `id`",
                    "P040 3 everything is allowed that no grant speaks of",
                ],
            ),
            (
                "schema: policy/v1\nid: \"@a/b\"\ngrants:\n- principal: \"*\"\n  actions: [{ action: a }]\n  ttl_seconds: 60\n  conditions:\n  - kind: full-moon\n  - kind: ip-range\n    cidr: 10.0.0.0/33\n  - kind: approval-from\n    role: owner",
                &[
                    "P042 7 nothing says when the grant began, so it has expired",
                    "P043 9 unknown kind `full-moon`, so the grant never applies",
                    "P043 10 `ip-range` never holds, so the grant never applies",
                    "P046 11 `cidr` is not a range of addresses",
                    "P046 12 `approval-from` does not say `count`",
                ],
            ),
            (
                "schema: policy/v1\nid: \"@a/b\"\nlimits:\n- { kind: rate-tool-calls, value: 3 }\n- { kind: max-cats, value: 3 }\nrequirements: [{ kind: ip-range }, { kind: mfa-recent, within_seconds: 9 }]",
                &[
                    "P046 5 `rate-tool-calls` does not say `per`",
                    "P044 6 unknown kind `max-cats`, so what it applies to is denied",
                    "P045 7 unknown kind `ip-range`, so what it applies to is denied",
                    "P045 7 `mfa-recent` never holds, so what it applies to is denied",
                ],
            ),
        ],
    );
}

#[test]
fn grants_to_principals_that_no_caller_is_are_reported() {
    let policy = |principal: &str, rest: &str| {
        format!(
            "schema: policy/v1\nid: \"@a/b\"\ngrants:\n- principal: {principal}\n  \
             actions: [{{ action: a }}]{rest}"
        )
    };
    for (principal, named) in [
        ("\"group://ops\"", "group://ops"),
        ("\"org://acme\"", "org://acme"),
        ("\"guild://makers\"", "guild://makers"),
        ("\"operator://acme\"", "operator://acme"),
        ("\"user://current\"", "user://current"),
        ("\"@acme/ops\"", "@acme/ops"),
        ("{ ref: \"@acme/ops\", role: owner }", "@acme/ops"),
        ("{ file: ./people/ana.md }", "./people/ana.md"),
    ] {
        let finding =
            format!("P047 5 no caller is known to be `{named}`, so the grant never applies");
        check(FILE, &[(&policy(principal, ""), &[finding.as_str()])]);
        check(FILE, &[(&policy(principal, "\n  revoked: true"), &[])]);
    }
    for principal in [
        "\"*\"",
        "\"user://ana\"",
        "\"bot://*\"",
        "\"role://owner\"",
        "{ ref: \"user://ana\", role: owner }",
        "{ name: Ana, email: ana@acme.example }",
    ] {
        check(FILE, &[(&policy(principal, ""), &[])]);
    }
}

#[test]
fn a_policy_of_no_known_schema_is_not_read() {
    let nothing = ["Y012 2 nothing says what kind of policy this is"];
    check(FILE, &[("schema: grants/v1", &nothing), ("id: \"@a/b\"", &nothing)]);
}
