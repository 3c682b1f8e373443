//! Property tests of percent-encoding: no random secret stays readable.

use haft_model::Secret;

use super::super::Redactor;
use super::*;
use crate::queue::Dice;

/// Characters that are encoded always, sometimes and never, percent signs and pluses among them.
const LETTERS: [char; 24] = [
    'a', 'Z', '0', '9', '4', '1', '%', '+', ' ', '/', '?', '&', '=', '#', '"', '\\', '.', '~', '-',
    ':', 'é', '鍵', '🔑', '\u{7f}',
];

fn secret(dice: &mut Dice) -> String {
    let length = 6 + dice.roll(20);
    (0..length).map(|_| LETTERS[dice.roll(LETTERS.len() as u64) as usize]).collect()
}

fn spelled(byte: u8, upper: bool) -> String {
    if upper { format!("%{byte:02X}") } else { format!("%{byte:02x}") }
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// One encoding; it always encodes `%` itself, as every encoder does.
fn encoded(text: &str, kind: u64, dice: &mut Dice) -> String {
    let mut written = String::new();
    for byte in text.bytes() {
        let plain = char::from(byte);
        match kind {
            0 | 1 => written.push_str(&spelled(byte, kind == 0)),
            2 | 3 if is_unreserved(byte) => written.push(plain),
            2 | 3 => written.push_str(&spelled(byte, kind == 2)),
            4 | 5 if byte == b' ' => written.push('+'),
            4 | 5 if is_unreserved(byte) => written.push(plain),
            4 | 5 => written.push_str(&spelled(byte, kind == 4)),
            // Encodes some bytes, in either case, at random.
            _ if byte.is_ascii() && byte != b'%' && byte != b'+' && dice.roll(2) == 0 => {
                written.push(plain);
            }
            _ => written.push_str(&spelled(byte, dice.roll(2) == 0)),
        }
    }
    written
}

#[test]
fn no_encoding_leaves_a_secret_readable() {
    for seed in 0..3000 {
        let mut dice = Dice(seed);
        let secret = secret(&mut dice);
        let mut redactor = Redactor::default();
        redactor.hide(&Secret::new(secret.clone()));
        let mut written = secret.clone();
        let times = 1 + dice.roll(3);
        for _ in 0..times {
            let kind = dice.roll(7);
            written = encoded(&written, kind, &mut dice);
        }
        let around = ["", "https://a.example/?q=", "5%", "%2", "%41+", "é"];
        let before = around[dice.roll(around.len() as u64) as usize];
        let after = around[dice.roll(around.len() as u64) as usize];
        let text = format!("{before}{written}{after}");
        let (clean, count) = redactor.text(&text);
        assert!(count > 0, "seed {seed}: {secret:?} in {text:?}");
        assert!(!clean.contains(&written), "seed {seed}: {clean:?}");
        let mut field = serde_json::json!({ text: 1 });
        assert!(redactor.everywhere(&mut field) > 0, "seed {seed}: as the name of a field");
    }
}

#[test]
fn all_places_are_taken_out_and_the_rest_stays() {
    for (text, value, expected) in [
        (
            "a=%6fpen%20sesame&b=open+sesame.",
            "open sesame",
            Some(("a=[withheld]&b=[withheld].", 2)),
        ),
        ("%256Fpen%2520sesame", "open sesame", Some(("[withheld]", 1))),
        ("100%41bc%2Fdef", "41bc/def", Some(("100%[withheld]", 1))),
        ("50%252Foff", "50%2Foff", Some(("[withheld]", 1))),
        ("key%20one", "key two", None),
        ("100% sure, %zz and %", "sure thing", None),
        ("", "open", None),
        ("%6f", "", None),
    ] {
        let expected = expected.map(|(text, count)| (text.to_owned(), count));
        assert_eq!(without(text, value), expected, "{text}");
    }
}
