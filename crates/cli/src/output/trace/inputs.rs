//! The four inputs of a call, and how each differs from the one before.

use std::collections::BTreeSet;

use anyhow::Result;
use haft::Host;
use haft_ledger::Story;
use haft_model::{Kept, Mutation, Stop, Timestamp};
use serde_json::{Map, Value, json};

use super::super::{line, visible};

/// What stands where a value is not shown.
const WITHHELD: &str = "[withheld]";

/// The longest value that is shown in full, in characters.
const LONGEST: usize = 200;

/// The four inputs as people may see them, in the order in which they came to be.
pub(crate) struct Inputs {
    all: Vec<(&'static str, Option<(Kept, Value)>)>,
}

/// Fetches the inputs of a call, without what its contract calls sensitive.
pub(crate) async fn inputs(host: &Host, story: &Story) -> Result<Inputs, Stop> {
    let kept = [
        ("model", &story.inputs.model),
        ("observable", &story.inputs.observable),
        ("permission", &story.inputs.permission),
        ("call", &story.inputs.call),
    ];
    let mut all = Vec::new();
    for (name, kept) in kept {
        let value = match kept {
            Some(kept) => Some((kept.clone(), shown(host, story, kept).await?)),
            None => None,
        };
        all.push((name, value));
    }
    Ok(Inputs { all })
}

async fn shown(host: &Host, story: &Story, kept: &Kept) -> Result<Value, Stop> {
    let Some(bytes) = host.reader().payload(&story.invocation_id, &kept.digest).await? else {
        return Ok(named_only(kept, "[forgotten]"));
    };
    let Ok(mut value) = serde_json::from_slice::<Value>(&bytes) else {
        return Ok(json!(format!("[{} bytes that are not JSON]", kept.size)));
    };
    let workspace = host.workspace();
    // Nobody knows what is sensitive in a call whose contract is not known.
    let Some(entry) = workspace.snapshot().find(&story.tool_id) else {
        return Ok(named_only(kept, WITHHELD));
    };
    for pointer in &entry.contract.tool.extras.sensitive {
        if let Some(found) = value.pointer_mut(pointer) {
            *found = json!(WITHHELD);
        }
    }
    Ok(value)
}

/// The names of the fields, and the values that the log itself holds.
fn named_only(kept: &Kept, stand_in: &str) -> Value {
    let mut fields: Map<String, Value> =
        kept.keys.iter().map(|key| (key.clone(), json!(stand_in))).collect();
    for (pointer, value) in &kept.shown {
        if let Some(field) = fields.get_mut(pointer.trim_start_matches('/')) {
            field.clone_from(value);
        }
    }
    Value::Object(fields)
}

impl Inputs {
    /// Prints the first in full and of the others what is different.
    pub(super) fn show(&self, mutations: &[(Timestamp, Mutation)]) -> Result<()> {
        let mut before: Option<&(Kept, Value)> = None;
        for (name, input) in &self.all {
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

    /// For machines: digest, size, names of fields and values as far as they may be seen.
    pub(super) fn json(&self) -> Value {
        let each = self.all.iter().map(|(name, input)| {
            let value = input.as_ref().map(|(kept, value)| {
                json!({ "digest": kept.digest, "size": kept.size, "keys": kept.keys, "value": value })
            });
            ((*name).to_owned(), value.unwrap_or_default())
        });
        Value::Object(each.collect())
    }
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

/// What is different between two inputs, field by field.
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
