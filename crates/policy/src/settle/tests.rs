//! Tests of approval answers and their settlement.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_model::{
    Actor, Approval, Approver, CallLimits, Decision, Digest, DriverId, EffectProfile, FactRule,
    Facts, Glob, InvocationId, Needs, QuestionId, Quorum, Requires, Risk, Role, Route, Signer,
    ToolKey, Tri, Verdict,
};
use haft_testkit::SeededRandom;
use serde_json::{Value, json};

use super::*;

const ASKED: i64 = 1_000;
const EXPIRES: i64 = 2_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn plan() -> Plan {
    Plan {
        actor: Arc::new(Actor::new("agent:coder", "shop", [Role::Agent])),
        tool: ToolKey::new("payment.charge", 1),
        version: "1.2.0".into(),
        route: Route { driver: DriverId::from("bank"), reason: "the only one", rejected: vec![] },
        input: json!({ "amount": 1 }).into(),
        renames: Arc::from([]),
        driver_state: Arc::from([]),
        context: Value::Null,
        effects: Arc::new(EffectProfile {
            mutates: ["external:bank".to_owned()].into(),
            mutates_stated: true,
            classes: Default::default(),
            risk: Risk::EXTERNAL,
            requires: Requires::default(),
            approval: Approval::default(),
            facts: Facts {
                read_only: Tri::No,
                destructive: Tri::Unknown,
                open_world: Tri::No,
                concurrency_safe: FactRule::Unstated,
            },
            inferred: vec![],
        }),
        limits: CallLimits { timeout_ms: 1, retry: None },
        digest: Digest::of(&"the plan"),
    }
}

fn bound(plan: &Plan) -> ApprovalBinding {
    ApprovalBinding {
        invocation: InvocationId::from("inv_1"),
        tool: format!("{}@{}", plan.tool.id, plan.version),
        driver_version: "1.0.0".into(),
        driver_digest: Some(Digest::of(&"driver")),
        driver: plan.route.driver.clone(),
        call_input: Digest::of(&plan.input),
        targets: None,
        effects: plan.effects.fingerprint(),
        actor: plan.actor.id.clone(),
        tenant: plan.actor.tenant.to_string(),
    }
}

fn question(plan: &Plan, needs: &[Needs]) -> Question {
    Question {
        id: QuestionId::from("apr_1"),
        bound: bound(plan),
        grant: "payments:charge".into(),
        decision: Decision {
            verdict: Verdict::Ask,
            deciding: None,
            opinions: vec![],
            needs: needs.to_vec(),
            code: None,
            suggested_updates: vec![],
            decided_at: at(ASKED),
        },
        needs: needs.to_vec(),
        shown_input: Value::Null,
        driver_state: [].into(),
        summary: "charge 1".into(),
        asked_at: at(ASKED),
        expires_at: at(EXPIRES),
        rememberable: false,
        form: None,
    }
}

fn yes(who: &str, roles: &[&str]) -> ApprovalAnswer {
    ApprovalAnswer {
        question: QuestionId::from("apr_1"),
        by: who.into(),
        speaking: None,
        roles: roles.iter().map(|&role| role.into()).collect(),
        approves: true,
        reason: None,
        edited_input: None,
        content: None,
        always: false,
        channel: "terminal".into(),
        at: at(ASKED + 1),
    }
}

/// A settlement in one line.
fn told(settlement: Settlement) -> String {
    match settlement {
        Settlement::Permitted(_) => "permitted".into(),
        Settlement::Open(who) => format!("open: {who}"),
        Settlement::Refused(stop) => format!("refused: {} {}", stop.code, stop.message),
        Settlement::Changed(why) => format!("changed: {why}"),
    }
}

fn settled(rulebook: &Rulebook, needs: &[Needs], answers: &[ApprovalAnswer]) -> String {
    let plan = plan();
    let question = question(&plan, needs);
    told(settle(rulebook, &question, answers, &plan, &bound(&plan), at(ASKED + 2)))
}

fn four_eyes() -> Needs {
    Needs { not_the_caller: true, ..Needs::default() }
}

fn approver(id: &str, role: Option<&str>, can: &[&str], quorum: Option<u64>) -> Approver {
    Approver {
        id: id.into(),
        role: role.map(str::to_owned),
        can_approve: can.iter().map(|&action| Glob::new(action)).collect(),
        quorum: quorum.map(|need| Quorum { need, of: None }),
    }
}

fn governed(approvers: &[Approver]) -> Rulebook {
    let mut rulebook = Rulebook::default();
    let listed = approvers.iter().map(|approver| (approver.id.clone(), approver.clone()));
    rulebook.governance.approvers = listed.collect::<BTreeMap<_, _>>();
    rulebook
}

#[test]
fn any_single_approver_suffices_without_special_needs() {
    let book = Rulebook::default();
    for needs in [&[][..], &[Needs::default()][..]] {
        assert_eq!(settled(&book, needs, &[]), "open: it needs any approver");
        assert_eq!(settled(&book, needs, &[yes("user:ana", &["approver"])]), "permitted");
        assert_eq!(settled(&book, needs, &[yes("user:ana", &["admin"])]), "permitted");
    }
}

#[test]
fn answer_counts_only_from_eligible_approver() {
    let book = Rulebook::default();
    let mut masked = yes("user:ana", &["approver"]);
    masked.speaking = Some("agent:coder".into());
    let mut elsewhere = yes("user:ana", &["approver"]);
    elsewhere.question = QuestionId::from("apr_2");
    let mut late = yes("user:ana", &["approver"]);
    late.at = at(EXPIRES + 1);
    for answer in [
        yes("agent:coder", &["approver", "admin"]),
        yes("user:ana", &[]),
        yes("user:ana", &["auditor"]),
        masked,
        elsewhere,
        late,
    ] {
        assert_eq!(settled(&book, &[], &[answer]), "open: it needs any approver");
    }
}

#[test]
fn permit_covers_only_its_plan_call_and_expiry() {
    let plan = plan();
    let question = question(&plan, &[]);
    let answers = [yes("user:ana", &["approver"])];
    let settlement =
        settle(&Rulebook::default(), &question, &answers, &plan, &bound(&plan), at(ASKED + 2));
    let Settlement::Permitted(permit) = settlement else { panic!("{settlement:?}") };
    let invocation = InvocationId::from("inv_1");
    assert!(permit.covers(&plan, &invocation, at(EXPIRES)));
    assert!(!permit.covers(&plan, &invocation, at(EXPIRES + 1)));
    let other = Plan { digest: Digest::of(&"another plan"), ..plan.clone() };
    assert!(!permit.covers(&other, &invocation, at(ASKED)));
    assert!(!permit.covers(&plan, &InvocationId::from("inv_2"), at(ASKED)));
}

#[test]
fn four_eyes_are_two_people_and_never_the_caller() {
    let mut plan = plan();
    plan.actor = Arc::new(Actor::new("user:ana", "shop", [Role::Approver]));
    let told = |needs: Needs, who: &str, typed_by: Option<&str>| {
        let mut plan = plan.clone();
        let mut actor = (*plan.actor).clone();
        actor.speaking = typed_by.map(Into::into);
        plan.actor = Arc::new(actor);
        let question = question(&plan, &[needs]);
        let answers = [yes(who, &["approver"])];
        told(settle(&Rulebook::default(), &question, &answers, &plan, &bound(&plan), at(ASKED)))
    };
    assert_eq!(told(Needs::default(), "user:ana", None), "permitted", "one's own call");
    let open = "open: it needs any approver, not the caller";
    assert_eq!(told(four_eyes(), "user:ana", None), open);
    assert_eq!(told(four_eyes(), "user:ben", None), "permitted");
    assert_eq!(told(four_eyes(), "user:ben", Some("user:ben")), open, "ben typed it as ana");
}

#[test]
fn a_quorum_of_two_is_two_different_people() {
    let book = Rulebook::default();
    let two = [Needs { count: 2, ..four_eyes() }];
    let open = "open: it needs 2 of any approver, not the caller";
    let (ana, ben) = (yes("user:ana", &["approver"]), yes("user:ben", &["approver"]));
    assert_eq!(settled(&book, &two, std::slice::from_ref(&ana)), open);
    assert_eq!(settled(&book, &two, &[ana.clone(), ana.clone()]), open, "the same person twice");
    let mut as_ben = ben.clone();
    as_ben.speaking = Some("user:ana".into());
    assert_eq!(settled(&book, &two, &[ana.clone(), as_ben]), open, "ana speaking as ben");
    assert_eq!(settled(&book, &two, &[ana, ben]), "permitted");
}

#[test]
fn every_need_has_to_be_met() {
    let book = Rulebook::default();
    let role = |role: &str| Needs { signers: vec![Signer::Role(role.into())], ..Needs::default() };
    let needs = [Needs { count: 2, ..Needs::default() }, role("owner")];
    let (ana, ben) = (yes("user:ana", &["approver"]), yes("user:ben", &["approver"]));
    let answers = [ana.clone(), ben];
    assert_eq!(settled(&book, &needs, &answers), "open: it needs role `owner`");
    assert_eq!(settled(&book, &needs, &[ana, yes("user:cleo", &["admin"])]), "permitted");
}

#[test]
fn a_signer_is_a_role_or_a_person() {
    let signed = |signer: Signer, book: &Rulebook, who: &str, roles: &[&str]| {
        let needs = Needs { signers: vec![signer], ..Needs::default() };
        settled(book, &[needs], &[yes(who, roles)]) == "permitted"
    };
    let (role, user) =
        (|name: &str| Signer::Role(name.into()), |name: &str| Signer::User(name.into()));
    let plain = Rulebook::default();
    assert!(signed(role("owner"), &plain, "user:ana", &["admin"]));
    assert!(!signed(role("owner"), &plain, "user:ana", &["approver"]));
    assert!(signed(role("approver"), &plain, "user:ana", &["approver"]));
    assert!(signed(role("finance"), &plain, "user:ana", &["approver", "finance"]));
    for name in ["ana", "user:ana", "user://ana"] {
        assert!(signed(user(name), &plain, "user:ana", &["approver"]), "{name}");
        assert!(!signed(user(name), &plain, "user:anabel", &["approver"]), "{name}");
    }
    let book = governed(&[approver("ana", Some("finance"), &["payment.*"], None)]);
    assert!(signed(role("finance"), &book, "user:ana", &[]), "a role of the governance");
    assert!(!signed(role("finance"), &book, "user:ben", &["approver"]));
}

#[test]
fn the_governance_says_what_its_approvers_approve() {
    let permitted = |approver: Approver, roles: &[&str]| {
        settled(&governed(&[approver]), &[], &[yes("user:ana", roles)]) == "permitted"
    };
    for covers in ["payment.charge", "payment.*", "tool:payment.*", "*"] {
        assert!(permitted(approver("ana", None, &[covers], None), &[]), "{covers}");
    }
    let orders = approver("ana", None, &["order.*"], None);
    assert!(!permitted(orders.clone(), &[]));
    assert!(!permitted(orders.clone(), &["approver"]), "an approver of orders");
    assert!(permitted(orders, &["admin"]), "who runs the workspace");
    let revoked = approver("ana", None, &[], None);
    for roles in [&[][..], &["approver"][..], &["admin"][..]] {
        assert!(!permitted(revoked.clone(), roles), "an empty list takes it back: {roles:?}");
    }
}

#[test]
fn a_quorum_of_the_governance_raises_the_count() {
    let book =
        governed(&[approver("ana", None, &["*"], Some(2)), approver("ben", None, &["*"], None)]);
    let (ana, ben) = (yes("user:ana", &[]), yes("user:ben", &[]));
    assert_eq!(settled(&book, &[], std::slice::from_ref(&ana)), "open: it needs any approver");
    assert_eq!(settled(&book, &[], &[ana, ben.clone()]), "permitted");
    assert_eq!(settled(&book, &[], &[ben]), "permitted");
}

#[test]
fn one_no_ends_it_with_who_and_why() {
    let book = Rulebook::default();
    let ana = yes("user:ana", &["approver"]);
    let no = ApprovalAnswer {
        approves: false,
        reason: Some("too much".into()),
        ..yes("user:ben", &["approver"])
    };
    let refused = "refused: approval.rejected `user:ben` said no: too much";
    assert_eq!(settled(&book, &[], &[ana, no]), refused);
    let agent = ApprovalAnswer { approves: false, ..yes("agent:coder", &["approver"]) };
    assert_eq!(settled(&book, &[], &[agent]), "open: it needs any approver");
}

#[test]
fn an_expired_question_is_refused_whatever_was_answered() {
    let plan = plan();
    let question = question(&plan, &[]);
    let answers = [yes("user:ana", &["approver"])];
    let settle_at = |second: i64| {
        let book = Rulebook::default();
        told(settle(&book, &question, &answers, &plan, &bound(&plan), at(second)))
    };
    assert_eq!(settle_at(EXPIRES), "permitted");
    let refused = "refused: approval.expired the question expired at 1970-01-01T00:33:20Z";
    assert_eq!(settle_at(EXPIRES + 1), refused);
}

/// Settles a question about the usual plan for a changed plan.
fn changed(change: impl Fn(&mut Plan, &mut ApprovalBinding)) -> String {
    let mut now = plan();
    let question = question(&now, &[]);
    let mut bound = bound(&now);
    change(&mut now, &mut bound);
    let answers = [yes("user:ana", &["approver"])];
    told(settle(&Rulebook::default(), &question, &answers, &now, &bound, at(ASKED + 2)))
}

/// The same, with the changed plan bound anew.
fn rebound(change: impl Fn(&mut Plan)) -> String {
    changed(|plan, made| {
        change(plan);
        *made = bound(plan);
    })
}

#[test]
fn what_changed_since_it_was_asked_is_asked_again() {
    let since = "changed since it was asked";
    assert_eq!(
        rebound(|plan| plan.route.driver = DriverId::from("other")),
        format!("changed: the driver {since}")
    );
    // The driver has the same name and version, and another digest.
    assert_eq!(
        changed(|_, bound| bound.driver_digest = Some(Digest::of(&"rewritten"))),
        format!("changed: the driver {since}")
    );
    assert_eq!(
        rebound(|plan| plan.version = "1.2.1".into()),
        format!("changed: the tool or its version {since}")
    );
    assert_eq!(
        rebound(|plan| Arc::make_mut(&mut plan.effects).risk = Risk::IRREVERSIBLE),
        format!("changed: the effects {since}")
    );
    assert_eq!(
        rebound(|plan| Arc::make_mut(&mut plan.actor).id = "agent:other".into()),
        format!("changed: the actor {since}")
    );
    assert_eq!(
        rebound(|plan| Arc::make_mut(&mut plan.actor).tenant = "other".into()),
        format!("changed: the tenant {since}")
    );
    assert_eq!(
        rebound(|plan| plan.input = json!({ "amount": 2 }).into()),
        format!("changed: the input {since}")
    );
    assert_eq!(
        changed(|_, bound| bound.invocation = InvocationId::from("inv_2")),
        format!("changed: the call {since}")
    );
    assert_eq!(rebound(|_| {}), "permitted");
}

#[test]
fn plan_differing_from_bound_plan_gets_no_permit() {
    let found = changed(|plan, _| {
        plan.version = "1.2.1".into();
        plan.route.driver = DriverId::from("other");
        Arc::make_mut(&mut plan.effects).risk = Risk::IRREVERSIBLE;
        let actor = Arc::make_mut(&mut plan.actor);
        (actor.id, actor.tenant) = ("agent:other".into(), "other".into());
    });
    let parts = "the plan's tool, the plan's driver, the plan's effects, the plan's actor, the plan's tenant";
    assert_eq!(found, format!("changed: {parts} changed since it was asked"));
}

#[test]
fn edited_input_is_approved_only_by_its_editors() {
    let mut edited = plan();
    edited.input = json!({ "amount": 2 }).into();
    let digest = Digest::of(&edited.input);
    let question_of = |count: u64| question(&plan(), &[Needs { count, ..Needs::default() }]);
    let settle_for = |plan: &Plan, count: u64, answers: &[ApprovalAnswer]| {
        let book = Rulebook::default();
        told(settle(&book, &question_of(count), answers, plan, &bound(plan), at(ASKED + 2)))
    };
    let edit = |who: &str| ApprovalAnswer {
        edited_input: Some(digest.clone()),
        ..yes(who, &["approver"])
    };
    let plain = yes("user:ben", &["approver"]);
    assert_eq!(settle_for(&plan(), 1, &[edit("user:ana")]), "changed: input edited");
    assert_eq!(settle_for(&edited, 1, &[edit("user:ana")]), "permitted");
    let open = "open: it needs 2 of any approver";
    assert_eq!(settle_for(&edited, 2, &[edit("user:ana"), plain.clone()]), open);
    assert_eq!(settle_for(&edited, 2, &[edit("user:ana"), edit("user:ben")]), "permitted");
    assert_eq!(settle_for(&plan(), 2, &[edit("user:ana"), plain]), open);
}

fn objection(
    rulebook: &Rulebook,
    needs: &[Needs],
    actor: &Actor,
    earlier: &[ApprovalAnswer],
) -> String {
    let question = question(&plan(), needs);
    match may_answer(rulebook, &question, earlier, actor, at(ASKED + 1)) {
        Ok(()) => "may".into(),
        Err(objection) => format!("{}; {}", objection.message, objection.help),
    }
}

#[test]
fn ineligible_approver_learns_reason_and_required_approvers() {
    let book = Rulebook::default();
    let actor = |id: &str, roles: &[Role]| Actor::new(id, "shop", roles.iter().copied());
    let ana = actor("user:ana", &[Role::Approver]);
    assert_eq!(objection(&book, &[], &ana, &[]), "may");
    let agent = actor("agent:coder", &[Role::Approver, Role::Admin]);
    let any = "it needs any approver";
    assert_eq!(
        objection(&book, &[], &agent, &[]),
        format!("`agent:coder` is no person, and only a person answers; {any}")
    );
    let mut masked = ana.clone();
    masked.speaking = Some("agent:coder".into());
    assert!(objection(&book, &[], &masked, &[]).contains("is no person"));
    let stranger = Actor::new("user:ana", "other", [Role::Approver]);
    assert_eq!(
        objection(&book, &[], &stranger, &[]),
        format!("`user:ana` belongs to another tenant; {any}")
    );
    let auditor = actor("user:cleo", &[Role::Auditor]);
    assert_eq!(
        objection(&book, &[], &auditor, &[]),
        format!("`user:cleo` is an auditor, who changes nothing; {any}")
    );
    let nothing = actor("user:cleo", &[]);
    assert_eq!(
        objection(&book, &[], &nothing, &[]),
        format!("`user:cleo` may not answer questions about this tool; {any}")
    );
    assert_eq!(
        objection(&book, &[], &ana, &[yes("user:ana", &["approver"])]),
        format!("`user:ana` has answered already; {any}")
    );
    let owner = Needs { signers: vec![Signer::Role("owner".into())], ..four_eyes() };
    assert_eq!(
        objection(&book, &[owner], &ana, &[]),
        "`user:ana` is not among those who have to answer; it needs role `owner`, not the caller"
    );
}

#[test]
fn answer_after_expiry_is_refused() {
    let ana = Actor::new("user:ana", "shop", [Role::Approver]);
    let question = question(&plan(), &[]);
    let book = Rulebook::default();
    assert_eq!(may_answer(&book, &question, &[], &ana, at(EXPIRES)), Ok(()));
    let late = may_answer(&book, &question, &[], &ana, at(EXPIRES + 1)).unwrap_err();
    assert_eq!(late.message, "this question takes no more answers");
}

#[test]
fn caller_may_approve_own_call_except_under_four_eyes() {
    let mut plan = plan();
    let ana = Actor::new("user:ana", "shop", [Role::Approver]);
    plan.actor = Arc::new(ana.clone());
    let book = Rulebook::default();
    let may = |needs: &[Needs]| may_answer(&book, &question(&plan, needs), &[], &ana, at(ASKED));
    assert_eq!(may(&[Needs::default()]), Ok(()));
    assert!(may(&[four_eyes()]).is_err());
}

#[test]
fn approver_list_matches_tool_or_its_grants() {
    for (can, expected) in [
        ("payments:charge", "permitted"),
        ("payments:*", "permitted"),
        ("payment.charge", "permitted"),
        ("orders:*", "open"),
    ] {
        let rulebook = governed(&[approver("ana", None, &[can], None)]);
        let found = settled(&rulebook, &[Needs::default()], &[yes("user:ana", &["approver"])]);
        assert!(found.starts_with(expected), "{can}: {found}");
    }
}

#[test]
fn where_approvals_have_to_be_signed_none_counts() {
    let mut rulebook = Rulebook::default();
    rulebook.governance.signing_required = true;
    let found = settled(&rulebook, &[Needs::default()], &[yes("user:ana", &["admin"])]);
    assert!(found.starts_with("refused: policy.blocked"), "{found}");
    let plan = plan();
    let question = question(&plan, &[Needs::default()]);
    let ana = Actor::new("user:ana", "shop", [Role::Admin]);
    assert!(may_answer(&rulebook, &question, &[], &ana, at(ASKED + 1)).is_err());
}

#[test]
fn auditor_never_answers_whatever_governance_lists() {
    let plan = plan();
    let question = question(&plan, &[Needs::default()]);
    for listed in [None, Some("approver"), Some("admin"), Some("auditor"), Some("owner")] {
        let rulebook = governed(&[approver("user:eve", listed, &["*"], None)]);
        let eve = Actor::new("user:eve", "shop", [Role::Auditor]);
        let objection = may_answer(&rulebook, &question, &[], &eve, at(ASKED + 1)).unwrap_err();
        assert!(objection.message.contains("changes nothing"), "{objection:?}");
        // A recorded answer of an auditor does not count either.
        for approves in [true, false] {
            let answer = ApprovalAnswer { approves, ..yes("user:eve", &["auditor"]) };
            let told = settled(&rulebook, &[Needs::default()], &[answer]);
            assert!(told.starts_with("open"), "{told}");
        }
        let both = Actor::new("user:eve", "shop", [Role::Auditor, Role::Approver]);
        assert_eq!(may_answer(&rulebook, &question, &[], &both, at(ASKED + 1)), Ok(()));
    }
}

#[test]
fn quorum_counts_persons_and_never_the_caller() {
    const PEOPLE: [&str; 5] = ["ana", "bo", "cleo", "dan", "eve"];
    let mut dice = SeededRandom::new(1);
    let mut permitted = 0;
    for round in 0..4_000 {
        let caller = PEOPLE[dice.below(PEOPLE.len())];
        let typist = (dice.below(3) == 0).then(|| PEOPLE[dice.below(PEOPLE.len())]);
        let scheme = ["agent:", "user:", "user://", "bot://"][dice.below(4)];
        let mut plan = plan();
        plan.actor = Arc::new(Actor {
            speaking: typist.map(|name| format!("user:{name}").as_str().into()),
            ..Actor::new(format!("{scheme}{caller}").as_str(), "shop", [Role::Agent])
        });
        let mut answers = Vec::new();
        // Persons whom each answer may stand for.
        let mut named: Vec<Vec<&str>> = Vec::new();
        for _ in 0..dice.below(6) {
            let who = PEOPLE[dice.below(PEOPLE.len())];
            let form = ["user:", "user://"][dice.below(2)];
            let mut answer = yes(&format!("{form}{who}"), &["approver"]);
            let mut names = vec![who];
            if dice.below(4) == 0 {
                let other = PEOPLE[dice.below(PEOPLE.len())];
                answer.speaking = Some(format!("user:{other}").as_str().into());
                names.push(other);
            }
            answers.push(answer);
            named.push(names);
        }
        let is_caller = |name: &&str| *name == caller || Some(*name) == typist;
        named.retain(|names| !names.iter().any(&is_caller));
        // Greatest set of answers that stand for different persons.
        let apart = |chosen: &[&Vec<&str>]| {
            let all: Vec<&str> = chosen.iter().flat_map(|names| names.iter().copied()).collect();
            let different = |names: &&Vec<&str>| {
                let own: std::collections::BTreeSet<&str> = names.iter().copied().collect();
                own.iter().all(|name| {
                    let held = chosen.iter().filter(|other| other.contains(name)).count();
                    held == 1
                })
            };
            all.is_empty() || chosen.iter().all(different)
        };
        let persons = (0..1_usize << named.len())
            .map(|set| {
                let chosen = named.iter().enumerate().filter(|(place, _)| set >> place & 1 == 1);
                chosen.map(|(_, names)| names).collect::<Vec<_>>()
            })
            .filter(|chosen| apart(chosen))
            .map(|chosen| chosen.len())
            .max()
            .unwrap_or_default();
        let count = 1 + dice.below(3);
        let needs = Needs { count: count as u64, not_the_caller: true, ..Needs::default() };
        let question = question(&plan, &[needs]);
        let rulebook = Rulebook::default();
        let settlement =
            settle(&rulebook, &question, &answers, &plan, &bound(&plan), at(ASKED + 2));
        if matches!(settlement, Settlement::Permitted(_)) {
            permitted += 1;
            assert!(
                persons >= count,
                "{round}: {persons} persons for {count}, called by {caller} {typist:?}: {answers:?}"
            );
        } else {
            // Where each answer stands for one person only, the required number is enough.
            let plain = answers.iter().all(|answer| answer.speaking.is_none());
            assert!(!plain || persons < count, "{round}: {persons} for {count}: {answers:?}");
        }
    }
    assert!(permitted > 100, "the cases permit too little to say anything: {permitted}");
}
