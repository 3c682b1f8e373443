//! Conditions: boolean expressions over the input or the output, such as `output.state == 'done'`.

use minijinja::{Environment, UndefinedBehavior};
use serde_json::Value;

use crate::NotationFault;

/// Step limit of an evaluation; a condition that needs more counts as failed.
const FUEL: u64 = 10_000;

/// A condition that is known to parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition(String);

impl Condition {
    /// Reads a condition that may look at these names and no others.
    pub fn parse(text: &str, names: &[&str]) -> Result<Condition, NotationFault> {
        let environment = environment();
        let expression = environment.compile_expression(text).map_err(|cause| {
            NotationFault::new(format!("the condition `{text}` does not parse: {cause}"))
        })?;
        let mut strangers: Vec<String> = expression
            .undeclared_variables(false)
            .into_iter()
            .filter(|name| !names.contains(&name.as_str()))
            .collect();
        strangers.sort();
        match strangers.first() {
            None => Ok(Condition(text.to_owned())),
            Some(stranger) => Err(NotationFault::new(format!(
                "the condition `{text}` looks at `{stranger}`, which does not exist here"
            ))
            .help(format!("it can look at {}", names.join(", ")))),
        }
    }

    /// The condition as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it holds. A condition that fails to evaluate is an answer of its own, never a yes.
    pub fn holds(&self, scope: &Value) -> Result<bool, NotationFault> {
        let environment = environment();
        let fault = |cause: minijinja::Error| {
            NotationFault::new(format!("the condition `{}` cannot be evaluated: {cause}", self.0))
        };
        let expression = environment.compile_expression(&self.0).map_err(fault)?;
        let value = expression.eval(minijinja::value::Serde(scope)).map_err(fault)?;
        Ok(value.is_true())
    }
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_says_yes_or_no() {
        let condition = Condition::parse("input.command in ['status', 'log']", &["input"]).unwrap();
        assert_eq!(condition.holds(&json!({"input": {"command": "log"}})), Ok(true));
        assert_eq!(condition.holds(&json!({"input": {"command": "push"}})), Ok(false));
    }

    #[test]
    fn condition_on_missing_name_is_error_not_false() {
        let condition = Condition::parse("output.state.deep == 'x'", &["output"]).unwrap();
        assert!(condition.holds(&json!({"output": {}})).is_err());
    }

    #[test]
    fn strangers_and_bad_syntax_are_refused_when_read() {
        assert!(Condition::parse("secrets.key == 'x'", &["input"]).is_err());
        assert!(Condition::parse("input.a ==", &["input"]).is_err());
    }
}
