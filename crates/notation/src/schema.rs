//! JSON Schema 2020-12: inspected when read, compiled at first use, asked for every mistake at once.

#[cfg(test)]
mod tests;
mod violation;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use haft_model::JsonFlaw;
use jsonschema::{Draft, PatternOptions, Registry, Validator};
use serde_json::{Map, Value, json};

use crate::NotationFault;
use crate::cost::{Cost, DIALECT, MOST_STEPS, Outside, Weight, on_large_stack};
pub use violation::Violation;

/// How large a compiled `pattern` may be; a pattern that explodes stops here.
const LARGEST_PATTERN: usize = 1 << 20;

/// The addresses under which contracts refer to an AIP-27 reference.
const REF_ADDRESSES: [&str; 2] = [
    "https://agentproto.sh/docs/aip-27/REF.schema.json",
    "https://agentproto.sh/schemas/aip-27/REF.schema.json",
];

/// The schema of an AIP-27 reference, which the AIP names and does not publish.
static REFERENCE: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "$schema": DIALECT,
        "oneOf": [
            { "type": "string", "pattern": "^(ws://[a-z]+/.+|[a-z][a-z0-9_]*:.+)$" },
            { "type": "object", "required": ["kind"],
              "properties": { "kind": { "type": "string", "pattern": "^[a-z][a-z0-9_]*$" } } },
        ],
    })
});

/// That schema under its addresses.
static REFERENCES: LazyLock<Option<Registry<'static>>> = LazyLock::new(|| {
    let mut registry = Registry::new();
    for address in REF_ADDRESSES {
        registry = registry.add(address, REFERENCE.clone()).ok()?;
    }
    registry.prepare().ok()
});

/// A schema, ready to be asked.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    cost: Cost,
    defaults: Vec<(String, Value)>,
}

/// Schemas that refer to each other, by address.
pub struct Library {
    registry: Registry<'static>,
}

impl Library {
    /// A library of these documents.
    pub fn new(
        documents: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<Library, NotationFault> {
        let fault = |cause: jsonschema::ReferencingError| NotationFault::new(cause.to_string());
        let mut registry = Registry::new().retriever(Absent);
        for (address, document) in documents {
            registry = registry.add(address, document).map_err(fault)?;
        }
        Ok(Library { registry: registry.prepare().map_err(fault)? })
    }

    /// Compiles a schema that may refer to the documents of the library.
    pub fn compile(&self, schema: &Value) -> Result<Schema, NotationFault> {
        compile(schema, Outside::Trusted, Some(&self.registry))
    }
}

/// Stands in for documents that the library refers to and does not hold: they accept everything.
struct Absent;

impl jsonschema::Retrieve for Absent {
    fn retrieve(
        &self,
        _: &jsonschema::Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Ok(json!({}))
    }
}

impl Schema {
    /// Compiles a schema. Never reaches for the network or the disk.
    pub fn compile(schema: &Value) -> Result<Schema, NotationFault> {
        compile(schema, reference(), REFERENCES.as_ref())
    }

    /// Fills in the defaults of absent properties.
    pub fn fill(&self, value: &mut Value) {
        if let Value::Object(fields) = value {
            for (name, default) in &self.defaults {
                if !fields.contains_key(name) {
                    fields.insert(name.clone(), default.clone());
                }
            }
        }
    }

    /// Whether [`Schema::fill`] would change a value.
    pub fn fills(&self, value: &Value) -> bool {
        let fields = value.as_object();
        fields
            .is_some_and(|fields| self.defaults.iter().any(|(name, _)| !fields.contains_key(name)))
    }

    /// Whether a check of a value is certainly short enough for an async worker. The answer itself is,
    /// however large the value.
    pub fn is_light(&self, value: &Value) -> bool {
        self.cost.is_light(value)
    }

    /// Whether a value is valid; the quick question. A value that would take too long to validate
    /// is not.
    pub fn fits(&self, value: &Value) -> bool {
        self.fits_by(self.cost.weigh(value), value)
    }

    fn fits_by(&self, weight: Weight, value: &Value) -> bool {
        match weight {
            Weight::Light => self.validator.is_valid(value),
            Weight::Heavy => on_large_stack(|| self.validator.is_valid(value)).unwrap_or(false),
            Weight::Excessive => false,
        }
    }

    /// Holds a value against the schema, its cost counted once.
    pub fn check(&self, value: &Value) -> Result<(), Vec<Violation>> {
        let weight = self.cost.weigh(value);
        if self.fits_by(weight, value) {
            return Ok(());
        }
        Err(match weight {
            Weight::Light => violation::found(&self.validator, value),
            Weight::Heavy => {
                vec![Violation::of_cost("it is too large for the places to be told", value)]
            }
            Weight::Excessive => {
                let message = format!(
                    "checking it takes more than {MOST_STEPS} steps; make it smaller, or the schema simpler"
                );
                vec![Violation::of_cost(&message, value)]
            }
        })
    }

    /// The ways in which a value is invalid, a hundred at most. A value that takes long to check
    /// gets a single verdict, since each place would cost as much again.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        self.check(value).err().unwrap_or_default()
    }
}

/// What a contract's schema may refer to besides itself.
fn reference() -> Outside {
    Outside::One(&REF_ADDRESSES, &REFERENCE)
}

fn compile(
    schema: &Value,
    outside: Outside,
    registry: Option<&Registry<'static>>,
) -> Result<Schema, NotationFault> {
    let mut options = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex().size_limit(LARGEST_PATTERN))
        .offline();
    if let Some(registry) = registry {
        options = options.with_registry(registry);
    }
    let cost = Cost::of(schema, outside)?;
    let validator = options.build(schema).map_err(|cause| {
        NotationFault::new(format!("the schema does not compile: {cause}"))
            .at(cause.instance_path().to_string())
    })?;
    Ok(Schema { validator, cost, defaults: top_level_defaults(schema) })
}

/// Everything that is wrong with a schema before it is used: dialect, shape, references, patterns.
pub fn inspect(schema: &Value) -> Vec<NotationFault> {
    let Value::Object(root) = schema else {
        return vec![NotationFault::new("a schema must be an object")];
    };
    let mut faults = Vec::new();
    if let Some(dialect) = root.get("$schema").and_then(Value::as_str)
        && dialect.trim_end_matches('#') != DIALECT
    {
        faults.push(
            NotationFault::new(format!(
                "the schema is written in `{dialect}`, not in draft 2020-12"
            ))
            .at("/$schema")
            .help(format!("use `{DIALECT}`, or leave `$schema` out")),
        );
        return faults;
    }
    if let Err(error) = jsonschema::draft202012::meta::validate(schema) {
        faults.push(
            NotationFault::new(format!("this is not a JSON Schema: {error}"))
                .at(error.instance_path().to_string()),
        );
        return faults;
    }
    let mut anchors = BTreeSet::new();
    collect_anchors(schema, &mut anchors);
    walk(schema, schema, "", &anchors, &mut faults);
    let costly = Cost::of(schema, reference()).err();
    let is_told = |fault: &NotationFault| faults.iter().any(|told| told.pointer == fault.pointer);
    faults.extend(costly.filter(|fault| !is_told(fault)));
    faults.extend(inexact_default(schema));
    faults
}

/// A default that no call could be made with: it is filled in, and then refused.
fn inexact_default(schema: &Value) -> Option<NotationFault> {
    top_level_defaults(schema).into_iter().find_map(|(name, default)| {
        let flaw = JsonFlaw::in_value(&default)?;
        let place = crate::keywords::below("/properties", &name) + "/default";
        Some(NotationFault::new(flaw.to_string()).at(place).help("write it as a string"))
    })
}

fn top_level_defaults(schema: &Value) -> Vec<(String, Value)> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let default = |(name, property): (&String, &Value)| {
        property.get("default").map(|value| (name.clone(), value.clone()))
    };
    properties.iter().filter_map(default).collect()
}

fn collect_anchors(schema: &Value, anchors: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            for key in ["$anchor", "$dynamicAnchor"] {
                if let Some(name) = fields.get(key).and_then(Value::as_str) {
                    anchors.insert(name.to_owned());
                }
            }
            fields.values().for_each(|value| collect_anchors(value, anchors));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_anchors(value, anchors)),
        _ => {}
    }
}

/// Looks at every reference and pattern. Depth and size are bounded by the reader of the file.
fn walk(
    root: &Value,
    schema: &Value,
    pointer: &str,
    anchors: &BTreeSet<String>,
    faults: &mut Vec<NotationFault>,
) {
    match schema {
        Value::Object(fields) => {
            // `properties` maps names to schemas: a property may well be called `pattern`.
            let names_properties = NAME_MAPS.iter().any(|map| pointer.ends_with(map));
            for (key, value) in fields {
                let here = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                match (key.as_str(), value) {
                    ("$ref" | "$dynamicRef", Value::String(target)) if !names_properties => {
                        faults.extend(reference_fault(root, target, anchors).map(|f| f.at(here)));
                    }
                    ("pattern", Value::String(pattern)) if !names_properties => {
                        faults.extend(pattern_fault(pattern).map(|fault| fault.at(here)));
                    }
                    ("patternProperties", Value::Object(patterns)) if !names_properties => {
                        for pattern in patterns.keys() {
                            faults.extend(pattern_fault(pattern).map(|f| f.at(here.clone())));
                        }
                        walk(root, value, &here, anchors, faults);
                    }
                    ("default" | "examples" | "const" | "enum", _) if !names_properties => {}
                    _ => walk(root, value, &here, anchors, faults),
                }
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                walk(root, value, &format!("{pointer}/{index}"), anchors, faults);
            }
        }
        _ => {}
    }
}

/// The keywords whose members are named by the author.
const NAME_MAPS: [&str; 4] = ["/properties", "/$defs", "/patternProperties", "/dependentSchemas"];

fn reference_fault(
    root: &Value,
    target: &str,
    anchors: &BTreeSet<String>,
) -> Option<NotationFault> {
    if let Some(fragment) = target.strip_prefix('#') {
        let found =
            fragment.is_empty() || anchors.contains(fragment) || root.pointer(fragment).is_some();
        return (!found)
            .then(|| NotationFault::new(format!("`{target}` points at nothing in this schema")));
    }
    if REF_ADDRESSES.contains(&target) || target == DIALECT {
        return None;
    }
    Some(
        NotationFault::new(format!(
            "`{target}` refers outside this file, and schemas are never fetched"
        ))
        .help("copy what it refers to into `$defs` and refer to `#/$defs/…`"),
    )
}

fn pattern_fault(pattern: &str) -> Option<NotationFault> {
    let probe = Value::Object(Map::from_iter([("pattern".to_owned(), json!(pattern))]));
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex().size_limit(LARGEST_PATTERN))
        .build(&probe)
        .err()
        .map(|_| {
            NotationFault::new(format!("the pattern `{}` is refused", violation::shorten(pattern))).help(
                "patterns run in linear time: no lookaround, no backreference, no huge repetition",
            )
        })
}
