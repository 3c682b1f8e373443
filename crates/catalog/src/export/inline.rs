//! Reference inlining: writes `$ref` out, for formats that have none.

use serde_json::{Map, Value as Json, json};

use super::loss::Losses;
use super::merge::merged;
use haft_notation::keywords::{below, rebuilt};

/// How deep a written-out schema may become.
const DEEPEST: usize = 48;

/// How many schemas a written-out schema may be made of; definitions that double each other stop here.
const LARGEST: usize = 2_000;

/// Keywords that only serve references, or that no reader of the result uses.
const REFERENCE_ONLY: [&str; 8] = [
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$comment",
    "$vocabulary",
    "$defs",
    "definitions",
];

/// The schema with every reference written out and every `allOf` joined.
pub(super) fn inlined(schema: &Json, losses: &mut Losses) -> Json {
    let mut inliner = Inliner { root: schema, losses, open: vec!["#".to_owned()], left: LARGEST };
    inliner.schema(schema, "/inputs", 0)
}

/// The schema with references kept, but for those that lead out of it.
pub(super) fn kept_inside(schema: &Json, at: &str, losses: &mut Losses) -> Json {
    let Json::Object(fields) = schema else { return schema.clone() };
    let mut kept = rebuilt(fields, at, |at, part| kept_inside(part, at, losses));
    for key in ["$ref", "$dynamicRef"] {
        let outside =
            target(&kept, key).filter(|target| !target.starts_with('#')).map(str::to_owned);
        if let Some(outside) = outside {
            kept.shift_remove(key);
            let stand_in = foreign(&outside, &below(at, key), losses);
            kept = merged(stand_in, &kept, at, losses);
        }
    }
    Json::Object(kept)
}

/// The schema itself with the reference it consists of followed, and those below it kept.
pub(super) fn followed(root: &Json, schema: &Json, losses: &mut Losses) -> Map<String, Json> {
    const HOPS: usize = 16;
    let mut fields = schema.as_object().cloned().unwrap_or_default();
    for _ in 0..HOPS {
        let found = target(&fields, "$ref").and_then(|target| resolve(root, target)).cloned();
        fields.shift_remove("$ref");
        match found {
            Some(Json::Object(found)) => fields = merged(found, &fields, "/inputs", losses),
            Some(_) | None => break,
        }
    }
    fields
}

struct Inliner<'s, 'l> {
    root: &'s Json,
    losses: &'l mut Losses,
    /// The references that are being written out.
    open: Vec<String>,
    left: usize,
}

impl Inliner<'_, '_> {
    fn schema(&mut self, schema: &Json, at: &str, depth: usize) -> Json {
        let Json::Object(fields) = schema else { return schema.clone() };
        if depth > DEEPEST || self.left == 0 {
            // One line is enough: written out, there could be thousands of them.
            self.losses.add("/inputs", "the schema is too large; parts of it are shown as open");
            return stub(schema);
        }
        self.left -= 1;
        let kept = fields.iter().filter(|(key, _)| !REFERENCE_ONLY.contains(&key.as_str()));
        let mut whole = rebuilt(kept, at, |at, part| self.schema(part, at, depth + 1));
        for key in ["$ref", "$dynamicRef"] {
            if let Some(target) = target(fields, key) {
                whole.shift_remove(key);
                let found = self.reference(target, &below(at, key), depth);
                whole = merged(found, &whole, at, self.losses);
            }
        }
        self.join_all(whole, at)
    }

    fn join_all(&mut self, mut whole: Map<String, Json>, at: &str) -> Json {
        let parts = match whole.shift_remove("allOf") {
            Some(Json::Array(parts)) => parts,
            Some(_) | None => return Json::Object(whole),
        };
        for part in parts {
            match part {
                Json::Object(part) => whole = merged(whole, &part, at, self.losses),
                Json::Bool(false) => return Json::Bool(false),
                _ => {}
            }
        }
        Json::Object(whole)
    }

    fn reference(&mut self, target: &str, at: &str, depth: usize) -> Map<String, Json> {
        if !target.starts_with('#') {
            return foreign(target, at, self.losses);
        }
        let Some(found) = resolve(self.root, target) else {
            self.losses.add(at, format!("`{target}` leads nowhere; any value is shown"));
            return Map::new();
        };
        if self.open.iter().any(|open| open == target) {
            self.losses.add(at, format!("`{target}` contains itself; it is shown as open"));
            return stub(found).as_object().cloned().unwrap_or_default();
        }
        self.open.push(target.to_owned());
        let written = self.schema(found, at, depth + 1);
        self.open.pop();
        match written {
            Json::Object(written) => written,
            Json::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
            _ => Map::new(),
        }
    }
}

fn target<'f>(fields: &'f Map<String, Json>, key: &str) -> Option<&'f str> {
    fields.get(key).and_then(Json::as_str)
}

fn resolve<'s>(root: &'s Json, target: &str) -> Option<&'s Json> {
    let fragment = target.strip_prefix('#')?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return root.pointer(fragment);
    }
    anchored(root, fragment)
}

fn anchored<'s>(schema: &'s Json, name: &str) -> Option<&'s Json> {
    match schema {
        Json::Object(fields) => {
            let named =
                ["$anchor", "$dynamicAnchor"].iter().any(|key| target(fields, key) == Some(name));
            if named { Some(schema) } else { fields.values().find_map(|part| anchored(part, name)) }
        }
        Json::Array(items) => items.iter().find_map(|part| anchored(part, name)),
        _ => None,
    }
}

/// The stand-in for a schema that may not be fetched.
fn foreign(target: &str, at: &str, losses: &mut Losses) -> Map<String, Json> {
    // An AIP-27 reference can always be written as text.
    if target.ends_with("/aip-27/REF.schema.json") {
        losses.add(at, "a reference to a document is shown as text");
        return Map::from_iter([("type".to_owned(), json!("string"))]);
    }
    losses.add(at, format!("`{target}` is outside the contract; any value is shown"));
    Map::new()
}

/// The least that can be said of a schema: its type.
fn stub(schema: &Json) -> Json {
    let kind = schema.get("type").and_then(Json::as_str).unwrap_or("object");
    json!({ "type": kind })
}
