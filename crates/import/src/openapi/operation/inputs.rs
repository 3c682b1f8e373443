//! Operation inputs: the input schema of a contract, from the parameters and the body of an
//! operation.

use std::collections::BTreeSet;

use haft_notation::keywords::below;
use serde_json::{Map, Value, json};

use crate::import::Margin;
use crate::openapi::body::{self, BodyEncoding, OperationBody};
use crate::openapi::document::Document;
use crate::openapi::parameter::{Parameter, ParameterLocation, is_several};
use crate::schema::{Shaper, Side};
use crate::text::{self, UniqueNames};

/// Collects the inputs of an operation.
pub(super) struct Inputs<'a, 'd> {
    shaper: Shaper<'a, 'd>,
    taken: UniqueNames,
    properties: Map<String, Value>,
    required: Vec<String>,
    /// Parameters whose several values are given as one text.
    joined: BTreeSet<(&'d str, &'static str)>,
    /// What was said of them before, by place and name on the wire.
    added: Map<String, Value>,
}

impl<'a, 'd> Inputs<'a, 'd> {
    pub(super) fn new(
        document: &'a Document<'d>,
        parameters: &[Parameter<'d>],
        body: Option<&OperationBody<'d>>,
    ) -> Inputs<'a, 'd> {
        let raws = parameters.iter().filter_map(|parameter| parameter.raw);
        let raws: Vec<&'d Value> = raws.chain(body.and_then(|body| body.raw)).collect();
        Inputs {
            shaper: Shaper::new(document, Side::Input, &raws),
            taken: UniqueNames::default(),
            properties: Map::new(),
            required: Vec::new(),
            joined: BTreeSet::new(),
            added: Map::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.properties.is_empty()
    }

    /// Whether a parameter may have several values.
    pub(super) fn is_several(&mut self, parameter: &Parameter<'d>) -> bool {
        let Some(raw) = parameter.raw else { return false };
        let schema = self.shaper.at(&place_of(parameter)).schema(raw, 0);
        is_several(&schema, self.shaper.define())
    }

    /// Has several values of a parameter given as one text, where they cannot be taken apart.
    pub(super) fn join(&mut self, parameter: &Parameter<'d>, margin: &mut Margin) {
        self.joined.insert((parameter.wire, parameter.place.name()));
        let field = format!("inputs.{}", text::input_name(parameter.wire));
        let why = "several values in a path, a header or a cookie are joined with commas";
        margin.guess(&field, "string", why, "edit the contract and the driver");
    }

    /// The input of a parameter: its name.
    pub(super) fn add(&mut self, parameter: &Parameter<'d>) -> String {
        let place = parameter.place.name();
        let mark = format!("{place} {}", parameter.wire);
        if let Some(Value::String(name)) = self.added.get(&mark) {
            return name.clone();
        }
        let name = text::input_name(parameter.wire);
        let names = [name.clone(), format!("{place}_{name}")];
        let name = self.taken.first_free(&names);
        let joined = self.joined.contains(&(parameter.wire, place));
        let schema = match parameter.raw {
            Some(raw) if !joined => self.shaper.at(&place_of(parameter)).schema(raw, 0),
            _ => json!({ "type": "string" }),
        };
        let mut schema = described(schema, parameter.description);
        if parameter.place == ParameterLocation::Path
            && schema.get("type") == Some(&json!("string"))
        {
            // What is empty is no segment of a path.
            schema.as_object_mut().map(|fields| fields.entry("minLength").or_insert(json!(1)));
        }
        self.properties.insert(name.clone(), schema);
        if parameter.required {
            self.required.push(name.clone());
        }
        self.added.insert(mark, json!(name));
        name
    }

    /// The input for a part of the path that is not declared.
    pub(super) fn add_undeclared(&mut self, wire: &str) -> String {
        let name = self.taken.first_free(&[text::input_name(wire)]);
        self.properties.insert(name.clone(), json!({ "type": "string", "minLength": 1 }));
        self.required.push(name.clone());
        name
    }

    /// The inputs of a body: their names, or the name of the one that is all of it.
    pub(super) fn add_body(&mut self, body: &OperationBody<'d>, margin: &mut Margin) -> Value {
        let schema = match body.raw {
            Some(raw) => self.shaper.at("/requestBody").outermost(raw),
            None if body.form == BodyEncoding::Text => json!({ "type": "string" }),
            None => json!({}),
        };
        let fields = body::fields(&schema, self.shaper.define());
        let free = |(fields, _): &(Map<String, Value>, Vec<String>)| {
            fields.keys().all(|name| !self.properties.contains_key(name))
        };
        match fields.filter(|fields| body.form != BodyEncoding::Text && free(fields)) {
            Some((fields, required)) => self.add_fields(body, fields, required, margin),
            None => {
                let name = self.taken.first_free(&["body".to_owned(), "request_body".to_owned()]);
                let schema = described(schema, body.description);
                self.properties.insert(name.clone(), schema);
                if body.required {
                    self.required.push(name.clone());
                }
                json!(name)
            }
        }
    }

    fn add_fields(
        &mut self,
        body: &OperationBody<'_>,
        fields: Map<String, Value>,
        required: Vec<String>,
        margin: &mut Margin,
    ) -> Value {
        let names: Vec<String> = fields.keys().cloned().collect();
        if !body.required && !required.is_empty() {
            let why = "the document has the body optional, and a part of it required";
            margin.guess("inputs.required", &required.join(", "), why, "edit the contract");
        }
        let required = required.into_iter().filter(|name| fields.contains_key(name));
        self.required.extend(required);
        self.properties
            .extend(fields.into_iter().map(|(name, schema)| (name, described(schema, None))));
        json!(names)
    }

    /// The schema of the whole input.
    pub(super) fn finish(self, margin: &mut Margin) -> Value {
        let mut required = self.required;
        let mut seen = BTreeSet::new();
        required.retain(|name| seen.insert(name.clone()));
        let mut schema = json!({ "type": "object", "properties": self.properties });
        if let (false, Some(fields)) = (required.is_empty(), schema.as_object_mut()) {
            fields.insert("required".to_owned(), json!(required));
        }
        let mut shaped = self.shaper.finish(schema);
        margin.hollow("inputs", &shaped.lost, shaped.is_cut);
        margin.lost("inputs", std::mem::take(&mut shaped.losses));
        let mut schema = shaped.whole();
        if let Some(fields) = schema.as_object_mut() {
            fields.insert("additionalProperties".to_owned(), json!(false));
        }
        schema
    }
}

/// Where the schema of a parameter stands, for the list of what is not kept.
fn place_of(parameter: &Parameter<'_>) -> String {
    below(&below("/parameters", parameter.place.name()), parameter.wire)
}

/// A schema with the words of whatever holds it. A default becomes words too: the server fills it
/// in, and a change of something must not reset what its caller did not name.
fn described(schema: Value, words: Option<&str>) -> Value {
    let Value::Object(mut fields) = schema else { return schema };
    let default = fields.shift_remove("default");
    let own = fields.get("description").and_then(Value::as_str);
    let words = words.map(|words| text::prose(words, 1000)).filter(|words| !words.is_empty());
    let mut words = words.or_else(|| own.map(str::to_owned)).unwrap_or_default();
    if let Some(default) = default.filter(|default| !default.is_null()) {
        let told = text::line(&default.to_string(), 100);
        let gap = if words.is_empty() { "" } else { " " };
        words.push_str(&format!("{gap}The server's default is `{told}`."));
    }
    if !words.is_empty() {
        fields.insert("description".to_owned(), json!(words));
    }
    Value::Object(fields)
}
