//! Template context: the values that the templates of a manifest are rendered with.

use std::borrow::Cow;

use haft_model::{Code, Plan, Stop};
use haft_notation::{NotationFault, Scope};
use serde_json::Value;

/// The sources of a template: the input, the context, the secrets if there are any, and bare names
/// as the backend has them.
pub(crate) struct Sources<'a> {
    plan: &'a Plan,
    mapped: Cow<'a, Value>,
    secrets: Option<Value>,
}

impl<'a> Sources<'a> {
    pub(crate) fn of(plan: &'a Plan, secrets: Option<Value>) -> Sources<'a> {
        Sources { plan, mapped: plan.mapped(), secrets }
    }
}

impl Scope for Sources<'_> {
    fn root(&self, name: &str) -> Option<&Value> {
        match (name, &self.secrets) {
            ("input", _) => Some(&self.plan.input),
            ("context", _) => Some(&self.plan.context),
            ("secrets", Some(secrets)) => Some(secrets),
            (bare, _) => self.mapped.get(bare),
        }
    }
}

/// The refusal of an input that a template cannot be rendered with.
pub(crate) fn unfilled(fault: &NotationFault, field: &str) -> Stop {
    let stop = Stop::new(Code::InputValue, format!("`{field}` cannot be filled in: {fault}"));
    match &fault.help {
        Some(help) => stop.help(help.clone()),
        None => stop,
    }
}
