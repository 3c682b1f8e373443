//! An input that a person rewrites, with the values that they may not see put back.

use std::io::Write as _;
use std::process::Command;

use haft::Host;
use haft_model::{Code, Question, Stop};
use serde_json::Value;

/// What stands where a value is not shown.
const WITHHELD: &str = "[withheld]";

/// The program that the person edits texts with.
pub(super) fn editor() -> Option<String> {
    let named = ["VISUAL", "EDITOR"].iter().filter_map(|name| std::env::var(name).ok());
    let mut named = named.filter(|program| !program.trim().is_empty());
    named.next()
}

/// A text after the person edited it.
pub(super) fn in_editor(editor: &str, text: &str) -> Result<String, String> {
    let failed = |fault: std::io::Error| format!("`{editor}` cannot be used: {fault}");
    let mut file = tempfile::Builder::new().suffix(".json").tempfile().map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let status = Command::new(program).args(words).arg(file.path()).status().map_err(failed)?;
    if !status.success() {
        return Err(format!("`{editor}` gave up, so nothing was changed"));
    }
    std::fs::read_to_string(file.path()).map_err(failed)
}

/// An edited input in which what was withheld from the person is as it was.
pub(crate) async fn restored(
    host: &Host,
    question: &Question,
    mut edited: Value,
) -> Result<Value, Stop> {
    if !holds_withheld(&edited) {
        return Ok(edited);
    }
    let bound = &question.bound;
    let kept = host.reader().payload(&bound.invocation, &bound.call_input).await?;
    let original: Option<Value> = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    put_back(&mut edited, &question.shown_input, original.as_ref());
    match holds_withheld(&edited) {
        false => Ok(edited),
        true => Err(Stop::new(
            Code::InputValue,
            format!("`{WITHHELD}` stands where no value was withheld"),
        )
        .help("write the value itself, or leave the field as it was shown")),
    }
}

fn holds_withheld(value: &Value) -> bool {
    match value {
        Value::String(text) => text == WITHHELD,
        Value::Array(items) => items.iter().any(holds_withheld),
        Value::Object(fields) => fields.values().any(holds_withheld),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn put_back(edited: &mut Value, shown: &Value, original: Option<&Value>) {
    let Some(original) = original else { return };
    match (edited, shown) {
        (Value::Object(edited), Value::Object(shown)) => {
            for (name, value) in edited {
                if let Some(shown) = shown.get(name) {
                    put_back(value, shown, original.get(name));
                }
            }
        }
        (Value::Array(edited), Value::Array(shown)) => {
            for (index, (value, shown)) in edited.iter_mut().zip(shown).enumerate() {
                put_back(value, shown, original.get(index));
            }
        }
        (edited, shown) if *edited == *shown && *edited == WITHHELD => *edited = original.clone(),
        (_, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_withheld_comes_back_only_where_it_stood() {
        let original = json!({"card": {"number": "4111"}, "amount": 5, "keys": ["a", "b"]});
        let shown = json!({"card": WITHHELD, "amount": 5, "keys": [WITHHELD, "b"]});
        let mut edited = json!({"card": WITHHELD, "amount": WITHHELD, "keys": [WITHHELD, "c"]});
        put_back(&mut edited, &shown, Some(&original));
        assert_eq!(
            edited,
            json!({"card": {"number": "4111"}, "amount": WITHHELD, "keys": ["a", "c"]})
        );
        assert!(holds_withheld(&edited));
    }

    #[test]
    fn an_editor_that_gives_up_changes_nothing() {
        assert_eq!(in_editor("true", "{}"), Ok("{}".to_owned()));
        assert!(in_editor("false", "{}").is_err());
    }
}
