//! What the templates of a manifest are filled in with.

use haft_model::{Code, Plan, Stop};
use haft_notation::Fault;
use serde_json::Value;

/// What templates can look at: the input and the context, and bare names as the backend has them.
pub(crate) fn scope(plan: &Plan, mapped: &Value) -> Value {
    let mut scope = mapped.as_object().cloned().unwrap_or_default();
    scope.insert("input".to_owned(), plan.input.clone());
    scope.insert("context".to_owned(), plan.context.clone());
    Value::Object(scope)
}

/// The refusal of an input that a template cannot be filled in with.
pub(crate) fn unfilled(fault: &Fault, field: &str) -> Stop {
    let stop = Stop::new(Code::InputValue, format!("`{field}` cannot be filled in: {fault}"));
    match &fault.help {
        Some(help) => stop.help(help.clone()),
        None => stop,
    }
}
