//! Governance: one file, its chain, and what they say together.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_model::{
    ActionPattern, Approval, Approver, AuditRules, Autonomy, Escalation, Glob, Governance,
    GovernedPolicy, Quorum, Signing,
};
use serde_json::{Value, json};

use crate::governance::{GovernanceFile, merge, resolve_chain};
use crate::trial::{check, good, reading};
use crate::{Diagnostic, ParsedManifest};

const HEAD: &str =
    "schema: governance.workspace/v1\nname: shop\ntitle: Shop\ndescription: All.\nversion: 1.0.0";

fn file(path: &str, rest: &str) -> Arc<GovernanceFile> {
    let manifest = good(path, &format!("{HEAD}\n{rest}"));
    let ParsedManifest::Governance(file) = manifest else { panic!("{manifest:?}") };
    file
}

fn lines(found: &[Diagnostic]) -> Vec<String> {
    found
        .iter()
        .map(|one| format!("{} {}:{} {}", one.code, one.file, one.line, one.message))
        .collect()
}

fn policy(id: &str, reference: &str) -> GovernedPolicy {
    GovernedPolicy {
        id: id.into(),
        reference: reference.into(),
        applies_to: None,
        severity: "error".into(),
        parameters: Value::Null,
    }
}

fn approver(id: &str, can_approve: &[&str]) -> Approver {
    Approver {
        id: id.into(),
        role: None,
        can_approve: can_approve.iter().map(|class| Glob::new(class)).collect(),
        quorum: None,
    }
}

#[test]
fn a_file_is_read_whole() {
    let read = file(
        "team/GOVERNANCE.md",
        r#"
extends: ../GOVERNANCE.md
appliesTo: ["ws://operators/bob", ../sales]
autonomy: { level: 1, defaultApproval: policy:spend, approvalEscalation: { from: a, to: b } }
signing: { algo: ed25519, keyring: keys.json, required: true }
audit: { retention: "days:30", hashAlgo: sha256, appendOnly: true, storage: "s3://log", headPointerSign: false }
policies: [{ id: spend, ref: p/POLICY.md, appliesTo: tool.call, severity: warn, params: { max: 3 } }]
approvers: [{ id: lead, role: owner, canApprove: [tool.call], quorum: 2-of-3 }, { id: two, canApprove: [], quorum: "2" }]
executor: ws://operators/bob
escalateTo: ws://operators/eve
work: ../WORK.md
display: { defaultDashboard: main }
metadata: { acme: { tier: 1 } }"#,
    );
    let expected = GovernanceFile {
        name: "shop".into(),
        title: "Shop".into(),
        description: "All.".into(),
        version: "1.0.0".into(),
        extends: Some("../GOVERNANCE.md".into()),
        applies_to: vec!["ws://operators/bob".into(), "../sales".into()],
        autonomy: Autonomy {
            level: Some(1),
            default_approval: Approval::parse("policy:spend"),
            escalation: Some(Escalation { from: "a".into(), to: "b".into() }),
        },
        signing_required: Some(true),
        signing: Signing { algorithm: Some("ed25519".into()), keyring: Some("keys.json".into()) },
        append_only: Some(true),
        audit: AuditRules {
            retention: Some("days:30".into()),
            hash: Some("sha256".into()),
            storage: Some("s3://log".into()),
            sign_head: Some(false),
        },
        policies: vec![GovernedPolicy {
            applies_to: Some(ActionPattern::new("tool.call")),
            severity: "warn".into(),
            parameters: json!({ "max": 3 }),
            ..policy("spend", "p/POLICY.md")
        }],
        approvers: vec![
            Approver {
                role: Some("owner".into()),
                quorum: Some(Quorum { need: 2, of: Some(3) }),
                ..approver("lead", &["tool.call"])
            },
            Approver { quorum: Some(Quorum { need: 2, of: None }), ..approver("two", &[]) },
        ],
        executor: Some("ws://operators/bob".into()),
        escalate_to: Some("ws://operators/eve".into()),
        metadata: json!({ "acme": { "tier": 1 } }),
        source: read.source.clone(),
        node: read.node.clone(),
    };
    assert_eq!(*read, expected);
}

#[test]
fn a_file_breaks_its_rules() {
    let case = |rest: &str| format!("{HEAD}\n{rest}");
    let fields = case(
        "extends: ../PARENT.md\nappliesTo: [bob]\nautonomy: { level: 4, default_approval: auto }\napprovers: [{ id: a, canApprove: [], quorum: half }]\npolicy: []",
    );
    let across = case(
        "appliesTo: [../sales]\npolicies:\n- { id: a, ref: x }\n- { id: a, ref: y }\napprovers:\n- { id: a, canApprove: [tool.call], quorum: 3-of-2 }\n- { id: b }",
    );
    check(
        "GOVERNANCE.md",
        &[
            (
                "schema: policy/v1",
                &[
                    "G102 2 `name` is missing from GOVERNANCE.md",
                    "G103 2 `title` is missing from GOVERNANCE.md",
                    "G104 2 `description` is missing from GOVERNANCE.md",
                    "G105 2 `version` is missing from GOVERNANCE.md",
                    "G101 2 `schema` cannot be `policy/v1`",
                ],
            ),
            (
                &fields,
                &[
                    "G106 7 `extends`: `../PARENT.md` is not a parent",
                    "G107 8 `appliesTo[0]`: `bob` is not a consumer",
                    "G108 9 `level` is 4; it must be from 0 to 3",
                    "G108 9 `autonomy` has no field `default_approval`",
                    "G112 10 `quorum`: `half` is not a quorum",
                    "G130 11 GOVERNANCE.md has no field `policy`",
                ],
            ),
            (
                &across,
                &[
                    "G140 7 the view does not say what it is a view of",
                    "G143 10 `policies` lists `a` twice",
                    "G141 12 3 of 2 can never agree",
                    "G142 13 nothing says what `b` may approve, so that is nothing",
                ],
            ),
        ],
    );
}

#[test]
fn nearest_governance_file_wins_and_lists_merge_by_id() {
    let root = file(
        "GOVERNANCE.md",
        "autonomy: { level: 2, defaultApproval: auto }\nsigning: { required: true }\naudit: { retention: forever, appendOnly: true }\npolicies: [{ id: a, ref: one }, { id: b, ref: two }]\napprovers: [{ id: ana, canApprove: [tool.call] }, { id: bob, canApprove: [tool.call] }]\nmetadata: { x: { a: 1, b: 2 }, y: 3 }",
    );
    let leaf = file(
        "team/GOVERNANCE.md",
        "extends: ../GOVERNANCE.md\nautonomy: { defaultApproval: always }\npolicies: [{ id: b, ref: three }, { id: c, ref: four }]\napprovers: [{ id: bob, canApprove: [] }, { id: eve, canApprove: [tool.list] }]\nmetadata: { x: { b: 5 } }",
    );
    let (merged, problems) = merge(&[&leaf, &root]);
    let expected = Governance {
        chain: vec!["team/GOVERNANCE.md".into(), "GOVERNANCE.md".into()],
        autonomy: Autonomy {
            level: Some(2),
            default_approval: Approval::parse("always"),
            escalation: None,
        },
        policies: [policy("a", "one"), policy("b", "three"), policy("c", "four")]
            .map(|policy| (policy.id.clone(), policy))
            .into(),
        approvers: [approver("ana", &["tool.call"]), approver("eve", &["tool.list"])]
            .map(|approver| (approver.id.clone(), approver))
            .into(),
        signing_required: true,
        signing: Signing::default(),
        append_only: true,
        audit: AuditRules { retention: Some("forever".into()), ..AuditRules::default() },
        executor: None,
        escalate_to: None,
        metadata: json!({ "x": { "a": 1, "b": 5 }, "y": 3 }),
    };
    assert_eq!((merged, lines(&problems)), (expected, vec![]));
}

#[test]
fn a_switch_of_any_ancestor_cannot_be_turned_back() {
    let root = file(
        "GOVERNANCE.md",
        "autonomy: { level: 0 }\nsigning: { required: true, keyring: a }\naudit: { appendOnly: true }",
    );
    let middle = file("a/GOVERNANCE.md", "extends: ../GOVERNANCE.md");
    let leaf = file(
        "a/b/GOVERNANCE.md",
        "extends: ../GOVERNANCE.md\nautonomy: { level: 3 }\nsigning: { required: false, keyring: b }\naudit: { appendOnly: false }",
    );
    let (merged, problems) = merge(&[&leaf, &middle, &root]);
    assert_eq!(
        lines(&problems),
        [
            "G156 a/b/GOVERNANCE.md:8 the level rises from 0 to 3",
            "G154 a/b/GOVERNANCE.md:9 an ancestor requires signatures, and this file does not",
            "G155 a/b/GOVERNANCE.md:9 signatures are checked with `b` here and with `a` above",
            "G153 a/b/GOVERNANCE.md:10 an ancestor locked the log, and this file unlocks it",
        ]
    );
    assert!(merged.signing_required && merged.append_only);
}

#[test]
fn a_root_may_leave_its_switches_off() {
    let root = file("GOVERNANCE.md", "signing: { required: false }\naudit: { appendOnly: false }");
    let (merged, problems) = merge(&[&root]);
    assert_eq!((merged.signing_required, merged.append_only, problems), (false, false, vec![]));
}

#[test]
fn governance_chain_ends_at_root_cycle_gap_or_limit() {
    let nested = |depth: usize| format!("{}GOVERNANCE.md", "d/".repeat(depth));
    let mut files = BTreeMap::new();
    let mut add = |path: String, rest: &str| files.insert(path.clone(), file(&path, rest));
    add(nested(0), "");
    for depth in 1..9 {
        add(nested(depth), "extends: ../GOVERNANCE.md");
    }
    add("a/GOVERNANCE.md".into(), "extends: ../b/GOVERNANCE.md");
    add("b/GOVERNANCE.md".into(), "extends: ../a/GOVERNANCE.md");
    add("c/GOVERNANCE.md".into(), "extends: ./gone/GOVERNANCE.md");
    add("e/GOVERNANCE.md".into(), "extends: ../../GOVERNANCE.md");

    for (start, length, problem) in [
        (nested(0), 1, None),
        (nested(7), 8, None),
        (
            nested(8),
            8,
            Some("G151 d/GOVERNANCE.md:7 `../GOVERNANCE.md` would be file 9 of the chain"),
        ),
        (
            "a/GOVERNANCE.md".into(),
            2,
            Some("G150 b/GOVERNANCE.md:7 `../a/GOVERNANCE.md` leads back to `a/GOVERNANCE.md`"),
        ),
        (
            "c/GOVERNANCE.md".into(),
            1,
            Some("G152 c/GOVERNANCE.md:7 there is no usable `./gone/GOVERNANCE.md` to extend"),
        ),
        (
            "e/GOVERNANCE.md".into(),
            1,
            Some("G152 e/GOVERNANCE.md:7 there is no usable `../../GOVERNANCE.md` to extend"),
        ),
        ("f/GOVERNANCE.md".into(), 0, None),
    ] {
        let (chain, problems) = resolve_chain(&start, &files);
        let problem: Vec<&str> = problem.into_iter().collect();
        assert_eq!((chain.len(), lines(&problems)), (length, owned(&problem)), "{start}");
    }
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).into()).collect()
}

#[test]
fn a_file_with_an_error_is_not_used() {
    assert!(reading("GOVERNANCE.md", "schema: governance.workspace/v1").manifest.is_none());
}
