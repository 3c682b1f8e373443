//! Plan fixture: plans of calls for drivers that are asked and never run.

use std::sync::Arc;

use haft_model::{
    Actor, ActorId, CallLimits, Digest, EffectProfile, Facts, Plan, Risk, Route, ToolKey, Tri,
};
use serde_json::{Value, json};

/// A plan that says nothing but the tool and its input.
pub(crate) fn plan(tool: &str, input: Value) -> Plan {
    let effects = EffectProfile {
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
    };
    Plan {
        actor: Arc::new(Actor::from(ActorId::from("agent:fuzz"))),
        tool: ToolKey::new(tool, 1),
        version: "1.0.0".into(),
        route: Route { driver: "demo".into(), reason: "only one", rejected: Vec::new() },
        digest: Digest::of(&(tool, &input)),
        input: input.into(),
        renames: Arc::from([]),
        driver_state: Arc::from([]),
        context: json!({}),
        effects: Arc::new(effects),
        limits: CallLimits { timeout_ms: 30_000, retry: None },
    }
}
