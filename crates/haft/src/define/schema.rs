//! Schema generation: JSON Schema 2020-12 from Rust types, by way of schemars.

use haft_notation::keywords;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The formats that JSON Schema 2020-12 defines; others mean something to few.
const FORMATS: [&str; 19] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// The ranges behind the formats that schemars gives to numbers.
const RANGES: [(&str, i64, i64); 6] = [
    ("int8", i8::MIN as i64, i8::MAX as i64),
    ("int16", i16::MIN as i64, i16::MAX as i64),
    ("int32", i32::MIN as i64, i32::MAX as i64),
    ("uint8", 0, u8::MAX as i64),
    ("uint16", 0, u16::MAX as i64),
    ("uint32", 0, u32::MAX as i64),
];

/// Whether absent and null mean the same.
#[derive(Clone, Copy, PartialEq)]
enum Null {
    /// They do: no caller has to write an absent input as null.
    Absent,
    /// They do not: an output that is null is written as null.
    Itself,
}

/// The schema of what a type is read from.
pub(super) fn of_input<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    or_any_object(of::<T>(settings.into_generator(), Null::Absent))
}

/// The schema of what a type is written as.
pub(super) fn of_output<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    or_any_object(of::<T>(settings.into_generator(), Null::Itself))
}

/// The schema of a context; none for a type that takes anything.
pub(super) fn of_context<T: JsonSchema>() -> Option<Value> {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    Some(of::<T>(settings.into_generator(), Null::Absent)).filter(|schema| !takes_anything(schema))
}

fn of<T: JsonSchema>(generator: SchemaGenerator, null: Null) -> Value {
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    if let Some(fields) = schema.as_object_mut()
        && fields.get("title").and_then(Value::as_str) == Some(&*T::schema_name())
    {
        // The name of a Rust type tells a model nothing.
        fields.shift_remove("title");
    }
    tidy(&schema, null)
}

fn takes_anything(schema: &Value) -> bool {
    let says = |name: &String| !matches!(name.as_str(), "$schema" | "title" | "description");
    schema.as_object().is_none_or(|fields| !fields.keys().any(says))
}

fn or_any_object(schema: Value) -> Value {
    if takes_anything(&schema) { json!({ "type": "object" }) } else { schema }
}

fn tidy(schema: &Value, null: Null) -> Value {
    let Some(fields) = schema.as_object() else { return schema.clone() };
    let mut fields = keywords::rebuilt(fields, "", |_, below| tidy(below, null));
    plain_format(&mut fields);
    if null == Null::Absent {
        without_null(&mut fields);
    }
    Value::Object(fields)
}

/// Takes a format away that the standard does not have, and writes its range out.
fn plain_format(fields: &mut Map<String, Value>) {
    let Some(format) = fields.get("format").and_then(Value::as_str).map(str::to_owned) else {
        return;
    };
    if FORMATS.contains(&format.as_str()) {
        return;
    }
    fields.shift_remove("format");
    if let Some((_, least, most)) = RANGES.iter().find(|(name, ..)| *name == format) {
        fields.entry("minimum").or_insert_with(|| json!(least));
        fields.entry("maximum").or_insert_with(|| json!(most));
    }
}

/// Takes null away from properties that can be left out instead.
fn without_null(fields: &mut Map<String, Value>) {
    let required = fields.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (name, property) in properties {
        let optional = !required.iter().any(|other| other.as_str() == Some(name));
        if let (true, Some(property)) = (optional, property.as_object_mut()) {
            never_null(property);
        }
    }
}

fn never_null(property: &mut Map<String, Value>) {
    if property.get("default") == Some(&Value::Null) {
        property.shift_remove("default");
    }
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(options)) = property.get_mut("anyOf") else { return };
    options.retain(|option| option.get("type") != Some(&json!("null")));
    let [Value::Object(only)] = options.as_slice() else { return };
    let only = only.clone();
    if only.keys().all(|key| !property.contains_key(key)) {
        property.shift_remove("anyOf");
        property.extend(only);
    }
}
