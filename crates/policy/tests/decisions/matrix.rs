//! The table of power: who may do what, under which rules, as `fixtures/decisions/matrix.txt`.

use std::collections::BTreeSet;

use haft_model::{Approval, ApprovalClass, EffectClass, Role, Rule, Verdict};
use serde_json::json;

use crate::case::{CallFacts, Case, GrantFacts, PolicyFacts, PolicyRuleFacts, StandingFacts};
use crate::{blesses, folder};

/// Who calls: a name, an id, roles, and whether grants are loaded and name them.
const ACTORS: [(&str, &str, &[Role], Option<bool>); 5] = [
    ("person", "user:ana", &[Role::Approver], None),
    ("agent", "agent:coder", &[Role::Agent], None),
    ("agent with grant", "agent:coder", &[Role::Agent], Some(true)),
    ("agent without grant", "agent:coder", &[Role::Agent], Some(false)),
    ("unknown", "visitor", &[], None),
];

/// A name, the classes, the risk, the approval, and whether it is expensive.
type Kind = (&'static str, &'static [&'static str], i64, &'static str, bool);

const TOOLS: [Kind; 12] = [
    ("read", &["read-only"], 0, "auto", false),
    ("scoped write", &["reversible-write"], 1, "auto", false),
    ("write, on-mutate", &["reversible-write"], 1, "on-mutate", false),
    ("external", &["external-communication"], 2, "auto", false),
    ("code execution", &["code-execution"], 2, "auto", false),
    ("irreversible", &["irreversible"], 3, "auto", false),
    ("administrative", &["administrative"], 3, "auto", false),
    ("financial", &["financial-high-impact"], 3, "auto", false),
    ("always", &["read-only"], 0, "always", false),
    ("expensive", &["read-only"], 0, "auto", true),
    ("policy-bound", &["read-only"], 0, "policy:four-eyes", false),
    ("policy unknown", &["read-only"], 0, "policy:nowhere", false),
];

const MODES: [&str; 5] = ["no rules", "allow rule", "ask rule", "deny rule", "standing answer"];

fn verdict(actor: usize, tool: usize, mode: &str) -> &'static str {
    let (_, id, roles, granted) = ACTORS[actor];
    let (_, classes, risk, approval, expensive) = TOOLS[tool];
    let mutates = if risk > 0 { vec!["workspace:/".to_owned()] } else { Vec::new() };
    let call = CallFacts {
        actor: id.into(),
        roles: roles.to_vec(),
        tool: "some.tool".into(),
        classes: classes.iter().map(|&class| class.into()).collect(),
        risk,
        mutates,
        approval: approval.into(),
        expensive,
        ..CallFacts::default()
    };
    let policies = granted.map(|granted| PolicyFacts {
        id: "@acme/agents".into(),
        grants: vec![GrantFacts {
            principal: json!(if granted { "bot://coder" } else { "bot://other" }),
            actions: vec!["tool:*".into()],
            ..GrantFacts::default()
        }],
        ..PolicyFacts::default()
    });
    let four_eyes: PolicyRuleFacts = serde_json::from_value(json!({
        "slug": "four-eyes", "action": "other.tool", "decision": "require-approval",
        "signers": [{ "role": "approver" }],
    }))
    .unwrap();
    let standing = if mode == "standing answer" { vec![StandingFacts::default()] } else { vec![] };
    let case = Case {
        call,
        policies: policies.into_iter().collect(),
        policy_rules: vec![four_eyes],
        rules: rule(mode).into_iter().collect(),
        standing,
        ..Case::default()
    };
    match case.judge().verdict.as_str() {
        "allow" => "✔",
        "ask" => "?",
        "deny" => "✘",
        other => panic!("no verdict: {other}"),
    }
}

fn rule(mode: &str) -> Option<Rule> {
    let verdict = match mode {
        "allow rule" => Verdict::Allow,
        "ask rule" => Verdict::Ask,
        "deny rule" => Verdict::Deny,
        _ => return None,
    };
    Some(serde_json::from_value(json!({ "verdict": verdict, "tool": "*" })).unwrap())
}

/// The whole table: one part for each actor, one row for each tool, one column for each mode.
fn table() -> String {
    let mut text = String::from(
        "# Who may do what, with autonomy 0: ✔ goes, ? asks, ✘ is denied.\n\
         # Written by the tests with HAFT_BLESS=1; a change here is a change of power.\n",
    );
    for (actor, (name, ..)) in ACTORS.iter().enumerate() {
        text += &format!("\n{name:<20}{}\n", MODES.map(|mode| format!("  {mode:<15}")).concat());
        for (tool, (name, ..)) in TOOLS.iter().enumerate() {
            let cells = MODES.map(|mode| format!("  {:<15}", verdict(actor, tool, mode)));
            text += format!("  {name:<18}{}", cells.concat()).trim_end();
            text += "\n";
        }
    }
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn the_table_of_power_is_the_one_under_review() {
    let path = folder().join("matrix.txt");
    let table = table();
    if blesses() {
        std::fs::write(&path, &table).unwrap();
    }
    let held = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(held, table, "matrix.txt is out of date: review, then run with HAFT_BLESS=1");
}

#[test]
fn decision_table_covers_every_class_approval_actor_tool_mode() {
    let parse = |word: &str| EffectClass::parse(word).unwrap();
    let classes: BTreeSet<_> = TOOLS
        .iter()
        .flat_map(|(_, classes, ..)| classes.iter())
        .map(|class| parse(class))
        .collect();
    assert_eq!(classes, BTreeSet::from(EffectClass::ALL));
    let approvals: Vec<_> =
        TOOLS.iter().map(|(_, _, _, approval, _)| Approval::parse(approval).unwrap()).collect();
    for class in [ApprovalClass::Auto, ApprovalClass::OnMutate, ApprovalClass::Always] {
        assert!(approvals.iter().any(|approval| approval.class == class), "{class:?}");
    }
    assert!(approvals.iter().any(|approval| !approval.policies.is_empty()));
    assert_eq!(
        TOOLS.iter().map(|(_, _, risk, ..)| *risk).collect::<BTreeSet<_>>(),
        (0..=3).collect()
    );
    let held = std::fs::read_to_string(folder().join("matrix.txt")).unwrap();
    let rows = |name: &str| held.lines().filter(|line| line.trim_start().starts_with(name)).count();
    for (actor, ..) in ACTORS {
        assert!(rows(actor) >= 1, "{actor}");
    }
    for (tool, ..) in TOOLS {
        assert!(rows(tool) >= ACTORS.len(), "{tool}");
    }
    for mode in MODES {
        assert_eq!(held.matches(mode).count(), ACTORS.len(), "{mode}");
    }
    let cells = held.lines().skip(2).collect::<String>().matches(['✔', '?', '✘']).count();
    assert_eq!(cells, ACTORS.len() * TOOLS.len() * MODES.len());
}
