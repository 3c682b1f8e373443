//! Swagger payloads: converts the body parameters and schemas of 2.0 to the media types of 3.0.

use serde_json::{Map, Value, json};

use super::{described, object, place, schema};

/// The body that some of the parameters make together, if any do.
pub(super) fn body(parameters: &[&Value], consumes: &[&str]) -> Option<Value> {
    if let Some(whole) = parameters.iter().find(|raw| place(raw) == "body") {
        let content = schema(whole.get("schema").unwrap_or(&Value::Null));
        let media = if consumes.is_empty() { &["application/json"] } else { consumes };
        let about = whole.get("description").and_then(Value::as_str).unwrap_or_default();
        return Some(json!({
            "description": about,
            "required": is_required(whole),
            "content": by_media(media, &json!({ "schema": content })),
        }));
    }
    let fields: Vec<&&Value> = parameters.iter().filter(|raw| place(raw) == "formData").collect();
    let named = |raw: &&&Value| Some((raw.get("name")?.as_str()?.to_owned(), field(raw)));
    let properties: Map<String, Value> = fields.iter().filter_map(named).collect();
    if properties.is_empty() {
        return None;
    }
    let required: Vec<&Value> =
        fields.iter().filter(|raw| is_required(raw)).filter_map(|raw| raw.get("name")).collect();
    let has_file = fields.iter().any(|raw| raw.get("type") == Some(&json!("file")));
    let media = match has_file || consumes.contains(&"multipart/form-data") {
        true => "multipart/form-data",
        false => "application/x-www-form-urlencoded",
    };
    let mut whole = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        put(&mut whole, "required", json!(required));
    }
    let content = by_media(&[media], &json!({ "schema": whole }));
    Some(json!({ "required": !required.is_empty(), "content": content }))
}

/// A field of a form.
fn field(raw: &Value) -> Value {
    let mut field = described(raw);
    if let Some(about) = raw.get("description") {
        put(&mut field, "description", about.clone());
    }
    field
}

/// An answer, with what it holds under each media type.
pub(super) fn answer(raw: &Value, produces: &[&str]) -> Value {
    if crate::schema::reference(raw).is_some() {
        return raw.clone();
    }
    let mut new = Map::new();
    let about = raw.get("description").cloned().unwrap_or_else(|| json!(""));
    new.insert("description".to_owned(), about);
    let headers = object(raw.get("headers"));
    let headers: Map<String, Value> =
        headers.map(|(name, raw)| (name.clone(), json!({ "schema": described(raw) }))).collect();
    if !headers.is_empty() {
        new.insert("headers".to_owned(), Value::Object(headers));
    }
    let mut content = Map::new();
    if let Some(held) = raw.get("schema") {
        let media = if produces.is_empty() { &["application/json"] } else { produces };
        content = by_media(media, &json!({ "schema": schema(held) }));
    }
    for (media, example) in object(raw.get("examples")) {
        let held = content.entry(media.clone()).or_insert_with(|| json!({}));
        put(held, "example", example.clone());
    }
    if !content.is_empty() {
        new.insert("content".to_owned(), Value::Object(content));
    }
    Value::Object(new)
}

fn by_media(media: &[&str], held: &Value) -> Map<String, Value> {
    media.iter().map(|&media| (media.to_owned(), held.clone())).collect()
}

fn is_required(raw: &Value) -> bool {
    raw.get("required").and_then(Value::as_bool) == Some(true)
}

/// Adds a field to an object.
fn put(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(name.to_owned(), value);
    }
}
