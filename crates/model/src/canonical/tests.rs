//! Canonical JSON tests: compares the text with the library's for picked and random values.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;

fn check<T: Serialize>(value: &T) {
    let expected = serde_json_canonicalizer::to_vec(value).unwrap();
    let found = canonical(value);
    assert_eq!(String::from_utf8(found).unwrap(), String::from_utf8(expected).unwrap());
}

#[test]
fn canonical_text_matches_reference_library() {
    let values = [
        json!(null),
        json!({}),
        json!([]),
        json!([{}, [], "", 0, -0.0, 1e21, 1e-7, 0.1, -12, 9007199254740993u64, u64::MAX, i64::MIN]),
        json!({"b": 1, "a": {"d": [1, {"z": 1, "y": 2}], "c": null}, "aa": true}),
        json!({"a b": 1, "a": 2, "a!": 3, "": 4, "A": 5}),
        json!({"\u{e000}": 1, "\u{10000}": 2, "é": 3, "z": 4, "\"": 5, "\\": 6, "\n": 7, "\u{1}": 8}),
        json!("quote \" back \\ slash / bell \u{8} \u{c} \n \r \t \u{1f} \u{7f} é €"),
    ];
    values.iter().for_each(check);
}

#[derive(Serialize)]
struct Unit;

#[derive(Serialize)]
struct Wrapped(char);

#[derive(Serialize)]
struct Pair(u8, Option<i16>);

#[derive(Serialize)]
enum Shape {
    Unit,
    Wrapped(Wrapped),
    Pair(i8, f32),
    Named { z: (), a: (u16, bool) },
}

#[derive(Serialize)]
#[serde(tag = "type", content = "data")]
enum Tagged {
    One(Shape),
}

#[derive(Serialize)]
struct Whole {
    shapes: Vec<Shape>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
    numbered: BTreeMap<i32, Unit>,
    by_letter: BTreeMap<char, Pair>,
    tagged: Tagged,
    bytes: &'static [u8],
}

#[test]
fn whatever_serde_knows_has_the_text_of_the_library() {
    check(&Whole {
        shapes: vec![
            Shape::Unit,
            Shape::Wrapped(Wrapped('"')),
            Shape::Pair(-1, 0.5),
            Shape::Named { z: (), a: (7, true) },
        ],
        rest: [("b".to_owned(), json!([1])), ("\u{1}".to_owned(), json!({}))].into(),
        numbered: [(10, Unit), (-2, Unit), (9, Unit)].into(),
        by_letter: [('"', Pair(1, None)), ('a', Pair(2, Some(-3)))].into(),
        tagged: Tagged::One(Shape::Pair(1, 2.0)),
        bytes: &[0, 255],
    });
    assert!(Canonical::of(&BTreeMap::from([((1, 2), 3)])).is_none(), "a pair is no key");
}

#[test]
fn a_string_is_escaped_wherever_it_has_to_be() {
    for at in 0..20 {
        for special in ['"', '\\', '\u{0}', '\u{1f}', '\u{20}', '\u{7f}', '\u{80}', '€'] {
            let mut text = "x".repeat(at);
            text.push(special);
            check(&text);
            text.push_str("yyyyyyyyy");
            check(&text);
        }
    }
}

#[test]
fn integer_beyond_double_precision_is_flagged_rounded() {
    let rounded = |value: Value| Canonical::of(&value).unwrap().rounded;
    let exact = LARGEST_EXACT;
    assert!(!rounded(json!([exact, -(exact as i64), 0.1, 1e300, 10_000_000_000_000_000_u64])));
    assert!(rounded(json!({"a": exact + 1})) && rounded(json!(u64::MAX)));
    assert!(rounded(json!(i64::MIN)), "written as -9223372036854776000");
}

#[test]
fn random_values_have_the_text_of_the_library() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..500 {
        check(&random(&mut seed, 4));
    }
}

fn random(seed: &mut u64, depth: u32) -> Value {
    let mut next = || {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed
    };
    let kind = if depth == 0 { next() % 5 } else { next() % 7 };
    match kind {
        0 => Value::Null,
        1 => json!(next() as i64),
        2 => json!(next() % 1000),
        3 => json!(f64::from_bits(next() & 0x7fef_ffff_ffff_ffff)),
        4 => json!(word(next())),
        5 => {
            let count = next() % 4;
            (0..count).map(|_| random(seed, depth - 1)).collect()
        }
        _ => {
            let count = next() % 5;
            let keys: Vec<String> = (0..count).map(|_| word(next())).collect();
            let fields = keys.into_iter().map(|key| (key, random(seed, depth - 1)));
            Value::Object(fields.collect())
        }
    }
}

fn word(bits: u64) -> String {
    let letters: Vec<char> = "ab\"\\\n é\u{e000}\u{10000}z".chars().collect();
    (0..bits % 5).map(|at| letters[(bits >> (8 * at)) as usize % letters.len()]).collect()
}
