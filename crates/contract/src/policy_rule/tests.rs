//! Rules about classes of actions: what is read, and what is refused.

use haft_model::{ActionPattern, Budget, PolicyRule, Risk, RuleDecision, Signer};

use crate::ParsedManifest;
use crate::trial::{check, good, reading};

const FILE: &str = "policies/big-spend/POLICY.md";

const HEAD: &str = "schema: agentgovernance/v1\ndoctype: policy\nslug: big-spend\nversion: 1.0.0";

fn rule(manifest: ParsedManifest) -> PolicyRule {
    let ParsedManifest::PolicyRule(rule) = manifest else { panic!("{manifest:?}") };
    (*rule).clone()
}

#[test]
fn a_rule_is_read_whole() {
    let read = rule(good(
        FILE,
        &format!(
            "{HEAD}\nmatch: {{ action: tool.*, subject: \"payment.*\", risk_level_min: 2 }}\n\
             decision: require-approval\nsigners: [{{ role: owner }}, {{ userId: ana }}]\nquorum: 2\n\
             autonomy: 3\nbudget: {{ max_per_hour: 5, max_per_day: 20, max_amount_cents: 100 }}\nmetadata: {{}}"
        ),
    ));
    let expected = PolicyRule {
        slug: "big-spend".into(),
        action: ActionPattern::new("tool.*"),
        subject: Some("payment.*".into()),
        risk_level_min: Risk::EXTERNAL,
        decision: RuleDecision::RequireApproval,
        signers: vec![Signer::Role("owner".into()), Signer::User("ana".into())],
        quorum: 2,
        autonomy: 3,
        budget: Budget {
            max_per_hour: Some(5),
            max_per_day: Some(20),
            max_amount_cents: Some(100),
            currency: Some("USD".into()),
        },
    };
    assert_eq!(read, expected);
}

#[test]
fn a_short_rule_has_its_defaults() {
    let read = rule(good(FILE, &format!("{HEAD}\nmatch: {{ action: tool.call }}\ndecision: deny")));
    let expected = PolicyRule {
        slug: "big-spend".into(),
        action: ActionPattern::new("tool.call"),
        subject: None,
        risk_level_min: Risk::READ,
        decision: RuleDecision::Deny,
        signers: vec![],
        quorum: 1,
        autonomy: 2,
        budget: Budget::default(),
    };
    assert_eq!(read, expected);
}

#[test]
fn a_rule_is_known_by_its_slug() {
    assert_eq!(reading(FILE, HEAD).id.as_deref(), Some("big-spend"));
}

#[test]
fn a_rule_breaks_the_rules_of_its_fields() {
    check(
        FILE,
        &[
            (
                "doctype: policy\nslug: B\nversion: one\nmatch: {}\ndecision: shrug\nautonomy: 5\nowner: ana",
                &[
                    "G001 2 `schema` is missing from POLICY.md",
                    "G003 3 `slug`: `B` is not a slug (2 to 64 characters)",
                    "G004 4 `version`: `one` is not a version",
                    "G005 5 `action` is missing from `match`",
                    "G006 6 `decision` cannot be `shrug`",
                    "G009 7 `autonomy` is 5; it must be from 0 to 4",
                    "G030 8 POLICY.md has no field `owner`",
                ],
            ),
            (
                "schema: agentgovernance/v1\ndoctype: signature\nslug: ab\nversion: 1.0.0\nmatch: { action: tool.call }\ndecision: deny",
                &["G002 3 `doctype` cannot be `signature`"],
            ),
        ],
    );
}

#[test]
fn a_rule_breaks_the_rules_across_its_fields() {
    let case = |rest: &str| format!("{HEAD}\n{rest}");
    let allow = case("match: { action: tool.* }\ndecision: allow\nautonomy: 0");
    let nobody = case("match: { action: tool.call }\ndecision: require-approval\nsigners: []");
    let few = case(
        "match: { action: a }\ndecision: require-approval\nsigners: [{ userId: ana }, { userId: ana }]\nquorum: 2",
    );
    let both = case(
        "match: { action: a }\ndecision: require-approval\nsigners: [{ role: x, userId: ana }, {}]",
    );
    let deny = case("match: { action: a }\ndecision: deny\nsigners: [{ role: x }]\nbudget: {}");
    check(
        FILE,
        &[
            (
                &allow,
                &[
                    "G042 6 everything that `tool.*` covers is allowed, without end",
                    "G040 8 the rule allows, and leaves everything to people",
                ],
            ),
            (&nobody, &["G041 7 no approver is named"]),
            (&few, &["G043 9 2 must sign, and only 1 can"]),
            (
                &both,
                &[
                    "G044 8 a signer is either a role or a person",
                    "G044 8 a signer is either a role or a person",
                ],
            ),
            (
                &deny,
                &[
                    "G045 8 the rule denies, so its `signers` is never looked at",
                    "G045 9 the rule denies, so its `budget` is never looked at",
                ],
            ),
        ],
    );
}
