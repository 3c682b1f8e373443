//! Filling a template in: one pass, no code, types kept where a placeholder stands alone.

use serde_json::Value;

use crate::Fault;
use crate::template::{Expression, Filter, Piece, Template};

impl Template {
    /// The template with its placeholders filled in from a scope. A template that is one placeholder
    /// and nothing else yields the value as it is; others yield text.
    pub fn render(&self, scope: &Value) -> Result<Value, Fault> {
        if let [Piece::Expression(expression)] = self.pieces.as_slice() {
            return expression.value(scope);
        }
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Expression(expression) => match expression.value(scope)? {
                    Value::String(value) => text.push_str(&value),
                    value => text.push_str(&value.to_string()),
                },
            }
        }
        Ok(Value::String(text))
    }
}

/// A value with every text in it filled in as a template; keys and everything else stay.
pub fn fill(value: &Value, scope: &Value) -> Result<Value, Fault> {
    match value {
        Value::String(text) => Template::parse(text)?.render(scope),
        Value::Array(items) => items.iter().map(|item| fill(item, scope)).collect(),
        Value::Object(fields) => {
            let filled = fields.iter().map(|(name, item)| Ok((name.clone(), fill(item, scope)?)));
            filled.collect::<Result<_, Fault>>().map(Value::Object)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
    }
}

impl Expression {
    /// What it finds in a scope.
    pub fn value(&self, scope: &Value) -> Result<Value, Fault> {
        let found = self.path.iter().try_fold(scope, |value, name| value.get(name));
        let mut value = found.filter(|value| !value.is_null()).cloned();
        for filter in &self.filters {
            value = match filter {
                Filter::Default(literal) => value.or_else(|| serde_json::from_str(literal).ok()),
                Filter::Json => value.map(|value| Value::String(value.to_string())),
                Filter::Optional(flag) | Filter::Flag(flag) => {
                    return Err(Fault::new(format!("`{flag}` belongs into a list of arguments")));
                }
            };
        }
        value.ok_or_else(|| {
            Fault::new(format!("`{}` has no value", self.path.join(".")))
                .help("give the input, or write `| default('…')`")
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(template: &str, expected: Result<Value, &str>) {
        let scope = json!({"input": {"n": 3, "list": [1], "name": "ana", "none": null}});
        let found = Template::parse(template).unwrap().render(&scope);
        assert_eq!(found.map_err(|fault| fault.to_string()), expected.map_err(str::to_owned));
    }

    #[test]
    fn a_lone_placeholder_keeps_its_type_and_others_become_text() {
        check("${input.n}", Ok(json!(3)));
        check("${input.list}", Ok(json!([1])));
        check("order:${input.n}/${input.name}", Ok(json!("order:3/ana")));
        check("${input.list | json}", Ok(json!("[1]")));
    }

    #[test]
    fn a_missing_value_is_a_fault_unless_a_default_stands_in() {
        check("${input.none | default('x')}", Ok(json!("x")));
        check("a${input.gone}", Err("`input.gone` has no value"));
    }
}
