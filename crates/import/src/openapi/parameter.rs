//! OpenAPI parameters: the input's name, its location, and its serialization style.

use serde_json::{Map, Value, json};

use super::document::Document;

/// Headers that follow from the request and from other fields of the document.
const OTHERS_SAY: [&str; 13] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Headers that carry credentials whatever a document calls them.
const CREDENTIALS: [&str; 3] = ["x-api-key", "api-key", "cookie"];

/// The location of a parameter in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParameterLocation {
    Path,
    Query,
    Header,
    Cookie,
}

impl ParameterLocation {
    fn read(text: &str) -> Option<ParameterLocation> {
        match text {
            "path" => Some(ParameterLocation::Path),
            "query" => Some(ParameterLocation::Query),
            "header" => Some(ParameterLocation::Header),
            "cookie" => Some(ParameterLocation::Cookie),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            ParameterLocation::Path => "path",
            ParameterLocation::Query => "query",
            ParameterLocation::Header => "header",
            ParameterLocation::Cookie => "cookie",
        }
    }
}

/// One parameter of an operation.
#[derive(Clone, Debug)]
pub(super) struct Parameter<'d> {
    /// What it is called on the wire.
    pub(super) wire: &'d str,
    pub(super) place: ParameterLocation,
    pub(super) required: bool,
    pub(super) raw: Option<&'d Value>,
    pub(super) description: Option<&'d str>,
    style: Option<&'d str>,
    explode: Option<bool>,
    /// Whether its value is written as JSON.
    pub(super) as_json: bool,
}

/// The parameters of an operation; its own win over those of its path.
pub(super) fn all<'d>(
    document: &Document<'d>,
    item: &'d Value,
    operation: &'d Value,
) -> Vec<Parameter<'d>> {
    let mut found: Vec<Parameter<'d>> = Vec::new();
    for holder in [operation, item] {
        let listed = holder.get("parameters").and_then(Value::as_array).into_iter().flatten();
        for raw in listed.filter_map(|raw| document.resolved(raw)) {
            let Some(parameter) = Parameter::read(raw) else { continue };
            let same = |other: &Parameter<'_>| {
                other.wire == parameter.wire && other.place == parameter.place
            };
            if !found.iter().any(same) {
                found.push(parameter);
            }
        }
    }
    found.retain(|parameter| !parameter.follows());
    found
}

impl<'d> Parameter<'d> {
    fn read(raw: &'d Value) -> Option<Parameter<'d>> {
        let text = |name: &str| raw.get(name).and_then(Value::as_str);
        let flag = |name: &str| raw.get(name).and_then(Value::as_bool);
        let place = ParameterLocation::read(text("in")?)?;
        let content =
            raw.get("content").and_then(Value::as_object).and_then(|all| all.iter().next());
        let inside = content.and_then(|(_, media)| media.get("schema"));
        Some(Parameter {
            wire: text("name").filter(|name| !name.is_empty())?,
            place,
            required: place == ParameterLocation::Path || flag("required") == Some(true),
            raw: raw.get("schema").or(inside),
            description: text("description"),
            style: text("style"),
            explode: flag("explode"),
            as_json: content.is_some_and(|(media, _)| media.contains("json")),
        })
    }

    fn is_header(&self, names: &[&str]) -> bool {
        self.place == ParameterLocation::Header
            && names.iter().any(|name| self.wire.eq_ignore_ascii_case(name))
    }

    /// Whether it follows from other fields, so that no caller gives it.
    fn follows(&self) -> bool {
        self.is_header(&OTHERS_SAY)
    }

    /// Whether it is a credential, which no caller gives either.
    pub(super) fn is_credential(&self) -> bool {
        self.is_header(&CREDENTIALS)
    }

    /// Whether it is another way of logging in, by its name and, where that may be anything, its words.
    pub(super) fn is_login_by_name(&self) -> bool {
        const SURE: [&str; 7] = [
            "access-token",
            "api-key",
            "apikey",
            "auth-token",
            "oauth-token",
            "x-access-token",
            "x-auth-token",
        ];
        const TOLD: [&str; 5] = ["api key", "access token", "authentic", "oauth", "bearer"];
        let name = self.wire.to_ascii_lowercase().replace('_', "-");
        let words = self.description.unwrap_or_default().to_ascii_lowercase();
        let is_told = TOLD.iter().any(|word| words.contains(word));
        let may_be = ["key", "token"].contains(&name.as_str());
        self.place != ParameterLocation::Path
            && (SURE.contains(&name.as_str()) || (is_told && may_be))
    }

    /// Whether it carries the key by which a repeated call is recognised.
    pub(super) fn is_key(&self) -> bool {
        self.is_header(&["idempotency-key", "x-idempotency-key"])
    }

    /// The placeholder for its value; an optional one that is absent is null, which is left out.
    pub(super) fn template(&self, input: &str) -> String {
        let json = if self.as_json { " | json" } else { "" };
        let default = if self.required { "" } else { " | default(null)" };
        format!("${{input.{input}{json}{default}}}")
    }

    /// How its value stands in a path: `label` and `matrix` put something before it.
    pub(super) fn in_path(&self, input: &str) -> String {
        let template = self.template(input);
        match self.style {
            Some("label") => format!(".{template}"),
            Some("matrix") => format!(";{}={template}", self.wire),
            _ => template,
        }
    }

    /// How several values of it are written in a query.
    pub(super) fn query_style(&self) -> Value {
        styled(self.style, self.explode)
    }
}

/// How several values of a field are written, as its encoding says.
pub(super) fn style(encoding: &Value) -> Value {
    let style = encoding.get("style").and_then(Value::as_str);
    styled(style, encoding.get("explode").and_then(Value::as_bool))
}

fn styled(style: Option<&str>, explode: Option<bool>) -> Value {
    const STYLES: [&str; 3] = ["spaceDelimited", "pipeDelimited", "deepObject"];
    let style = style.filter(|style| STYLES.contains(style)).unwrap_or("form");
    let explode = explode.unwrap_or(style == "form" || style == "deepObject");
    json!({ "style": style, "explode": explode })
}

/// Whether a value may be a list or a map, which have to be taken apart to be written.
pub(super) fn is_several(schema: &Value, definitions: &Map<String, Value>) -> bool {
    may_be(schema, definitions, &["array", "object"], 8)
}

fn may_be(schema: &Value, definitions: &Map<String, Value>, kinds: &[&str], depth: usize) -> bool {
    if depth == 0 {
        return false;
    }
    let of = |kind: &Value| kind.as_str().is_some_and(|kind| kinds.contains(&kind));
    let stated = match schema.get("type") {
        Some(Value::Array(list)) => list.iter().any(of),
        Some(kind) => of(kind),
        None => schema.get("properties").is_some() || schema.get("items").is_some(),
    };
    let target = schema.get("$ref").and_then(Value::as_str);
    let target = target.and_then(|target| definitions.get(target.strip_prefix("#/$defs/")?));
    let parts = ["allOf", "anyOf", "oneOf"].iter().filter_map(|word| schema.get(*word)?.as_array());
    stated
        || target
            .into_iter()
            .chain(parts.flatten())
            .any(|part| may_be(part, definitions, kinds, depth - 1))
}
