//! Template rendering: one pass, no code, types kept where a placeholder stands alone.
//!
//! In a list of arguments each template is one argument, whatever its value holds, except that an
//! `optional` or a `flag` that stands alone is none to two.

use std::borrow::Cow;

use serde_json::Value;

use crate::NotationFault;
use crate::template::{Expression, Filter, Piece, Template};

/// The values that a template can refer to.
pub trait Scope {
    /// The value of a path's first name.
    fn root(&self, name: &str) -> Option<&Value>;
}

impl Scope for Value {
    fn root(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }
}

impl Template {
    /// The template with its placeholders filled in from a scope. A template that is one placeholder
    /// and nothing else yields the value as it is; others yield text.
    pub fn render<'a>(&self, scope: &'a dyn Scope) -> Result<Cow<'a, Value>, NotationFault> {
        if let [Piece::Expression(expression)] = self.pieces.as_slice() {
            return expression.value(scope);
        }
        self.text(scope).map(|text| Cow::Owned(Value::String(text)))
    }

    /// The template as text.
    pub fn text(&self, scope: &dyn Scope) -> Result<String, NotationFault> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Expression(expression) => text.push_str(&plain(&*expression.value(scope)?)),
            }
        }
        Ok(text)
    }

    /// The arguments that the template stands for in a command line.
    pub fn arguments(&self, scope: &dyn Scope) -> Result<Vec<Argument>, NotationFault> {
        if let [Piece::Expression(expression)] = self.pieces.as_slice()
            && let Some((last, before)) = expression.filters.split_last()
            && let Filter::Optional(flag) | Filter::Flag(flag) = last
        {
            let value = expression.filtered(scope, before)?;
            let flag = Argument { text: flag.clone(), given_by: None };
            return Ok(match (last, value) {
                (_, None) => Vec::new(),
                (Filter::Flag(_), Some(value)) if is_truthy(&value) => vec![flag],
                (Filter::Flag(_), Some(_)) => Vec::new(),
                (_, Some(value)) => {
                    let given_by = Some(expression.path.join("."));
                    vec![flag, Argument { text: plain(&value).into_owned(), given_by }]
                }
            });
        }
        let given_by = match self.pieces.first() {
            Some(Piece::Expression(expression)) => Some(expression.path.join(".")),
            Some(Piece::Literal(_)) | None => None,
        };
        Ok(vec![Argument { text: self.text(scope)?, given_by }])
    }
}

/// One argument of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The argument as the program gets it.
    pub text: String,
    /// The placeholder that it begins with, as in `input.path`, unless it begins with words of the
    /// author.
    pub given_by: Option<String>,
}

/// A value as a part of a text.
fn plain(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        value => Cow::Owned(value.to_string()),
    }
}

fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// A value with every text in it filled in as a template; keys and everything else stay.
pub fn fill(value: &Value, scope: &dyn Scope) -> Result<Value, NotationFault> {
    match value {
        Value::String(text) => Template::parse(text)?.render(scope).map(Cow::into_owned),
        Value::Array(items) => items.iter().map(|item| fill(item, scope)).collect(),
        Value::Object(fields) => {
            let filled = fields.iter().map(|(name, item)| Ok((name.clone(), fill(item, scope)?)));
            filled.collect::<Result<_, NotationFault>>().map(Value::Object)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
    }
}

impl Expression {
    /// Evaluates it in a scope.
    pub fn value<'a>(&self, scope: &'a dyn Scope) -> Result<Cow<'a, Value>, NotationFault> {
        self.filtered(scope, &self.filters)?.ok_or_else(|| {
            NotationFault::new(format!("`{}` has no value", self.path.join(".")))
                .help("give the input, or write `| default('…')`")
        })
    }

    /// The value after some filters, if there is one.
    fn filtered<'a>(
        &self,
        scope: &'a dyn Scope,
        filters: &[Filter],
    ) -> Result<Option<Cow<'a, Value>>, NotationFault> {
        let mut names = self.path.iter().skip(1);
        let root = scope.root(self.root());
        let found = root.and_then(|root| names.try_fold(root, |value, name| value.get(name)));
        let mut value = found.filter(|value| !value.is_null()).map(Cow::Borrowed);
        for filter in filters {
            value = match filter {
                Filter::Default(literal) => {
                    value.or_else(|| serde_json::from_str(literal).ok().map(Cow::Owned))
                }
                Filter::Json => value.map(|value| Cow::Owned(Value::String(value.to_string()))),
                Filter::Optional(flag) | Filter::Flag(flag) => {
                    return Err(NotationFault::new(format!(
                        "`{flag}` belongs into a list of arguments"
                    )));
                }
            };
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(template: &str, expected: Result<Value, &str>) {
        let scope = json!({"input": {"n": 3, "list": [1], "name": "ana", "none": null}});
        let template = Template::parse(template).unwrap();
        let found = template.render(&scope).map(Cow::into_owned);
        assert_eq!(found.map_err(|fault| fault.to_string()), expected.map_err(str::to_owned));
    }

    #[test]
    fn lone_placeholder_keeps_type_and_others_become_text() {
        check("${input.n}", Ok(json!(3)));
        check("${input.list}", Ok(json!([1])));
        check("order:${input.n}/${input.name}", Ok(json!("order:3/ana")));
        check("${input.list | json}", Ok(json!("[1]")));
    }

    #[test]
    fn template_is_one_argument_and_option_up_to_two() {
        let scope = json!({"input": {
            "n": 3, "list": ["a b", 1], "text": "; rm -rf /", "on": true, "off": false, "no": null,
        }});
        for (template, expected) in [
            ("log", "log"),
            ("${input.text}", "<; rm -rf />"),
            ("${input.list}", "<[\"a b\",1]>"),
            ("--max=${input.n}", "--max=3"),
            ("${input.n}..${input.text}", "<3..; rm -rf />"),
            ("${optional('--since', input.n)}", "--since <3>"),
            ("${optional('--since', input.no)}", ""),
            ("${optional('--since', input.gone)}", ""),
            ("${input.gone | default('x') | optional('--since')}", "--since <x>"),
            ("${input.on | flag('--draft')}", "--draft"),
            ("${flag('--draft', input.off)}", ""),
            ("${flag('--draft', input.gone)}", ""),
            ("${input.gone}", "`input.gone` has no value"),
            ("a${optional('--since', input.n)}", "`--since` belongs into a list of arguments"),
        ] {
            let found = match Template::parse(template).unwrap().arguments(&scope) {
                Ok(arguments) => {
                    let shown = arguments.into_iter().map(|argument| match argument.given_by {
                        Some(_) => format!("<{}>", argument.text),
                        None => argument.text,
                    });
                    shown.collect::<Vec<_>>().join(" ")
                }
                Err(fault) => fault.to_string(),
            };
            assert_eq!(found, expected, "{template}");
        }
    }

    #[test]
    fn missing_value_is_error_without_default() {
        check("${input.none | default('x')}", Ok(json!("x")));
        check("a${input.gone}", Err("`input.gone` has no value"));
    }
}
