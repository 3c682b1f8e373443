//! Property test of schema import: every source keyword is in the contract or in the list of
//! losses.

use serde_json::{Map, Value, json};

use super::*;

/// Numbers that look random and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }
}

/// Keywords that hold no schema, known and unknown.
const PLAIN: [&str; 42] = [
    "type",
    "title",
    "description",
    "format",
    "contentEncoding",
    "contentMediaType",
    "deprecated",
    "readOnly",
    "writeOnly",
    "uniqueItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "const",
    "enum",
    "required",
    "default",
    "example",
    "examples",
    "nullable",
    "discriminator",
    "xml",
    "externalDocs",
    "x-internal",
    "$id",
    "$anchor",
    "$comment",
    "$schema",
    "dependentRequired",
    "x-mcp-header",
    "somebody's own",
];

const NESTED: [&str; 18] = [
    "items",
    "contains",
    "additionalProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
    "additionalItems",
    "properties",
    "patternProperties",
    "prefixItems",
    "not",
    "if",
    "then",
    "allOf",
    "anyOf",
    "oneOf",
    "dependentSchemas",
];

fn leaf(dice: &mut Dice) -> Value {
    let values = [
        json!("object"),
        json!("text"),
        json!("a\u{0}b  c\n"),
        json!("x".repeat(1200)),
        json!(3),
        json!(3.0),
        json!(-1),
        json!(2.5),
        json!(true),
        json!(false),
        json!(null),
        json!(["string", "null"]),
        json!(["string", "odd"]),
        json!(["a", "a", 1]),
        json!([]),
        json!({"a": 1}),
        json!("^[a-z]+$"),
        json!("(unclosed"),
        json!([{"long": true}]),
        json!(DIALECT),
        json!("http://json-schema.org/draft-07/schema#"),
        json!({"propertyName": "kind"}),
        json!({"a": ["b"]}),
    ];
    dice.one(&values).clone()
}

fn schema(dice: &mut Dice, depth: usize) -> Value {
    match dice.roll(12) {
        0 => return json!(dice.roll(2) == 0),
        1 => return leaf(dice),
        2 => {
            let mut fields = Map::new();
            let targets = ["#/$defs/one", "#/$defs/two", "#/$defs/none", "elsewhere.json#/a"];
            fields.insert("$ref".to_owned(), json!(dice.one(&targets)));
            for _ in 0..dice.roll(3) {
                fields.insert((*dice.one(&PLAIN)).to_owned(), leaf(dice));
            }
            return Value::Object(fields);
        }
        _ => {}
    }
    let mut fields = Map::new();
    for _ in 0..dice.roll(5) {
        fields.insert((*dice.one(&PLAIN)).to_owned(), leaf(dice));
    }
    for _ in 0..if depth > 3 { 0 } else { dice.roll(4) } {
        let word = *dice.one(&NESTED);
        let value = match (dice.roll(8), holds(word)) {
            (0, _) => leaf(dice),
            (_, Holds::NamedParts | Holds::NamedSame) => {
                let names = ["a", "b/c", "^x", "(bad", "é~"];
                let named = (0..dice.roll(4)).map(|_| (*dice.one(&names)).to_owned());
                let named: Vec<String> = named.collect();
                Value::Object(
                    named.into_iter().map(|name| (name, schema(dice, depth + 1))).collect(),
                )
            }
            (_, Holds::PartList | Holds::SameList) => {
                (0..dice.roll(4)).map(|_| schema(dice, depth + 1)).collect()
            }
            (_, _) => schema(dice, depth + 1),
        };
        fields.insert(word.to_owned(), value);
    }
    Value::Object(fields)
}

/// Every keyword below a schema, by its pointer, with what stands behind it.
fn keywords<'v>(value: &'v Value, at: &str, found: &mut Vec<(String, &'v str, &'v Value)>) {
    let Value::Object(fields) = value else { return };
    for (word, value) in fields {
        let here = below(at, word);
        match (holds(word), value) {
            (Holds::Part | Holds::Same, _) => keywords(value, &here, found),
            (Holds::PartList | Holds::SameList, Value::Array(items)) => {
                for (number, item) in items.iter().enumerate() {
                    keywords(item, &below(&here, &number.to_string()), found);
                }
            }
            (Holds::NamedParts | Holds::NamedSame | Holds::Definitions, Value::Object(named)) => {
                named.iter().for_each(|(name, one)| keywords(one, &below(&here, name), found));
            }
            _ => {}
        }
        found.push((here, word, value));
    }
}

/// Whether a keyword stands in a contract as it stood in the source, or in the words of 2020-12.
fn stands(pointer: &str, word: &str, value: &Value, kept: &Value) -> bool {
    let holder = pointer.rsplit_once('/').map_or("", |(holder, _)| holder);
    let moved = |flag: &str| kept.pointer(&below(holder, flag)).is_some_and(Value::is_number);
    match (kept.pointer(pointer), word) {
        (Some(_), _) if holds(word) != Holds::Nothing => true,
        (Some(Value::Number(kept)), _) => value.as_f64() == kept.as_f64(),
        (Some(Value::String(kept)), _) => {
            let plain = |text: &str| text.split_whitespace().collect::<String>();
            value.as_str().is_some_and(|text| plain(text) == plain(kept))
        }
        (Some(kept), _) => kept == value,
        (None, "example") => kept.pointer(&below(holder, "examples")) == Some(&json!([value])),
        (None, "minimum") => moved("exclusiveMinimum"),
        (None, "maximum") => moved("exclusiveMaximum"),
        // A bound that is no bound, a list that lists nothing, and definitions, which are looked at
        // one by one.
        (None, "exclusiveMinimum" | "exclusiveMaximum") => value == &json!(false),
        (None, "$defs") => true,
        // A branch of a discriminator stands beside what tells it apart.
        (None, "$ref") => kept.pointer(&format!("{holder}/allOf/0/$ref")) == Some(value),
        (None, _) => false,
    }
}

#[test]
fn every_keyword_is_kept_or_listed_as_lost() {
    for seed in 0..4000 {
        let mut dice = Dice(seed);
        let mut raw = schema(&mut dice, 0);
        if let Value::Object(fields) = &mut raw {
            fields.shift_remove("$ref");
            let (one, two) = (schema(&mut dice, 2), schema(&mut dice, 2));
            fields.insert("$defs".to_owned(), json!({ "one": one, "two": two }));
        }
        let side = if dice.roll(2) == 0 { Side::Input } else { Side::Output };
        let root = Root { value: &raw, dialect: Dialect::Complete };
        let shaped = shaped(&root, &raw, side);
        let losses = shaped.losses.clone();
        let kept = shaped.whole_of(&raw);
        let mut all = Vec::new();
        keywords(&raw, "", &mut all);
        for (pointer, word, value) in all {
            let covers = |loss: &Loss| {
                let rest = pointer.strip_prefix(&loss.pointer);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let told = losses.iter().any(covers) || word == "discriminator";
            assert!(
                told || stands(&pointer, word, value, &kept),
                "seed {seed}: `{pointer}` of {raw:#} is neither in {kept:#} nor in {losses:#?}"
            );
        }
        for loss in &losses {
            assert!(raw.pointer(&loss.pointer).is_some(), "seed {seed}: {loss:?} is nowhere");
            assert!(!loss.why.is_empty());
        }
    }
}
