//! Plans and permits for driver calls.

use std::sync::Arc;

use haft_model::{
    Actor, ActorId, CallLimits, Decision, Digest, EffectProfile, Facts, InvocationId, Plan, Risk,
    Route, Timestamp, ToolKey, Tri, Verdict,
};
use haft_policy::Permit;
use serde_json::{Value, json};

/// A plan for a call with a tool, a driver and an input, and defaults for the rest.
pub(crate) fn plan(tool: &str, driver: &str, input: Value) -> Plan {
    let digest = Digest::of(&(tool, &input));
    Plan {
        actor: Arc::new(Actor::from(ActorId::from("agent:test"))),
        tool: ToolKey::new(tool, 1),
        version: "1.0.0".into(),
        route: Route { driver: driver.into(), reason: "only one", rejected: Vec::new() },
        input: input.into(),
        renames: Arc::from([]),
        driver_state: Arc::from([]),
        context: json!({}),
        effects: Arc::new(unstated()),
        limits: CallLimits { timeout_ms: 30_000, retry: None },
        digest,
    }
}

fn unstated() -> EffectProfile {
    EffectProfile {
        mutates: Default::default(),
        mutates_stated: false,
        classes: Default::default(),
        risk: Risk::IRREVERSIBLE,
        requires: Default::default(),
        approval: Default::default(),
        facts: Facts {
            read_only: Tri::Unknown,
            destructive: Tri::Unknown,
            open_world: Tri::Unknown,
            concurrency_safe: Default::default(),
        },
        inferred: Vec::new(),
    }
}

/// The permit for a plan.
pub(crate) fn permit(plan: &Plan) -> Permit {
    let decision = Decision {
        verdict: Verdict::Allow,
        deciding: None,
        opinions: Vec::new(),
        needs: Vec::new(),
        code: None,
        suggested_updates: Vec::new(),
        decided_at: Timestamp::UNIX_EPOCH,
    };
    let id = InvocationId::from("inv_1");
    Permit::of_decision(&decision, plan, &id, Timestamp::UNIX_EPOCH).unwrap()
}
