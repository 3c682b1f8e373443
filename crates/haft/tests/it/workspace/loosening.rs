//! Loosening property test: where no loosening is reported for a change, no call is judged more
//! loosely.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use haft_contract::settings::Settings;
use haft_contract::{Governing, Severity, loosened};
use haft_model::{
    ActionGrant, ActionPattern, Actor, ActorId, Approval, Budget, CallLimits, Condition, CostClass,
    Decision, DefaultDecision, Digest, DriverId, EffectClass, EffectProfile, FactRule, Facts,
    Firmness, Glob, Governance, Grant, Layer, Limit, Needs, Opinion, Plan, Policy, PolicyRule,
    Principal, Requires, Risk, Route, Rule, RuleDecision, Says, Timestamp, ToolKey, Tri, Verdict,
};
use haft_policy::rules::CompiledRule;
use haft_policy::{Circumstances, CompiledPolicyRule, Matter, Rulebook, Targets, Usage, decide};
use haft_testkit::SeededRandom;
use serde_json::{Value, json};

const TOOLS: [&str; 3] = ["fs.read", "fs.write", "pay"];
const PATHS: [&str; 3] = ["docs/a", "keys/b", "notes"];

/// What governs calls, as the judges and the comparison get it.
#[derive(Clone)]
struct Book {
    settings: Settings,
    policies: Vec<Arc<Policy>>,
    policy_rules: Vec<Arc<PolicyRule>>,
    governance: Governance,
}

impl Book {
    fn governing(&self) -> Governing<'_> {
        Governing {
            settings: &self.settings,
            policies: &self.policies,
            policy_rules: &self.policy_rules,
            governance: &self.governance,
            complete: true,
            files: BTreeMap::new(),
        }
    }

    fn rulebook(&self) -> Rulebook {
        Rulebook {
            policies: self.policies.clone(),
            policy_rules: self.policy_rules.iter().cloned().map(CompiledPolicyRule::new).collect(),
            governance: self.governance.clone(),
            rules: self.settings.rules.iter().map(CompiledRule::new).collect(),
            autonomy: self.settings.workspace.autonomy,
            complete: true,
        }
    }
}

fn risk(dice: &mut SeededRandom) -> Risk {
    dice.choose(&[Risk::READ, Risk::IRREVERSIBLE, Risk::new(1).unwrap(), Risk::new(2).unwrap()])
}

fn rule(dice: &mut SeededRandom) -> Rule {
    let some = |text: &str| Some(text.to_owned());
    Rule {
        verdict: dice.choose(&[Verdict::Allow, Verdict::Ask, Verdict::Deny]),
        tool: some(dice.choose(&["*", "fs.*", "fs.read", "pay"])),
        action: dice.one_in(6).then(|| "tool:*".to_owned()),
        class: dice.one_in(6).then(|| "read-only".to_owned()),
        path: dice.one_in(3).then(|| dice.choose(&["docs/*", "keys/*", "*"]).to_owned()),
        url: None,
        command: None,
        actor: dice.one_in(4).then(|| "agent:*".to_owned()),
        reason: dice.one_in(2).then(|| "a reason".to_owned()),
        matches: Vec::new(),
        not_matches: Vec::new(),
    }
}

fn grant(dice: &mut SeededRandom) -> Grant {
    let action = dice.choose(&["tool:*", "tool:fs.read", "tool:pay", "*"]).to_owned();
    let scope = dice.one_in(4).then(|| Glob::new(dice.choose(&["docs/*", "fs.*"])));
    let approval = Condition { kind: "approval-from".into(), parameters: json!({"role": "lead"}) };
    Grant {
        principal: Principal::Scheme(Glob::new(dice.choose(&[
            "bot://*",
            "bot://coder",
            "user://*",
        ]))),
        actions: vec![ActionGrant { action, scope }],
        conditions: dice.one_in(3).then_some(approval).into_iter().collect(),
        ttl_seconds: None,
        granted_at: None,
        granted_by: None,
        revoked: dice.one_in(5),
    }
}

fn policy(dice: &mut SeededRandom) -> Policy {
    let limit = Limit {
        kind: "rate-tool-calls".into(),
        value: 3.0,
        scope: None,
        per: Some("hour".into()),
        applies_to: Vec::new(),
    };
    Policy {
        id: dice.choose(&["one", "two"]).to_owned(),
        default: dice.choose(&[DefaultDecision::Allow, DefaultDecision::Deny]),
        grants: (0..dice.below(4)).map(|_| grant(dice)).collect(),
        limits: dice.one_in(4).then_some(limit).into_iter().collect(),
        requirements: Vec::new(),
    }
}

fn policy_rule(dice: &mut SeededRandom) -> PolicyRule {
    use RuleDecision::{Allow, Deny, Escalate, RequireApproval};
    PolicyRule {
        slug: dice.choose(&["a", "b"]).to_owned(),
        action: ActionPattern::new(dice.choose(&["tool.call", "fs.*", "pay"])),
        subject: None,
        risk_level_min: risk(dice),
        decision: dice.choose(&[Allow, RequireApproval, Escalate, Deny]),
        signers: Vec::new(),
        quorum: 1,
        autonomy: dice.below(4) as u64,
        budget: Budget::default(),
    }
}

fn book(dice: &mut SeededRandom) -> Book {
    let mut settings = Settings::default();
    settings.workspace.autonomy = risk(dice);
    settings.rules = (0..dice.below(4)).map(|_| rule(dice)).collect();
    let policies = (0..dice.below(3)).map(|_| Arc::new(policy(dice))).collect();
    let policy_rules = match dice.one_in(2) {
        true => vec![Arc::new(policy_rule(dice))],
        false => Vec::new(),
    };
    Book { settings, policies, policy_rules, governance: governance(dice) }
}

fn governance(dice: &mut SeededRandom) -> Governance {
    let mut governance = Governance::default();
    governance.autonomy.level = dice.one_in(3).then(|| dice.below(4) as u64);
    governance
}

/// A book with one thing in it changed, for better or worse.
fn changed(book: &Book, dice: &mut SeededRandom) -> Book {
    let mut after = book.clone();
    let rules = &mut after.settings.rules;
    match dice.below(10) {
        0 => rules.push(rule(dice)),
        1 if !rules.is_empty() => drop(rules.remove(dice.below(rules.len()))),
        2 if !rules.is_empty() => {
            let at = dice.below(rules.len());
            rules[at].verdict = dice.choose(&[Verdict::Allow, Verdict::Ask, Verdict::Deny]);
        }
        3 => rules.reverse(),
        4 => after.settings.workspace.autonomy = risk(dice),
        5 => after.policies.push(Arc::new(policy(dice))),
        6 if !after.policies.is_empty() => {
            let at = dice.below(after.policies.len());
            let mut policy = Policy::clone(&after.policies[at]);
            match dice.below(4) {
                0 => policy.grants.push(grant(dice)),
                1 => policy.default = DefaultDecision::Allow,
                _ if policy.grants.is_empty() => policy.limits.clear(),
                _ => drop(policy.grants.remove(dice.below(policy.grants.len()))),
            }
            after.policies[at] = Arc::new(policy);
        }
        7 => drop(after.policies.pop()),
        8 => after.policy_rules = vec![Arc::new(policy_rule(dice))],
        _ => after.governance = governance(dice),
    }
    after
}

/// What is called, and what was heard of it.
struct Case {
    plan: Plan,
    opinions: Vec<Opinion>,
}

fn call(dice: &mut SeededRandom) -> Case {
    let tool = dice.choose(&TOOLS);
    let level = risk(dice);
    let reads = level == Risk::READ;
    let class = if reads { EffectClass::ReadOnly } else { EffectClass::Irreversible };
    let hook =
        Opinion::new(Layer::Hook, dice.choose(&[Says::Allow, Says::Ask]), "a hook").by("one");
    let hook = Opinion { trusted: dice.one_in(2), ..hook };
    let hook = match hook.says {
        Says::Ask => hook.firm(dice.choose(&[Firmness::Default, Firmness::Rememberable])),
        Says::Allow | Says::Deny | Says::Passthrough => hook,
    };
    let input = match dice.one_in(3) {
        true => json!({}),
        false => json!({ "path": dice.choose(&PATHS) }),
    };
    let plan = Plan {
        actor: Arc::new(Actor::from(ActorId::from(dice.choose(&["agent:coder", "user:bo"])))),
        tool: ToolKey::new(tool, 1),
        version: "1.0.0".into(),
        route: Route { driver: DriverId::from("d"), reason: "the only one", rejected: Vec::new() },
        input: input.into(),
        renames: Arc::from([]),
        driver_state: Arc::from([]),
        context: Value::Null,
        effects: Arc::new(EffectProfile {
            mutates: if reads { BTreeSet::new() } else { ["external:shop".to_owned()].into() },
            mutates_stated: true,
            classes: [class].into(),
            risk: level,
            requires: Requires::default(),
            approval: Approval::parse(dice.choose(&["auto", "on-mutate", "always"])).unwrap(),
            facts: Facts {
                read_only: if reads { Tri::Yes } else { Tri::No },
                destructive: Tri::Unknown,
                open_world: Tri::No,
                concurrency_safe: FactRule::Unstated,
            },
            inferred: Vec::new(),
        }),
        limits: CallLimits { timeout_ms: 1000, retry: None },
        digest: Digest::of(&tool),
    };
    Case { plan, opinions: dice.one_in(3).then_some(hook).into_iter().collect() }
}

fn judged(book: &Book, case: &Case) -> Decision {
    let grant = format!("tool:{}", case.plan.tool.id);
    let counted = ["one#0", "two#0"].map(|place| (place.to_owned(), 1.0));
    let usage = Usage { limits: counted.into(), ..Usage::default() };
    let matter = Matter {
        plan: &case.plan,
        targets: &Targets::default(),
        grant: &grant,
        action: None,
        cost: CostClass::Trivial,
        trusted: true,
        opinions: &case.opinions,
        standing: &[],
        usage: &usage,
        circumstances: &Circumstances::default(),
    };
    decide(&book.rulebook(), &matter, Timestamp::UNIX_EPOCH)
}

/// Whether every approver required before is required after, too.
fn asks_no_less(before: &Decision, after: &Decision) -> bool {
    let special = before.needs.iter().filter(|needs| **needs != Needs::default());
    after.verdict > before.verdict || special.into_iter().all(|needs| after.needs.contains(needs))
}

#[test]
fn change_that_is_not_looser_judges_no_call_looser() {
    let mut dice = SeededRandom::new(0x5eed_1e55);
    let (mut tighter, mut seen) = (0, [0; 3]);
    for _ in 0..4000 {
        let before = book(&mut dice);
        let mut after = changed(&before, &mut dice);
        if dice.one_in(3) {
            after = changed(&after, &mut dice);
        }
        if !loosened(&before.governing(), &after.governing()).is_empty() {
            continue;
        }
        tighter += 1;
        for _ in 0..12 {
            let case = call(&mut dice);
            let (then, now) = (judged(&before, &case), judged(&after, &case));
            seen[now.verdict as usize] += 1;
            assert!(
                now.verdict >= then.verdict && asks_no_less(&then, &now),
                "{:?}\nby {:#?}\n{then:#?}\nafter {:#?}\n{now:#?}",
                case.plan,
                before.settings.rules,
                after.settings.rules,
            );
        }
    }
    assert!(tighter > 400 && seen.iter().all(|count| *count > 300), "{tighter} {seen:?}");
}

/// Settings from a text.
fn settings(text: &str) -> Settings {
    let source = haft_contract::Source::new("haft.toml", text);
    let (settings, found) = haft_contract::settings::read(&source);
    let wrong = |found: &haft_contract::Diagnostic| found.severity == Severity::Error;
    assert!(!found.iter().any(wrong), "{text}: {found:?}");
    settings
}

/// Which of two texts is looser than the other.
fn looser(before: &str, after: &str) -> (bool, bool) {
    let (one, two) = (settings(before), settings(after));
    let governance = Governance::default();
    let of = |settings| Governing {
        settings,
        policies: &[],
        policy_rules: &[],
        governance: &governance,
        complete: true,
        files: BTreeMap::new(),
    };
    let (one, two) = (of(&one), of(&two));
    (!loosened(&one, &two).is_empty(), !loosened(&two, &one).is_empty())
}

/// Each pair: the stricter text, and one that is looser.
const PAIRS: [(&str, &str); 17] = [
    ("", "[workspace]\nsandbox = \"off\"\n"),
    ("", "[workspace]\nautonomy = 2\n"),
    ("[workspace]\nnon_interactive = \"deny\"\n", ""),
    ("", "[workspace]\nunsent = \"run\"\n"),
    ("[workspace]\nregion = [\"eu\"]\n", ""),
    ("[workspace]\nregion = [\"eu\"]\n", "[workspace]\nregion = [\"eu\", \"us\"]\n"),
    ("[workspace]\ndenied_tags = [\"beta\"]\n", ""),
    ("[[rule]]\ntool = \"*\"\nverdict = \"deny\"\n", ""),
    (
        "[[rule]]\ntool = \"*\"\nverdict = \"ask\"\n",
        "[[rule]]\ntool = \"a.*\"\nverdict = \"ask\"\n[[rule]]\ntool = \"b\"\nverdict = \"allow\"\n",
    ),
    ("", "[[rule]]\ntool = \"fs.*\"\nverdict = \"allow\"\n"),
    (
        "[[actor]]\nid = \"user:bo\"\nroles = []\n",
        "[[actor]]\nid = \"user:bo\"\nroles = [\"approver\"]\n",
    ),
    ("", "[[actor]]\nid = \"user:bo\"\nroles = [\"approver\"]\n"),
    ("", "[server]\nhosts = [\"haft.example\"]\n"),
    ("", "[limits]\nmax_parallel = 100\n"),
    ("[limits]\nrates = [{ tool = \"pay\", per = \"minute\", value = 3 }]\n", ""),
    (
        "[limits]\nrates = [{ tool = \"pay\", per = \"minute\", value = 3 }]\n",
        "[limits]\nrates = [{ tool = \"pay\", per = \"minute\", value = 30 }]\n",
    ),
    ("", "[telemetry]\nendpoint = \"http://127.0.0.1:4318\"\n"),
];

#[test]
fn settings_of_each_kind_are_told_apart_by_strictness() {
    for (strict, loose) in PAIRS {
        assert!(looser(strict, loose).0, "{strict:?} to {loose:?} is looser");
    }
    // The other way round they are tighter, except where both differ in what cannot be compared.
    let incomparable = PAIRS[8].1;
    for (strict, loose) in PAIRS.iter().filter(|(_, loose)| *loose != incomparable) {
        assert!(!looser(strict, loose).1, "{loose:?} to {strict:?} is not looser");
    }
}

/// Changes that let no caller do more in one direction and cannot be shown not to in either.
const NEITHER: [(&str, &str); 8] = [
    ("", "[workspace]\ndefault_actor = \"agent:other\"\n"),
    ("", "[workspace]\nname = \"other\"\n"),
    ("", "[workspace]\nforms = \"off\"\n"),
    ("", "[[hook]]\nevent = \"pre_tool_use\"\nrun = [\"hooks/look\"]\n"),
    ("", "[server]\nlisten = \"127.0.0.1:9\"\n"),
    ("", "[server.oauth]\nissuer = \"https://login.example\"\naudience = \"haft\"\nroles = {}\n"),
    ("", "[store]\nurl = \"sqlite:.haft/other.db\"\n"),
    ("", "[[surface]]\nscope = \"workspace\"\ntools = [\"fs.*\"]\n"),
];

#[test]
fn settings_that_cannot_be_compared_count_as_looser() {
    for (one, other) in NEITHER {
        assert_eq!(looser(one, other), (true, true), "{one:?} and {other:?}");
    }
    assert_eq!(
        looser(
            "[[surface]]\nscope = \"workspace\"\ntools = [\"*\"]\n",
            "[[surface]]\nscope = \"workspace\"\ntools = [\"*\"]\ndefer_above = 3\n"
        ),
        (false, false)
    );
}
