//! Gemini export: function declarations.
//!
//! Published: a name of at most 64 letters, digits, `_`, `-` (and more in places), beginning with a
//! letter or `_`; names of inputs of at most 64 letters, digits and `_`, beginning likewise; a subset of
//! OpenAPI 3.0's schemas with one type each, `nullable`, no references and no `additionalProperties`;
//! `enum` for text only; nothing may stand beside `anyOf`.

use serde_json::{Map, Value as Json, json};

use super::Offer;
use super::inline::inlined;
use super::loss::Losses;
use super::type_keyword::{alternatives, kinds, values_of};
use super::{root, shown};
use haft_notation::keywords::below;

/// Declares one function; `None` where the format cannot carry it.
pub(super) fn declare(offer: &Offer<'_>, name: &str, losses: &mut Losses) -> Option<Json> {
    let description = &offer.contract.tool.description;
    let mut function = json!({ "name": name, "description": &**description });
    let parameters = narrowed(&shown::inputs(offer.contract), losses)?;
    losses.add("/outputs", "there is no place for what comes out");
    // An object without properties is refused; a function without inputs has no `parameters`.
    if parameters.get("properties").is_some()
        && let Json::Object(function) = &mut function
    {
        function.insert("parameters".to_owned(), parameters);
    }
    Some(function)
}

/// A schema that Gemini takes; nothing where a required input has a name it refuses.
pub(super) fn narrowed(schema: &Json, losses: &mut Losses) -> Option<Json> {
    let whole = inlined(schema, losses).as_object().cloned().unwrap_or_default();
    let whole = root::object(whole, &["enum", "const"], losses);
    let whole = root::with_names(whole, takes_input, losses)?;
    Some(typed(&whole, "object", "/inputs", losses))
}

fn takes_input(name: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.len() <= 64
        && name.starts_with(first)
        && name.chars().all(|c| first(c) || c.is_ascii_digit())
}

fn node(schema: &Json, at: &str, losses: &mut Losses) -> Json {
    let Json::Object(fields) = schema else { return anything(at, losses) };
    let (rest, choices) = alternatives(fields, at, losses);
    if let Some(choices) = choices {
        let nullable =
            choices.iter().any(|choice| *choice == json!({"type": "null"}) || is_null(choice));
        let shown = choices.iter().filter(|choice| !is_null(choice));
        let shown = shown.map(|choice| node(choice, at, losses)).collect();
        return one_of(shown, nullable);
    }
    let kinds = kinds(&rest);
    if kinds.types.is_empty() {
        return described(anything(at, losses), &rest);
    }
    let shown = kinds.types.iter().map(|kind| typed(&rest, kind, at, losses)).collect();
    one_of(shown, kinds.nullable)
}

fn is_null(schema: &Json) -> bool {
    schema.as_object().is_some_and(|fields| {
        let kinds = kinds(fields);
        kinds.nullable && kinds.types.is_empty()
    })
}

/// One schema, or the choice between several; `nullable` goes inside, since nothing may stand beside.
fn one_of(schemas: Vec<Json>, nullable: bool) -> Json {
    let mut flat = Vec::new();
    for schema in schemas {
        match schema.get("anyOf") {
            Some(Json::Array(inner)) => flat.extend(inner.iter().cloned()),
            Some(_) | None => flat.push(schema),
        }
    }
    flat.dedup();
    if nullable {
        for fields in flat.iter_mut().filter_map(Json::as_object_mut) {
            fields.insert("nullable".to_owned(), json!(true));
        }
    }
    match flat.len() {
        0 => json!({ "type": "STRING", "nullable": true }),
        1 => flat.remove(0),
        _ => json!({ "anyOf": flat }),
    }
}

/// There is no schema for any value at all.
fn anything(at: &str, losses: &mut Losses) -> Json {
    losses.add(at, "any value fits; only text, numbers and truth values are shown");
    json!({ "anyOf": [{ "type": "STRING" }, { "type": "NUMBER" }, { "type": "BOOLEAN" }] })
}

fn described(mut schema: Json, fields: &Map<String, Json>) -> Json {
    if let (Some(text), Some(Json::Array(choices))) =
        (fields.get("description"), schema.get_mut("anyOf"))
    {
        for choice in choices.iter_mut().filter_map(Json::as_object_mut) {
            choice.insert("description".to_owned(), text.clone());
        }
    }
    schema
}

/// The schema of one type, with the keywords that survive.
fn typed(fields: &Map<String, Json>, kind: &str, at: &str, losses: &mut Losses) -> Json {
    let mut shown = Map::from_iter([("type".to_owned(), json!(kind.to_uppercase()))]);
    let mut listed = None;
    for (key, value) in fields {
        match key.as_str() {
            "title" | "description" if value.is_string() => {
                shown.insert(key.clone(), value.clone());
            }
            "type" | "required" | "nullable" => {}
            "additionalProperties" if *value == json!(false) => {}
            "enum" | "const" => listed = values_of(fields, kind),
            "properties" if kind == "object" => {
                shown.extend(properties(fields, value, &below(at, key), losses));
            }
            "items" if kind == "array" => {
                shown.insert(key.clone(), node(value, &below(at, key), losses));
            }
            _ if survives(kind, key, value) => {
                shown.insert(key.clone(), value.clone());
            }
            _ if belongs(kind, key) => {
                losses.add(below(at, key), format!("`{key}` is not taken"));
            }
            _ => {}
        }
    }
    if kind == "array" && !shown.contains_key("items") {
        shown.insert("items".to_owned(), anything(&below(at, "items"), losses));
    }
    if let Some(values) = listed {
        enumerate(&mut shown, values, kind, at, losses);
    }
    if kind == "object" && !shown.contains_key("properties") && at != "/inputs" {
        losses.add(at, "an open object is shown without its properties");
    }
    Json::Object(shown)
}

fn properties(
    fields: &Map<String, Json>,
    properties: &Json,
    at: &str,
    losses: &mut Losses,
) -> Map<String, Json> {
    let each =
        |(name, schema): (&String, &Json)| (name.clone(), node(schema, &below(at, name), losses));
    let named: Map<String, Json> = properties.as_object().into_iter().flatten().map(each).collect();
    let required = fields.get("required").and_then(Json::as_array).into_iter().flatten();
    let known = |name: &&Json| name.as_str().is_some_and(|name| named.contains_key(name));
    let required: Vec<Json> = required.filter(known).cloned().collect();
    let mut shown = Map::new();
    if !required.is_empty() {
        shown.insert("required".to_owned(), Json::Array(required));
    }
    if !named.is_empty() {
        shown.insert("properties".to_owned(), Json::Object(named));
    }
    shown
}

/// Lists the values: as `enum` where they are text, otherwise in words.
fn enumerate(
    shown: &mut Map<String, Json>,
    values: Vec<Json>,
    kind: &str,
    at: &str,
    losses: &mut Losses,
) {
    if kind == "string" {
        let filled: Vec<Json> =
            values.iter().filter(|value| **value != json!("")).cloned().collect();
        if filled.len() < values.len() {
            losses.add(below(at, "enum"), "an empty text is not taken as a value");
        }
        if !filled.is_empty() {
            shown.insert("format".to_owned(), json!("enum"));
            shown.insert("enum".to_owned(), Json::Array(filled));
        }
        return;
    }
    losses.add(below(at, "enum"), "only texts can be listed; the values stand in the description");
    let words: Vec<String> = values.iter().map(Json::to_string).collect();
    let words = format!("One of: {}", words.join(", "));
    let description = match shown.get("description").and_then(Json::as_str) {
        Some(text) => format!("{text}\n{words}"),
        None => words,
    };
    shown.insert("description".to_owned(), json!(description));
}

fn survives(kind: &str, key: &str, value: &Json) -> bool {
    match (kind, key) {
        ("string", "pattern") => true,
        ("string", "minLength" | "maxLength") => value.is_u64(),
        ("string", "format") => *value == json!("date-time"),
        ("number" | "integer", "minimum" | "maximum") => true,
        ("number", "format") => ["float", "double"].iter().any(|known| value == known),
        ("integer", "format") => ["int32", "int64"].iter().any(|known| value == known),
        ("array", "minItems" | "maxItems") => value.is_u64(),
        ("object", "minProperties" | "maxProperties") => value.is_u64(),
        _ => false,
    }
}

/// Whether a keyword says something of a type, so that losing it is a loss.
fn belongs(kind: &str, key: &str) -> bool {
    let only_for = match key {
        "pattern" | "minLength" | "maxLength" => "string",
        "minItems" | "maxItems" | "items" => "array",
        "properties" | "minProperties" | "maxProperties" => "object",
        _ => kind,
    };
    only_for == kind
}
