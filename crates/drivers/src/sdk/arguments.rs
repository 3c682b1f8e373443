//! Function arguments: renders the inputs of a function and of its client.

use std::collections::BTreeSet;

use haft_model::{Code, Plan, Stop};
use haft_notation::{Template, fill};
use serde::Serialize;
use serde_json::{Map, Value};

use super::manifest::Function;
use crate::template_context::{Sources, unfilled};
use crate::web::MOST_BYTES;

/// The argument positions that AIP-33 defines.
const POSITIONS: [&str; 5] = ["_0", "_1", "_2", "_3", "_4"];

/// Arguments in the form that a worker receives.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Arguments {
    /// Positional arguments.
    List(Vec<Value>),
    /// One object, or keyword arguments in a language that has them.
    Object(Value),
}

/// The arguments of the function, and of the client that it belongs to.
pub(super) struct FunctionInputs {
    pub(super) args: Arguments,
    pub(super) client: Arguments,
}

impl FunctionInputs {
    /// Renders the arguments of a call with these secrets.
    pub(super) fn of(
        function: &Function,
        plan: &Plan,
        secrets: Map<String, Value>,
    ) -> Result<FunctionInputs, Stop> {
        let scope = Sources::of(plan, Some(Value::Object(secrets)));
        let filled = |template: &Value, field: &str| {
            fill(template, &scope).map(arranged).map_err(|fault| unfilled(&fault, field))
        };
        let args = match &function.args {
            Some(template) => filled(template, "args_template")?,
            None => Arguments::Object(plan.mapped().into_owned()),
        };
        let client = match &function.client {
            Some(template) => filled(template, "client_options")?,
            None => Arguments::List(Vec::new()),
        };
        let size = args.size();
        if size > MOST_BYTES {
            let words =
                format!("the arguments have {size} bytes, and {MOST_BYTES} can be handed over");
            return Err(Stop::new(Code::InputValue, words));
        }
        Ok(FunctionInputs { args, client })
    }
}

impl Arguments {
    fn size(&self) -> usize {
        match self {
            Arguments::List(list) => list.iter().map(|value| value.to_string().len()).sum(),
            Arguments::Object(object) => object.to_string().len(),
        }
    }
}

/// `_0`, `_1` … as positional arguments, and anything else as one object.
fn arranged(filled: Value) -> Arguments {
    match filled {
        Value::Object(mut fields) if fields.contains_key("_0") => {
            let positions = POSITIONS.iter().map_while(|position| fields.remove(*position));
            Arguments::List(positions.collect())
        }
        other => Arguments::Object(other),
    }
}

/// The secrets that the templates in a value name.
pub(super) fn secrets(value: &Value) -> BTreeSet<String> {
    match value {
        Value::String(text) => {
            let template = Template::parse(text).ok();
            let expressions = template.iter().flat_map(Template::expressions);
            let secret = expressions.filter(|expression| expression.root() == "secrets");
            secret.filter_map(|expression| Some(expression.field()?.to_owned())).collect()
        }
        Value::Array(items) => items.iter().flat_map(secrets).collect(),
        Value::Object(fields) => fields.values().flat_map(secrets).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn positions_become_a_list_and_everything_else_one_object() {
        let list = |values: &[Value]| Arguments::List(values.to_vec());
        assert_eq!(arranged(json!({"_1": 2, "_0": 1})), list(&[json!(1), json!(2)]));
        assert_eq!(arranged(json!({"_0": 1, "_2": 3})), list(&[json!(1)]));
        assert_eq!(arranged(json!({"a": 1})), Arguments::Object(json!({"a": 1})));
        assert_eq!(arranged(json!({})), Arguments::Object(json!({})));
    }

    #[test]
    fn secrets_are_found_at_every_depth() {
        let options =
            json!({"key": "${secrets.KEY}", "more": [{"b": "Bearer ${secrets.B}"}], "n": 1});
        assert_eq!(secrets(&options).into_iter().collect::<Vec<_>>(), ["B", "KEY"]);
    }
}
