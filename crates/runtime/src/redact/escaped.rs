//! JSON-escaped forms of a text, as common JSON encoders write it inside a string.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

/// Greatest depth of JSON inside a JSON string.
const DEEPEST: usize = 3;

/// Every escaped form of a text: slashes escaped or not, non-ASCII as `\u` escapes or not, and each
/// of them escaped again up to the depth.
pub(super) fn all(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut layer = BTreeSet::from([text.to_owned()]);
    for _ in 0..DEEPEST {
        layer = layer.iter().flat_map(|text| once(text)).filter(|form| form != text).collect();
        found.append(&mut layer.clone());
    }
    found
}

fn once(text: &str) -> [String; 4] {
    let written = Value::String(text.to_owned()).to_string();
    let usual = written.get(1..written.len().saturating_sub(1)).unwrap_or_default().to_owned();
    let (slashes, numbers) = (usual.replace('/', "\\/"), in_numbers(&usual));
    let both = numbers.replace('/', "\\/");
    [usual, slashes, numbers, both]
}

fn in_numbers(text: &str) -> String {
    let mut written = String::new();
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => written.push(char::from(byte)),
            Ok(_) | Err(_) => {
                let _ = write!(written, "\\u{unit:04x}");
            }
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_however_json_writes_it() {
        assert!(all("plain-text_1").is_empty());
        let found = all("a/\"é");
        for text in [
            r#"a/\"é"#,
            r#"a\/\"é"#,
            r#"a/\"\u00e9"#,
            r#"a\/\"\u00e9"#,
            r#"a/\\\"é"#,
            r#"a\\/\\\"\\u00e9"#,
        ] {
            assert!(found.contains(text), "{text}: {found:?}");
        }
    }
}
