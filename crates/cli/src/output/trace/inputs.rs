//! Input stages: the four inputs of a call, and how each differs from the one before.

use std::collections::BTreeSet;

use anyhow::Result;
use haft_model::{Mutation, PayloadRef, Timestamp};
use haft_runtime::ShownInputs;
use serde_json::Value;

use super::super::{line, visible};

/// The longest value that is shown in full, in characters.
const LONGEST: usize = 200;

/// Prints the first in full and of the others what is different.
pub(super) fn show(inputs: &ShownInputs, mutations: &[(Timestamp, Mutation)]) -> Result<()> {
    let mut before: Option<&(PayloadRef, Value)> = None;
    for (name, input) in &inputs.0 {
        match (before, input) {
            (_, None) => line(format!("  {name:<11} the call did not get that far"))?,
            (None, Some((_, value))) => line(format!("  {name:<11} {}", short(value)))?,
            (Some((_, old)), Some((kept, value))) => {
                let why = mutations.iter().rev().find(|(_, one)| one.to.digest == kept.digest);
                different(name, old, value, why.map(|(_, mutation)| mutation))?;
            }
        }
        before = input.as_ref().or(before);
    }
    Ok(())
}

fn different(name: &str, old: &Value, new: &Value, why: Option<&Mutation>) -> Result<()> {
    let changes = changes(old, new);
    if changes.is_empty() {
        return line(format!("  {name:<11} the same"));
    }
    let why = why.map(|why| format!("\x1b[2m{}: {}\x1b[0m", why.by, why.reason));
    line(format!("  {name:<11} {}", why.unwrap_or_else(|| "changed".to_owned())))?;
    for change in changes {
        line(format!("  {:<11} {change}", ""))?;
    }
    Ok(())
}

/// The differences between two inputs, field by field.
fn changes(old: &Value, new: &Value) -> Vec<String> {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return match old == new {
            true => Vec::new(),
            false => vec![format!("~ {} → {}", short(old), short(new))],
        };
    };
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let change = |name: &String| match (old.get(name), new.get(name)) {
        (Some(old), Some(new)) if old == new => None,
        (Some(old), Some(new)) => {
            Some(format!("\x1b[33m~\x1b[0m {name}: {} → {}", short(old), short(new)))
        }
        (Some(old), None) => Some(format!("\x1b[31m-\x1b[0m {name}: {}", short(old))),
        (None, Some(new)) => Some(format!("\x1b[32m+\x1b[0m {name}: {}", short(new))),
        (None, None) => None,
    };
    names.into_iter().filter_map(change).collect()
}

fn short(value: &Value) -> String {
    let text = visible(&value.to_string());
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_is_told_field_by_field() {
        let old = json!({"same": 1, "gone": true, "changed": "a"});
        let new = json!({"same": 1, "changed": "b", "new": [2]});
        let told: Vec<String> = changes(&old, &new)
            .iter()
            .map(|change| change.replace(['\x1b'], "").replace("[0m", ""))
            .collect();
        assert_eq!(told, ["[33m~ changed: \"a\" → \"b\"", "[31m- gone: true", "[32m+ new: [2]"]);
    }
}
