//! JSON flaw tests: compares numbers and keys with a decimal comparison of their own, for picked
//! and random texts.

use serde_json::json;

use super::*;
use crate::{Digest, canonical};

fn flaw(text: &str) -> Option<(String, String)> {
    JsonFlaw::in_text(text).map(|flaw| match flaw.kind {
        JsonFlawKind::InexactNumber(number) => (flaw.pointer, format!("number {number}")),
        JsonFlawKind::DuplicateKey(key) => (flaw.pointer, format!("key {key}")),
        JsonFlawKind::TooDeep => (flaw.pointer, "deep".to_owned()),
    })
}

#[test]
fn numbers_that_doubles_keep_are_exact() {
    for text in [
        "0",
        "-0",
        "-0.0",
        "0e400",
        "1",
        "1.0",
        "10e-1",
        "1e21",
        "1E+21",
        "1e-7",
        "0.1",
        "-12.50",
        "9007199254740992",
        "9007199254740994",
        "123456789012345680000",
        "1234567890123456800",
        "0.30000000000000004",
        "5e-324",
        "1.7976931348623157e308",
        "100000000000000000000000",
        "1000000000000000000000000e-3",
        "179769313486231570000e288",
    ] {
        assert!(is_exact_number(text.as_bytes()), "{text}");
    }
}

#[test]
fn numbers_that_doubles_change_are_not_exact() {
    for text in [
        "9007199254740993",
        "1234567890123456789",
        "-1234567890123456789",
        "18446744073709551615",
        // A double, and its canonical text is another number all the same.
        "1234567890123456768",
        "0.10000000000000000001",
        "1e400",
        "-1e400",
        "1e-400",
        "4e-324",
        "1e99999999999999999999",
        "1e-99999999999999999999",
        "3.14159265358979323846",
        "9007199254740993.0",
    ] {
        assert!(!is_exact_number(text.as_bytes()), "{text}");
    }
}

#[test]
fn flaws_are_named_by_place_and_text() {
    let none = None::<(String, String)>;
    let some = |place: &str, what: &str| Some((place.to_owned(), what.to_owned()));
    let many: String = (0..40).map(|n| format!("\"k{n}\":{n},")).collect();
    for (text, expected) in [
        (
            r#"{"a":[1,{"b/c":12345678901234567890123}]}"#.to_owned(),
            some("/a/1/b~1c", "number 12345678901234567890123"),
        ),
        (r#"{"a":1,"b":2,"a":3}"#.to_owned(), some("/a", "key a")),
        (r#"{"x":{"a":1,"\u0061":2}}"#.to_owned(), some("/x/a", "key a")),
        (r#"{"\u0061":1,"b":1,"a":2}"#.to_owned(), some("/a", "key a")),
        (format!("{{{many}\"k7\":1}}"), some("/k7", "key k7")),
        (format!("{{{many}\"z\":1}}"), none.clone()),
        (r#"{"a":"1e400","b":"\"{\"a\":1","c":[[],{},null,true]}"#.to_owned(), none.clone()),
        (
            r#"[{"a":1},{"a":1}] {"a":9007199254740993}"#.to_owned(),
            some("/a", "number 9007199254740993"),
        ),
        ("[".repeat(100_000), some(&"/0".repeat(257), "deep")),
        ("{\"a\": NaN}".to_owned(), none.clone()),
        ("\"unfinished \\".to_owned(), none),
    ] {
        assert_eq!(flaw(&text), expected, "{}", text.get(..60).unwrap_or(&text));
    }
}

#[test]
fn a_scope_hides_what_stands_elsewhere() {
    let text = r#"{"id":9007199254740993,"params":{"x":{"x":1,"x":2},"arguments":{"n":1e400}}}"#;
    let within = |scope| JsonFlaw::within(text, scope).map(|flaw| flaw.pointer);
    assert_eq!(within(JsonScope::Whole).as_deref(), Some("/id"));
    let path = JsonScope::Below(&[&["params", "arguments"]]);
    assert_eq!(within(path).as_deref(), Some("/params/arguments/n"));
    let paths = JsonScope::Below(&[&["result"], &["params", "other"], &["params", "arguments"]]);
    assert_eq!(within(paths).as_deref(), Some("/params/arguments/n"));
    assert_eq!(within(JsonScope::Below(&[&["id"]])).as_deref(), Some("/id"));
    assert_eq!(within(JsonScope::Below(&[&[]])).as_deref(), Some("/id"));
    // Duplicate members are ambiguous at any place; a number outside of the scope is not checked.
    assert_eq!(within(JsonScope::Member("arguments")).as_deref(), Some("/params/x/x"));
    let once = text.replace(r#""x":1,"x":2"#, r#""x":9007199254740993"#);
    let found = JsonFlaw::within(once, JsonScope::Member("arguments")).unwrap();
    assert_eq!(found.pointer, "/params/arguments/n");
    assert_eq!(within(JsonScope::Below(&[&["params", "other"]])), None);
    let twice = r#"{"params":{"arguments":{},"arguments":{}}}"#;
    assert_eq!(JsonFlaw::within(twice, path).unwrap().pointer, "/params/arguments");
    let found = JsonFlaw::within(text, path).unwrap();
    assert_eq!(found.clone().seen_from("/params/arguments").pointer, "/n");
    assert_eq!(found.clone().seen_from("/params/arg"), found);
}

#[test]
fn a_refusal_names_field_text_and_help() {
    let stop = JsonFlaw::in_text(r#"{"id":1234567890123456789}"#).unwrap().stop();
    assert_eq!(
        (stop.code, stop.field.as_deref(), stop.help.as_deref()),
        (Code::InputNumberNotExact, Some("/id"), Some("send it as a string"))
    );
    assert!(stop.message.contains("`1234567890123456789` at `/id`"), "{}", stop.message);
    let stop = JsonFlaw::in_text(r#"{"id":1,"id":2}"#).unwrap().stop();
    assert_eq!((stop.code, stop.field.as_deref()), (Code::InputSchema, Some("/id")));
}

#[test]
fn values_of_programs_are_held_to_the_same() {
    let pointer = |value: Value| JsonFlaw::in_value(&value).map(|flaw| flaw.pointer);
    assert_eq!(pointer(json!({"a": [0, 9007199254740993_u64]})).as_deref(), Some("/a/1"));
    assert_eq!(pointer(json!([i64::MIN])).as_deref(), Some("/0"));
    assert_eq!(pointer(json!([u64::MAX])).as_deref(), Some("/0"));
    assert_eq!(pointer(json!([9007199254740994_u64, 0.1, 1e300, -(1_i64 << 53)])), None);
}

#[test]
fn equal_numbers_have_one_form() {
    for (text, expected) in [
        ("1.0", "1"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("10e-1", "1"),
        ("1e19", "10000000000000000000"),
        ("1234567890123456800.0", "1234567890123456800"),
        ("-5e3", "-5000"),
        ("0.5", "0.5"),
        ("1e21", "1e+21"),
        ("1000000000000000000000", "1e+21"),
        ("-1e19", "-1e+19"),
        ("9223372036854775808", "9223372036854775808"),
        ("9.223372036854776e18", "9223372036854776000"),
    ] {
        let mut value: Value = serde_json::from_str(text).unwrap();
        // The exact value of a double is not what its digits say.
        let settled = settle_numbers(&mut value).is_ok();
        assert_eq!(settled, is_exact_number(text.as_bytes()), "{text}");
        if settled {
            assert_eq!(value.to_string(), expected, "{text}");
        }
    }
}

/// A seeded generator (xorshift).
struct Seed(u64);

impl Seed {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    fn digits(&mut self, most: u64) -> String {
        let count = 1 + self.next(most);
        (0..count).map(|_| char::from(b'0' + self.next(10) as u8)).collect()
    }

    /// The text of a JSON number: arbitrary digits, or something near the edge of what is exact.
    fn number(&mut self) -> String {
        let sign = if self.next(3) == 0 { "-" } else { "" };
        let body = match self.next(6) {
            0 => (9_007_199_254_740_992_u64 + self.next(40) - 20).to_string(),
            1 => u64::MAX.wrapping_sub(self.next(3000)).to_string(),
            2 => {
                let double = f64::from_bits(self.0 & 0x7fef_ffff_ffff_ffff);
                format!("{double:e}")
            }
            3 => format!("{}.{}", self.whole(), self.digits(25)),
            4 => format!("{}.{}e{}", self.whole(), self.digits(6), self.next(700) as i64 - 350),
            _ => {
                let (whole, zeros) = (self.whole(), "0".repeat(self.next(12) as usize));
                if whole == "0" { whole } else { format!("{whole}{zeros}") }
            }
        };
        format!("{sign}{body}")
    }

    fn whole(&mut self) -> String {
        let digits = self.digits(22);
        let trimmed = digits.trim_start_matches('0');
        if trimmed.is_empty() { "0".to_owned() } else { trimmed.to_owned() }
    }
}

/// Members that a parser skips, whatever they hold.
const SIBLINGS: [&str; 7] = [
    r#""\ud800":1"#,
    r#""junk":{"\ud800":1,"\udfff":[]}"#,
    r#""text":"\"arguments\":{\"id\":1}""#,
    r#""list":[[],{},[{"a":null}],-1.5e3]"#,
    r#""\u0078":"\\""#,
    r#""arg\u0075ment":{"id":1}"#,
    "\"deep\":@",
];

#[test]
fn flaw_beside_any_sibling_is_found() {
    let mut seed = Seed(0x5bd1_e995_9d1b_873f);
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let flawed =
        [r#"{"id":1,"id":2}"#, r#"{"id":0.10000000000000000001}"#, r#"{"a":{"\u0069d":1,"id":1}}"#];
    let named = [r#""arguments""#, r#""\u0061rguments""#];
    for round in 0..4_000 {
        let mut around = |member: String| {
            let mut members = vec![member];
            let mut left: Vec<&str> = SIBLINGS.to_vec();
            for _ in 0..seed.next(4) {
                let sibling = left.remove(seed.next(left.len() as u64) as usize);
                let at = seed.next(members.len() as u64 + 1) as usize;
                members.insert(at, sibling.replace('@', &deep));
            }
            format!("{{{}}}", members.join(" ,\n"))
        };
        let name = named[round % 2];
        let inner = around(format!("{name}:{}", flawed[round % 3]));
        let text = around(format!("\"params\" :{inner}"));
        let scopes = [
            JsonScope::Whole,
            JsonScope::Below(&[&["result"], &["params", "arguments"]]),
            JsonScope::Below(&[&["params"]]),
            JsonScope::Member("arguments"),
        ];
        for scope in scopes {
            assert!(JsonFlaw::within(&text, scope).is_some(), "{scope:?}: {text}");
        }
    }
}

/// The sign, the significant digits and the power of ten, computed the plain way.
fn decimal(text: &str) -> (bool, String, i64) {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut power = exponent.parse::<i64>().unwrap() - fraction.len() as i64;
    let mut digits = format!("{whole}{fraction}").trim_start_matches('0').to_owned();
    while digits.ends_with('0') {
        digits.pop();
        power += 1;
    }
    if digits.is_empty() { (false, digits, 0) } else { (negative, digits, power) }
}

#[test]
fn accepted_numbers_are_one_number_wherever_they_go() {
    let mut seed = Seed(0x9e37_79b9_7f4a_7c15);
    let (mut accepted, mut refused) = (0, 0);
    let mut digests: std::collections::HashMap<Digest, (bool, String, i64)> = Default::default();
    for _ in 0..40_000 {
        let text = seed.number();
        let written = decimal(&text);
        let parsed: Result<Value, _> = serde_json::from_str(&text);
        let told = parsed.as_ref().map(|value| String::from_utf8(canonical(value)).unwrap());
        let is_same = told.as_ref().is_ok_and(|told| decimal(told) == written);
        assert_eq!(is_exact_number(text.as_bytes()), is_same, "{text}: {told:?}");
        assert_eq!(JsonFlaw::in_text(&text).is_none(), is_same, "{text}");
        if !is_same {
            refused += 1;
            continue;
        }
        accepted += 1;
        let mut value = parsed.unwrap();
        settle_numbers(&mut value).unwrap_or_else(|flaw| panic!("{text}: {flaw}"));
        assert_eq!(decimal(&value.to_string()), written, "{text} as a value");
        let stored = canonical(&value);
        assert_eq!(decimal(std::str::from_utf8(&stored).unwrap()), written, "{text} as stored");
        let mut again: Value = serde_json::from_slice(&stored).unwrap();
        settle_numbers(&mut again).unwrap();
        assert_eq!(again, value, "{text} taken up from the store");
        let other = digests.entry(Digest::of_bytes(&stored)).or_insert_with(|| written.clone());
        assert_eq!(*other, written, "{text} shares a digest");
    }
    assert!(accepted > 5_000 && refused > 5_000, "{accepted} accepted, {refused} refused");
    assert!(digests.len() > 5_000, "{} digests", digests.len());
}

#[test]
fn spellings_of_one_number_share_a_digest() {
    let mut seed = Seed(42);
    for _ in 0..5_000 {
        let digits = format!("{}{}", 1 + seed.next(9), seed.digits(14));
        let shift = seed.next(20);
        let spellings = [
            format!("{digits}e-{shift}"),
            format!("{digits}00e-{}", shift + 2),
            format!("0.{digits}e{}", digits.len() as i64 - shift as i64),
            format!("{digits}.000E-{shift}"),
        ];
        let digest = |text: &String| {
            assert!(is_exact_number(text.as_bytes()), "{text}");
            let mut value: Value = serde_json::from_str(text).unwrap();
            settle_numbers(&mut value).unwrap();
            (Digest::of(&value), value.to_string())
        };
        let first = digest(&spellings[0]);
        for other in &spellings {
            assert_eq!(digest(other), first, "{other} and {}", spellings[0]);
        }
    }
}
