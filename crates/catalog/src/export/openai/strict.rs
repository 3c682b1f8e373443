//! Strict mode: every object closed, every property required, what is optional nullable.
//!
//! Published: at most 5000 properties, 10 levels, 1000 listed values and 120000 characters of names and
//! values; a list of more than 250 texts has at most 15000 characters.

use serde_json::{Map, Value as Json, json};

use super::super::loss::Losses;
use super::super::type_keyword::{alternatives, kinds, values_of};
use haft_notation::keywords::below;

const MOST_PROPERTIES: usize = 5000;
const MOST_LEVELS: usize = 10;
const MOST_VALUES: usize = 1000;
const MOST_CHARACTERS: usize = 120_000;
const LONG_LIST: usize = 250;
const MOST_CHARACTERS_OF_LONG_LIST: usize = 15_000;

/// The formats that strict mode enforces.
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Why a schema cannot be strict.
pub(super) struct NotStrict {
    /// JSON pointer to the part that strict mode cannot express.
    pub(super) at: String,
    /// The reason, as a degradation states it.
    pub(super) why: String,
}

/// The schema for strict mode. What only narrows values may be lost; what a call could no longer
/// say may not, and then there is no such schema.
pub(super) fn narrowed(root: &Map<String, Json>, losses: &mut Losses) -> Result<Json, NotStrict> {
    let mut strict = Strict { losses, properties: 0, values: 0, characters: 0 };
    let schema = strict.object(root, "/inputs", 0)?;
    let over = [
        (strict.properties > MOST_PROPERTIES, "it has too many properties"),
        (strict.values > MOST_VALUES, "it lists too many values"),
        (strict.characters > MOST_CHARACTERS, "its names and values are too long"),
    ];
    match over.into_iter().find(|(over, _)| *over) {
        Some((_, why)) => Err(refused("/inputs", why)),
        None => Ok(Json::Object(schema)),
    }
}

fn refused(at: &str, why: &str) -> NotStrict {
    NotStrict { at: at.to_owned(), why: why.to_owned() }
}

struct Strict<'l> {
    losses: &'l mut Losses,
    properties: usize,
    values: usize,
    characters: usize,
}

impl Strict<'_> {
    fn node(&mut self, schema: &Json, at: &str, level: usize) -> Result<Json, NotStrict> {
        let Json::Object(fields) = schema else {
            return Err(refused(at, "nothing says what it is"));
        };
        let (rest, choices) = alternatives(fields, at, self.losses);
        if let Some(choices) = choices {
            let each = choices.iter().map(|choice| self.node(choice, at, level));
            return Ok(one_of(each.collect::<Result<_, _>>()?, false));
        }
        let kinds = kinds(&rest);
        if kinds.types.is_empty() && !kinds.nullable {
            return Err(refused(at, "nothing says what type it has"));
        }
        let each = kinds.types.iter().map(|kind| self.typed(&rest, kind, at, level));
        Ok(one_of(each.collect::<Result<_, _>>()?, kinds.nullable))
    }

    fn typed(
        &mut self,
        fields: &Map<String, Json>,
        kind: &str,
        at: &str,
        level: usize,
    ) -> Result<Json, NotStrict> {
        let mut shown = match kind {
            "object" => self.object(fields, at, level + 1)?,
            "array" => self.array(fields, at, level + 1)?,
            scalar => Map::from_iter([("type".to_owned(), json!(scalar))]),
        };
        self.carry(fields, kind, at, &mut shown);
        if let Some(values) = values_of(fields, kind) {
            if values.iter().any(|value| value.is_object() || value.is_array()) {
                return Err(refused(&below(at, "enum"), "it lists objects or arrays"));
            }
            self.count_values(&values, at)?;
            shown.insert("enum".to_owned(), Json::Array(values));
        }
        Ok(Json::Object(shown))
    }

    fn count_values(&mut self, values: &[Json], at: &str) -> Result<(), NotStrict> {
        let characters: usize =
            values.iter().filter_map(Json::as_str).map(|text| text.chars().count()).sum();
        if values.len() > LONG_LIST && characters > MOST_CHARACTERS_OF_LONG_LIST {
            return Err(refused(&below(at, "enum"), "the list is too long"));
        }
        self.values += values.len();
        self.characters += characters;
        Ok(())
    }

    fn object(
        &mut self,
        fields: &Map<String, Json>,
        at: &str,
        level: usize,
    ) -> Result<Map<String, Json>, NotStrict> {
        let closed = fields.get("additionalProperties") == Some(&json!(false));
        let open = fields.get("additionalProperties").is_some() && !closed;
        let properties = fields.get("properties").and_then(Json::as_object);
        let empty = properties.is_none_or(Map::is_empty);
        if open || fields.contains_key("patternProperties") || (empty && !closed && level > 0) {
            return Err(refused(at, "the object takes names that are not listed"));
        }
        if level >= MOST_LEVELS {
            return Err(refused(at, "it is nested too deeply"));
        }
        let required = fields.get("required").and_then(Json::as_array);
        let mut shown = Map::new();
        for (name, schema) in properties.into_iter().flatten() {
            let here = below(&below(at, "properties"), name);
            self.properties += 1;
            self.characters += name.chars().count();
            let mut property = self.node(schema, &here, level)?;
            if !required.is_some_and(|names| names.iter().any(|one| one == name)) {
                self.losses.add(here, "optional; shown as required, with null for absent");
                property = one_of(vec![property], true);
            }
            shown.insert(name.clone(), property);
        }
        let names: Vec<&String> = shown.keys().collect();
        let mut object = Map::from_iter([
            ("type".to_owned(), json!("object")),
            ("required".to_owned(), json!(names)),
            ("additionalProperties".to_owned(), json!(false)),
        ]);
        object.insert("properties".to_owned(), Json::Object(shown));
        if level == 0 {
            self.carry(fields, "object", at, &mut object);
        }
        Ok(object)
    }

    fn array(
        &mut self,
        fields: &Map<String, Json>,
        at: &str,
        level: usize,
    ) -> Result<Map<String, Json>, NotStrict> {
        if fields.contains_key("prefixItems") {
            return Err(refused(&below(at, "prefixItems"), "each item has its own schema"));
        }
        let Some(items) = fields.get("items") else {
            return Err(refused(at, "any item fits"));
        };
        let items = self.node(items, &below(at, "items"), level)?;
        Ok(Map::from_iter([("type".to_owned(), json!("array")), ("items".to_owned(), items)]))
    }

    /// Takes over the keywords that strict mode knows.
    fn carry(
        &mut self,
        fields: &Map<String, Json>,
        kind: &str,
        at: &str,
        shown: &mut Map<String, Json>,
    ) {
        for (key, value) in fields {
            if survives(kind, key, value) {
                shown.insert(key.clone(), value.clone());
            } else if is_lost(kind, key) {
                self.losses.add(below(at, key), format!("`{key}` is not taken in strict mode"));
            }
        }
    }
}

fn survives(kind: &str, key: &str, value: &Json) -> bool {
    match (kind, key) {
        (_, "title" | "description") | ("string", "pattern") => value.is_string(),
        ("string", "format") => FORMATS.iter().any(|format| value == format),
        (
            "number" | "integer",
            "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum",
        ) => true,
        ("array", "minItems" | "maxItems") => true,
        _ => false,
    }
}

/// Whether a keyword that does not survive was worth something for this type.
fn is_lost(kind: &str, key: &str) -> bool {
    match key {
        "type"
        | "enum"
        | "const"
        | "properties"
        | "required"
        | "additionalProperties"
        | "items" => false,
        "pattern" | "minLength" | "maxLength" => kind == "string",
        "minItems" | "maxItems" | "uniqueItems" => kind == "array",
        "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            kind == "number" || kind == "integer"
        }
        _ => true,
    }
}

/// One schema, or the choice between several, with `null` where it fits too.
fn one_of(schemas: Vec<Json>, nullable: bool) -> Json {
    let mut flat = Vec::new();
    for schema in schemas {
        match schema.get("anyOf") {
            Some(Json::Array(inner)) => flat.extend(inner.iter().cloned()),
            Some(_) | None => flat.push(schema),
        }
    }
    let null = json!({ "type": "null" });
    if nullable && flat.len() == 1 && flat.iter().all(can_hold_null) {
        return with_null(flat.remove(0));
    }
    if nullable && !flat.iter().any(holds_null) {
        flat.push(null);
    }
    match flat.len() {
        1 => flat.remove(0),
        _ => json!({ "anyOf": flat }),
    }
}

fn can_hold_null(schema: &Json) -> bool {
    schema.get("type").is_some_and(|kind| *kind != json!("null"))
}

fn holds_null(schema: &Json) -> bool {
    match schema.get("type") {
        Some(Json::Array(kinds)) => kinds.contains(&json!("null")),
        Some(kind) => *kind == json!("null"),
        None => false,
    }
}

fn with_null(mut schema: Json) -> Json {
    if holds_null(&schema) {
        return schema;
    }
    if let Json::Object(fields) = &mut schema {
        let kind = fields.get("type").cloned().unwrap_or_default();
        fields.insert("type".to_owned(), json!([kind, "null"]));
        if let Some(Json::Array(values)) = fields.get_mut("enum")
            && !values.contains(&Json::Null)
        {
            values.push(Json::Null);
        }
    }
    schema
}
