//! Fuzz target for the languages inside a manifest: parsing and evaluating end in a value or a
//! fault.

use haft_notation::{Condition, Path, Schema, SearchPattern, Template};
use serde_json::{Value, json};

use crate::halves;

/// Reads the text before the first byte 0 in each language, and evaluates it over the JSON after it.
pub fn notation(data: &[u8]) {
    let (text, scope) = halves(data);
    let Ok(text) = std::str::from_utf8(text) else { return };
    let scope = serde_json::from_slice(scope).unwrap_or_else(|_| json!({"input": {"a": "b"}}));
    template(text, &scope);
    if let Ok(condition) = Condition::parse(text, &["input", "output"]) {
        let _ = condition.holds(&scope);
    }
    if let Ok(path) = Path::parse(text) {
        let _ = path.extract(&scope);
    }
    if let Ok(pattern) = SearchPattern::parse(text) {
        pattern.finds(&scope.to_string());
    }
    if let Ok(schema) = serde_json::from_str::<Value>(text)
        && let Ok(schema) = Schema::compile(&schema)
    {
        let fits = schema.fits(&scope);
        assert_eq!(fits, schema.violations(&scope).is_empty(), "both say whether a value fits");
    }
}

/// A template computes nothing: a text without a placeholder is itself, and a value that is filled in
/// stays one argument.
fn template(text: &str, scope: &Value) {
    let Ok(template) = Template::parse(text) else { return };
    let rendered = template.render(scope);
    if template.expressions().next().is_none() {
        assert_eq!(rendered.ok().as_deref(), Some(&Value::from(text)));
    }
    if let Ok(arguments) = template.arguments(scope) {
        assert!(arguments.len() <= 2, "one template is two arguments at most");
    }
}
