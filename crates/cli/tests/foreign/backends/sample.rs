//! Sample inputs: a value that fits a foreign schema.

use serde_json::{Map, Value, json};

/// How deep a schema that leads back to itself is followed.
const DEEPEST: usize = 6;

/// A value that a schema allows, as far as examples, defaults, enums and types tell. Optional
/// fields are filled in on the first two levels.
pub(crate) fn of(root: &Value) -> Value {
    value(root, root, 0)
}

fn value(root: &Value, raw: &Value, depth: usize) -> Value {
    let schema = whole(root, raw, 0);
    let first = |word: &str| schema.get(word).and_then(|list| list.as_array()?.first());
    let shown = schema.get("const").or_else(|| schema.get("default"));
    if let Some(shown) = shown.or_else(|| first("examples")).or_else(|| first("enum")) {
        return shown.clone();
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|one| *one != "null")
        }
        kind => kind.and_then(Value::as_str),
    };
    let number = |word: &str| schema.get(word).and_then(Value::as_f64);
    match kind {
        Some("object") | None if schema.contains_key("properties") => fields(root, &schema, depth),
        Some("object") => json!({}),
        Some("array") if depth > DEEPEST => json!([]),
        Some("array") => {
            let item = value(root, schema.get("items").unwrap_or(&Value::Null), depth + 1);
            let least = number("minItems").unwrap_or(1.0).max(1.0);
            Value::Array(vec![item; least as usize])
        }
        Some("integer" | "number") => {
            let least = number("exclusiveMinimum").map(|below| below + 1.0).or(number("minimum"));
            json!(least.unwrap_or(1.0).max(1.0).min(number("maximum").unwrap_or(f64::MAX)) as i64)
        }
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        Some(_) | None => text(&schema),
    }
}

fn fields(root: &Value, schema: &Map<String, Value>, depth: usize) -> Value {
    let required = |name: &String| {
        let required = schema.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|one| one == name))
    };
    let all = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let given = all.filter(|(name, _)| depth <= DEEPEST && (depth < 2 || required(name)));
    given.map(|(name, raw)| (name.clone(), value(root, raw, depth + 1))).collect()
}

fn text(schema: &Map<String, Value>) -> Value {
    let text = match schema.get("format").and_then(Value::as_str).unwrap_or_default() {
        "date-time" => "2026-02-01T09:00:00Z",
        "date" => "2026-02-01",
        "time" => "09:00:00Z",
        "duration" => "PT1H",
        "uuid" => "efdbb9d1-02c2-4bc3-afb7-6788d8782b1e",
        "email" => "ana@shop.example",
        "uri" | "url" => "https://shop.example/a",
        "ipv4" => "127.0.0.1",
        "ipv6" => "::1",
        "hostname" => "shop.example",
        _ => "text",
    };
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or_default();
    json!(format!("{text:x<width$}", width = least as usize))
}

/// A schema with its references followed, all of its parts and the first of its choices in it.
fn whole(root: &Value, raw: &Value, depth: usize) -> Map<String, Value> {
    let mut schema = raw.as_object().cloned().unwrap_or_default();
    if depth > DEEPEST {
        return schema;
    }
    let target = schema.remove("$ref");
    let target =
        target.as_ref().and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    let mut parts: Vec<Value> =
        target.and_then(|at| root.pointer(at)).cloned().into_iter().collect();
    for (word, most) in [("allOf", usize::MAX), ("oneOf", 1), ("anyOf", 1)] {
        if let Some(Value::Array(list)) = schema.remove(word) {
            parts.extend(list.into_iter().take(most));
        }
    }
    for part in parts {
        for (word, said) in whole(root, &part, depth + 1) {
            match (schema.get_mut(&word), said) {
                (Some(Value::Object(ours)), Value::Object(theirs)) => ours.extend(theirs),
                (Some(Value::Array(ours)), Value::Array(theirs)) if word == "required" => {
                    ours.extend(theirs);
                }
                (Some(_), _) => {}
                (None, said) => {
                    schema.insert(word, said);
                }
            }
        }
    }
    schema
}
