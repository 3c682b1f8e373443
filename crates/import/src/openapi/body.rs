//! OpenAPI request bodies: which media type is used, and which inputs make up the body.

use serde_json::{Map, Value};

use super::document::Document;
use super::parameter;
use crate::schema::Dialect;

/// The form in which a body is written, in the words of `metadata.haft.body`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyEncoding {
    Json,
    Urlencoded,
    Multipart,
    Text,
}

impl BodyEncoding {
    pub(super) fn name(self) -> &'static str {
        match self {
            BodyEncoding::Json => "json",
            BodyEncoding::Urlencoded => "form",
            BodyEncoding::Multipart => "multipart",
            BodyEncoding::Text => "text",
        }
    }
}

/// The body of an operation.
#[derive(Clone, Debug)]
pub(super) struct OperationBody<'d> {
    pub(super) media: &'d str,
    pub(super) form: BodyEncoding,
    pub(super) raw: Option<&'d Value>,
    pub(super) required: bool,
    pub(super) description: Option<&'d str>,
    /// How fields are written, where the document says so.
    pub(super) styles: Map<String, Value>,
}

/// The body that an operation takes, in the form that we write best.
pub(super) fn of<'d>(document: &Document<'d>, operation: &'d Value) -> Option<OperationBody<'d>> {
    let raw = document.resolved(operation.get("requestBody")?)?;
    let offered = raw.get("content").and_then(Value::as_object)?;
    let (media, content) = offered.iter().min_by_key(|(media, _)| preference(media))?;
    let form = form(media);
    Some(OperationBody {
        media,
        form,
        styles: styles(document, form, content),
        raw: content.get("schema"),
        required: raw.get("required").and_then(Value::as_bool) == Some(true),
        description: raw.get("description").and_then(Value::as_str),
    })
}

/// The styles that a document names for fields. OpenAPI 3.0 says to ignore them where the body is one
/// of parts; 3.1 does not.
fn styles(document: &Document<'_>, form: BodyEncoding, content: &Value) -> Map<String, Value> {
    let heeded = match form {
        BodyEncoding::Urlencoded => true,
        BodyEncoding::Multipart => document.dialect != Dialect::Old,
        BodyEncoding::Json | BodyEncoding::Text => false,
    };
    let encoding = content.get("encoding").and_then(Value::as_object).filter(|_| heeded);
    let named = encoding
        .into_iter()
        .flatten()
        .filter(|(_, how)| how.get("style").or_else(|| how.get("explode")).is_some());
    named.map(|(name, how)| (name.clone(), parameter::style(how))).collect()
}

/// The media type without its parameters.
fn bare(media: &str) -> &str {
    media.split(';').next().unwrap_or_default().trim()
}

/// Whether a media type is JSON.
pub(super) fn is_json(media: &str) -> bool {
    let media = bare(media);
    media == "application/json"
        || media.ends_with("+json")
        || media == "*/*"
        || media == "application/*"
}

/// Whether a media type has to be named because it is not the one that its form implies.
pub(super) fn is_special(media: &str, form: BodyEncoding) -> bool {
    let media = bare(media);
    match form {
        BodyEncoding::Json => media.ends_with("+json"),
        BodyEncoding::Text => media != "text/plain" && !media.contains('*'),
        BodyEncoding::Urlencoded | BodyEncoding::Multipart => false,
    }
}

fn form(media: &str) -> BodyEncoding {
    match bare(media) {
        media if is_json(media) => BodyEncoding::Json,
        "application/x-www-form-urlencoded" => BodyEncoding::Urlencoded,
        media if media.starts_with("multipart/") => BodyEncoding::Multipart,
        _ => BodyEncoding::Text,
    }
}

fn preference(media: &str) -> u8 {
    match (bare(media), form(media)) {
        ("application/json", _) => 0,
        (_, BodyEncoding::Json) => 1,
        (_, BodyEncoding::Urlencoded) => 2,
        (_, BodyEncoding::Multipart) => 3,
        (media, BodyEncoding::Text) if media.starts_with("text/") => 4,
        (_, BodyEncoding::Text) => 5,
    }
}

/// The fields of a schema that is an object and nothing else, and which of them it requires.
pub(super) fn fields(
    schema: &Value,
    definitions: &Map<String, Value>,
) -> Option<(Map<String, Value>, Vec<String>)> {
    let mut found = (Map::new(), Vec::new());
    gather(schema, definitions, 8, &mut found)?;
    // Some documents require a field and do not say what it is: it may be anything.
    for name in &found.1 {
        found.0.entry(name.as_str()).or_insert_with(|| Value::Object(Map::new()));
    }
    (!found.0.is_empty()).then_some(found)
}

fn gather(
    schema: &Value,
    definitions: &Map<String, Value>,
    depth: usize,
    found: &mut (Map<String, Value>, Vec<String>),
) -> Option<()> {
    const MORE_THAN_FIELDS: [&str; 9] = [
        "oneOf",
        "anyOf",
        "not",
        "if",
        "enum",
        "const",
        "patternProperties",
        "dependentSchemas",
        "minProperties",
    ];
    let fields = schema.as_object().filter(|_| depth > 0)?;
    if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
        let target = definitions.get(target.strip_prefix("#/$defs/")?)?;
        return gather(target, definitions, depth - 1, found);
    }
    let open = fields.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
    let other = fields.get("type").is_some_and(|kind| kind.as_str() != Some("object"));
    if open || other || MORE_THAN_FIELDS.iter().any(|word| fields.contains_key(*word)) {
        return None;
    }
    for part in fields.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        gather(part, definitions, depth - 1, found)?;
    }
    for (name, property) in
        fields.get("properties").and_then(Value::as_object).into_iter().flatten()
    {
        let before = found.0.insert(name.clone(), property.clone());
        // Two schemas of one field would both hold.
        before.is_none_or(|before| before == *property).then_some(())?;
    }
    let required = fields.get("required").and_then(Value::as_array).into_iter().flatten();
    found.1.extend(required.filter_map(Value::as_str).map(str::to_owned));
    Some(())
}
