//! One case: facts of a call and a rulebook, and what the decision looks like in short lines.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_model::{
    ActionPattern, Actor, ActorId, Approval, CallLimits, Condition, CostClass, Decision,
    DefaultDecision, Digest, DriverId, EffectClass, EffectProfile, FactRule, Facts, Glob,
    Governance, Grant, InferredFact, Limit, Needs, Opinion, Plan, Policy, PolicyRule, Principal,
    QuestionId, Requirement, Requires, Risk, Role, Route, Rule, RuleDecision, Signer,
    StandingAnswer, Timestamp, ToolKey, Tri, Verdict,
};
use haft_policy::rules::CompiledRule;
use haft_policy::{
    Circumstances, CommandLine, CompiledPolicyRule, Matter, PathTarget, ProgramFile, Rulebook,
    Spending, Targets, Usage, decide,
};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A case as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) now: Option<String>,
    pub(crate) call: CallFacts,
    pub(crate) touches: TouchFacts,
    pub(crate) policies: Vec<PolicyFacts>,
    pub(crate) policy_rules: Vec<PolicyRuleFacts>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) governance: GovernanceFacts,
    pub(crate) autonomy: i64,
    pub(crate) unread: bool,
    pub(crate) opinions: Vec<Opinion>,
    pub(crate) standing: Vec<StandingFacts>,
    pub(crate) limits: Vec<(String, f64)>,
    pub(crate) budgets: Vec<(String, u64, u64)>,
    pub(crate) money: Vec<SpendingFacts>,
    pub(crate) expect: Expected,
}

/// What the driver will touch; `?` is a path that cannot be resolved.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TouchFacts {
    paths: Vec<String>,
    urls: Vec<String>,
    argv: Vec<Vec<String>>,
}

/// What was spent of a budget, and what the call costs, in thousandths of a cent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpendingFacts {
    slug: String,
    spent: u64,
    cost: Option<u64>,
}

/// A decision in short lines.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Expected {
    pub(crate) verdict: String,
    pub(crate) code: Option<String>,
    pub(crate) by: Option<String>,
    pub(crate) opinions: Vec<String>,
    pub(crate) needs: Vec<String>,
    pub(crate) offers: Vec<String>,
}

/// The call, and what was found out about it.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CallFacts {
    pub(crate) actor: String,
    pub(crate) speaking: Option<String>,
    pub(crate) roles: Vec<Role>,
    pub(crate) tool: String,
    pub(crate) action: Option<String>,
    pub(crate) classes: Vec<String>,
    pub(crate) class_inferred: bool,
    pub(crate) risk: i64,
    pub(crate) mutates: Vec<String>,
    pub(crate) mutates_unstated: bool,
    pub(crate) approval: String,
    pub(crate) expensive: bool,
    pub(crate) untrusted: bool,
    pub(crate) input: Map<String, Value>,
    pub(crate) ip: Option<std::net::IpAddr>,
    pub(crate) mfa_at: Option<Timestamp>,
    pub(crate) groups: Vec<String>,
}

impl Default for CallFacts {
    fn default() -> CallFacts {
        CallFacts {
            actor: "agent:coder".into(),
            speaking: None,
            roles: Vec::new(),
            tool: "fs.read".into(),
            action: None,
            classes: Vec::new(),
            class_inferred: false,
            risk: 0,
            mutates: Vec::new(),
            mutates_unstated: false,
            approval: "auto".into(),
            expensive: false,
            untrusted: false,
            input: Map::new(),
            ip: None,
            mfa_at: None,
            groups: Vec::new(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PolicyFacts {
    pub(crate) id: String,
    pub(crate) allow_by_default: bool,
    pub(crate) grants: Vec<GrantFacts>,
    pub(crate) limits: Vec<LimitFacts>,
    pub(crate) requirements: Vec<Map<String, Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GrantFacts {
    pub(crate) principal: Value,
    pub(crate) actions: Vec<String>,
    pub(crate) scope: Option<String>,
    pub(crate) conditions: Vec<Map<String, Value>>,
    pub(crate) ttl_seconds: Option<u64>,
    pub(crate) granted_at: Option<String>,
    pub(crate) revoked: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitFacts {
    pub(crate) kind: String,
    pub(crate) value: f64,
    pub(crate) per: Option<String>,
    pub(crate) applies_to: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyRuleFacts {
    pub(crate) slug: String,
    pub(crate) action: String,
    pub(crate) subject: Option<String>,
    #[serde(default)]
    pub(crate) risk: i64,
    pub(crate) decision: String,
    #[serde(default)]
    pub(crate) signers: Vec<Signer>,
    #[serde(default = "one")]
    pub(crate) quorum: u64,
    #[serde(default = "two")]
    pub(crate) autonomy: u64,
    pub(crate) per_hour: Option<u64>,
    pub(crate) per_day: Option<u64>,
    pub(crate) cents: Option<u64>,
}

fn one() -> u64 {
    1
}

fn two() -> u64 {
    2
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GovernanceFacts {
    pub(crate) level: Option<u64>,
    pub(crate) default_approval: Option<String>,
    pub(crate) policies: Vec<GovernedFacts>,
    pub(crate) escalate_to: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GovernedFacts {
    pub(crate) id: String,
    #[serde(rename = "ref")]
    pub(crate) reference: String,
    pub(crate) applies_to: Option<String>,
    pub(crate) severity: Option<String>,
}

/// A standing answer: for this very call, but for what is said to be different.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StandingFacts {
    pub(crate) actor: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) other_effects: bool,
}

impl Case {
    /// What the judges make of it.
    pub(crate) fn judge(&self) -> Expected {
        let now = self.now.as_deref().unwrap_or("2026-01-05T12:00:00Z").parse().unwrap();
        let plan = self.call.plan();
        let grant = self.call.action.clone().unwrap_or_else(|| format!("tool:{}", self.call.tool));
        let standing: Vec<_> = self.standing.iter().map(|facts| facts.standing(&plan)).collect();
        let circumstances = Circumstances {
            ip: self.call.ip,
            mfa_at: self.call.mfa_at,
            other: serde_json::json!({ "groups": self.call.groups }),
        };
        let matter = Matter {
            plan: &plan,
            targets: &self.targets(),
            grant: &grant,
            action: self.call.action.as_deref(),
            cost: if self.call.expensive { CostClass::Expensive } else { CostClass::Trivial },
            trusted: !self.call.untrusted,
            opinions: &self.opinions,
            standing: &standing,
            usage: &Usage {
                limits: self.limits.clone(),
                budgets: self.budgets.clone(),
                money: self.money.iter().map(SpendingFacts::spending).collect(),
            },
            circumstances: &circumstances,
        };
        let decision = decide(&self.rulebook(), &matter, now);
        assert_eq!(decision.decided_at, now);
        shown(&decision)
    }

    /// What the driver would tell.
    fn targets(&self) -> Targets {
        let path = |path: &String| match path.as_str() {
            "?" => PathTarget::Unresolved,
            path => PathTarget::Resolved(path.to_owned()),
        };
        Targets {
            paths: self.touches.paths.iter().map(path).collect(),
            urls: self.touches.urls.clone(),
            commands: self
                .touches
                .argv
                .iter()
                .map(|argv| CommandLine::of(argv, &|_| ProgramFile::Unknown))
                .collect(),
            ..Targets::default()
        }
    }

    fn rulebook(&self) -> Rulebook {
        Rulebook {
            policies: self.policies.iter().map(|facts| Arc::new(facts.policy())).collect(),
            policy_rules: self
                .policy_rules
                .iter()
                .map(|facts| CompiledPolicyRule::new(Arc::new(facts.rule())))
                .collect(),
            governance: self.governance.governance(),
            rules: self.rules.iter().map(CompiledRule::new).collect(),
            autonomy: Risk::new(self.autonomy).unwrap(),
            complete: !self.unread,
        }
    }
}

impl CallFacts {
    pub(crate) fn plan(&self) -> Plan {
        let id = ActorId::from(self.actor.as_str());
        let mut actor = Actor::from(id);
        actor.roles.extend(&self.roles);
        actor.speaking = self.speaking.as_deref().map(ActorId::from);
        Plan {
            actor: Arc::new(actor),
            tool: ToolKey::new(&self.tool, 1),
            version: "1.0.0".into(),
            route: Route {
                driver: DriverId::from("driver"),
                reason: "the only one",
                rejected: Vec::new(),
            },
            input: Value::Object(self.input.clone()).into(),
            renames: Arc::from([]),
            driver_state: Arc::from([]),
            context: Value::Null,
            effects: Arc::new(self.effects()),
            limits: CallLimits { timeout_ms: 1000, retry: None },
            digest: Digest::of(&self.tool),
        }
    }

    fn effects(&self) -> EffectProfile {
        let quiet = self.mutates.is_empty() && self.risk == 0 && !self.mutates_unstated;
        let class = |word: &String| EffectClass::parse(word).unwrap();
        let inferred = InferredFact {
            field: "class",
            value: String::new(),
            source: "`metadata.haft.class` is not stated".into(),
        };
        EffectProfile {
            mutates: self.mutates.iter().cloned().collect(),
            mutates_stated: !self.mutates_unstated,
            classes: self.classes.iter().map(class).collect::<BTreeSet<_>>(),
            risk: Risk::new(self.risk).unwrap(),
            requires: Requires::default(),
            approval: Approval::parse(&self.approval).unwrap(),
            facts: Facts {
                read_only: if quiet { Tri::Yes } else { Tri::No },
                destructive: Tri::Unknown,
                open_world: Tri::No,
                concurrency_safe: FactRule::Unstated,
            },
            inferred: self.class_inferred.then_some(inferred).into_iter().collect(),
        }
    }
}

impl PolicyFacts {
    fn policy(&self) -> Policy {
        Policy {
            id: self.id.clone(),
            default: if self.allow_by_default {
                DefaultDecision::Allow
            } else {
                DefaultDecision::Deny
            },
            grants: self.grants.iter().map(GrantFacts::grant).collect(),
            limits: self.limits.iter().map(LimitFacts::limit).collect(),
            requirements: self.requirements.iter().map(requirement).collect(),
        }
    }
}

impl GrantFacts {
    fn grant(&self) -> Grant {
        let action = |action: &String| haft_model::ActionGrant {
            action: action.clone(),
            scope: self.scope.as_deref().map(Glob::new),
        };
        Grant {
            principal: principal(&self.principal),
            actions: self.actions.iter().map(action).collect(),
            conditions: self.conditions.iter().map(condition).collect(),
            ttl_seconds: self.ttl_seconds,
            granted_at: self.granted_at.clone(),
            granted_by: None,
            revoked: self.revoked,
        }
    }
}

impl LimitFacts {
    fn limit(&self) -> Limit {
        Limit {
            kind: self.kind.clone(),
            value: self.value,
            scope: None,
            per: self.per.clone(),
            applies_to: self.applies_to.clone(),
        }
    }
}

fn principal(value: &Value) -> Principal {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let role = text("role");
    match (value.as_str(), text("ref"), text("name").zip(text("email"))) {
        (Some(scheme), ..) => Principal::Scheme(Glob::new(scheme)),
        (_, Some(to), _) => Principal::Reference { to: Glob::new(&to), role },
        (_, _, Some((name, email))) => Principal::Person { name, email, role },
        _ => panic!("no principal: {value}"),
    }
}

/// The kind, and everything beside it.
fn kind(fields: &Map<String, Value>) -> (String, Value) {
    let mut fields = fields.clone();
    let kind = fields.remove("kind").and_then(|kind| kind.as_str().map(str::to_owned));
    (kind.unwrap(), Value::Object(fields))
}

fn condition(fields: &Map<String, Value>) -> Condition {
    let (kind, parameters) = kind(fields);
    Condition { kind, parameters }
}

fn requirement(fields: &Map<String, Value>) -> Requirement {
    let (kind, mut parameters) = kind(fields);
    let applies_to = parameters.as_object_mut().unwrap().remove("applies_to");
    let applies_to = applies_to.map(|list| serde_json::from_value(list).unwrap());
    Requirement { kind, applies_to: applies_to.unwrap_or_default(), parameters }
}

impl PolicyRuleFacts {
    fn rule(&self) -> PolicyRule {
        PolicyRule {
            slug: self.slug.clone(),
            action: ActionPattern::new(&self.action),
            subject: self.subject.clone(),
            risk_level_min: Risk::new(self.risk).unwrap(),
            decision: match self.decision.as_str() {
                "allow" => RuleDecision::Allow,
                "require-approval" => RuleDecision::RequireApproval,
                "escalate" => RuleDecision::Escalate,
                "deny" => RuleDecision::Deny,
                other => panic!("no decision: {other}"),
            },
            signers: self.signers.clone(),
            quorum: self.quorum,
            autonomy: self.autonomy,
            budget: haft_model::Budget {
                max_per_hour: self.per_hour,
                max_per_day: self.per_day,
                max_amount_cents: self.cents,
                currency: None,
            },
        }
    }
}

impl SpendingFacts {
    fn spending(&self) -> Spending {
        Spending { slug: self.slug.clone(), spent: self.spent, cost: self.cost }
    }
}

impl GovernanceFacts {
    fn governance(&self) -> Governance {
        let policy = |facts: &GovernedFacts| haft_model::GovernedPolicy {
            id: facts.id.clone(),
            reference: facts.reference.clone(),
            applies_to: facts.applies_to.as_deref().map(ActionPattern::new),
            severity: facts.severity.clone().unwrap_or_else(|| "error".into()),
            parameters: Value::Null,
        };
        Governance {
            autonomy: haft_model::Autonomy {
                level: self.level,
                default_approval: self
                    .default_approval
                    .as_deref()
                    .map(|text| Approval::parse(text).unwrap()),
                escalation: None,
            },
            policies: self.policies.iter().map(|facts| (facts.id.clone(), policy(facts))).collect(),
            escalate_to: self.escalate_to.clone(),
            ..Governance::default()
        }
    }
}

impl StandingFacts {
    fn standing(&self, plan: &Plan) -> StandingAnswer {
        let or = |own: &Option<String>, other: &str| own.clone().unwrap_or_else(|| other.into());
        StandingAnswer {
            id: QuestionId::from("apr_1"),
            actor: ActorId::from(or(&self.actor, plan.actor.id.as_str()).as_str()),
            tenant: or(&self.tenant, &plan.actor.tenant),
            tool: or(&self.tool, &plan.tool.to_string()),
            effects: match self.other_effects {
                true => Digest::of(&"other effects"),
                false => plan.effects.fingerprint(),
            },
            by: ActorId::from("user:ana"),
            at: Timestamp::UNIX_EPOCH,
        }
    }
}

/// A decision in short lines.
fn shown(decision: &Decision) -> Expected {
    Expected {
        verdict: match decision.verdict {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        }
        .into(),
        code: decision.code.map(|code| code.to_string()),
        by: decision.settled_by().map(name),
        opinions: decision.opinions.iter().map(line).collect(),
        needs: decision.needs.iter().map(in_words).collect(),
        offers: decision.suggested_updates.iter().map(offer).collect(),
    }
}

fn name(opinion: &Opinion) -> String {
    match &opinion.rule {
        Some(rule) => format!("{} {rule}", opinion.layer),
        None => opinion.layer.to_string(),
    }
}

/// `layer says rule: reason`, and who answered it.
fn line(opinion: &Opinion) -> String {
    let firm = opinion.firmness.map(|firmness| format!(" {firmness}")).unwrap_or_default();
    let rule = opinion.rule.as_ref().map(|rule| format!(" {rule}")).unwrap_or_default();
    let answer = opinion.answered_by.as_ref().map(|by| format!(" [answered by {by}]"));
    let answer = answer.unwrap_or_default();
    format!("{} {}{firm}{rule}: {}{answer}", opinion.layer, opinion.says, opinion.reason)
}

fn in_words(needs: &Needs) -> String {
    let signers: Vec<String> = needs.signers.iter().map(|signer| format!("{signer:?}")).collect();
    let from = if signers.is_empty() { "anybody".into() } else { signers.join(" or ") };
    let apart = if needs.not_the_caller { ", not the caller" } else { "" };
    format!("{} from {from}{apart}", needs.count)
}

fn offer(offer: &Value) -> String {
    match &offer["rule"] {
        Value::Null => offer["type"].as_str().unwrap().into(),
        rule => format!("{} {rule}", offer["type"].as_str().unwrap()),
    }
}
