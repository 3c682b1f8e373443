//! Undecodable messages: recovers the id of one, so that its call fails at once and does not wait
//! forever.

use serde_json::Value;

/// The id of a message that does not parse as JSON: invalid UTF-8, invalid numbers, or nesting
/// deeper than the parser's limit. `None` if it has no id or is not a response.
pub(crate) fn id_of_answer(message: &[u8]) -> Option<Value> {
    let mut rest = message.trim_ascii_start().strip_prefix(b"{")?;
    let mut id = None;
    loop {
        rest = rest.trim_ascii_start();
        let (key, after) = string(rest)?;
        rest = after.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        if key == b"method" {
            // It is a request, whose id the other side made up.
            return None;
        }
        let (value, after) = skipped(rest);
        if key == b"id" {
            id = serde_json::from_slice::<Value>(value.trim_ascii()).ok();
        }
        match after {
            [b',', after @ ..] => rest = after,
            _ => return id.filter(|id| id.is_number() || id.is_string()),
        }
    }
}

/// A string at the beginning of a text, without its quotes, and the rest.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inside = text.strip_prefix(b"\"")?;
    let mut at = 0;
    loop {
        match inside.get(at)? {
            b'"' => return Some((inside.get(..at)?, inside.get(at + 1..)?)),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Skips a value of any kind, and returns the rest from its comma or brace on.
fn skipped(text: &[u8]) -> (&[u8], &[u8]) {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                let after = text.get(at..).and_then(string).map_or(0, |(_, after)| after.len());
                at = text.len() - after;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => break,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => break,
            _ => {}
        }
        at += 1;
    }
    (text.get(..at).unwrap_or_default(), text.get(at..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unreadable_responses_are_matched_by_id() {
        let deep =
            format!("{{\"id\":7,\"result\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let cut = format!("{{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}", "{\"a\":".repeat(1000));
        let cases: [(&[u8], Option<Value>); 9] = [
            (br#"{"jsonrpc":"2.0","id":1,"result":{"n":NaN}}"#, Some(json!(1))),
            (br#" {"result":{"id":3,"x":"},\"id\":4"},"id":"a"}"#, Some(json!("a"))),
            (b"{\"id\":5,\"result\":\"\xff\xfe\"}", Some(json!(5))),
            (deep.as_bytes(), Some(json!(7))),
            (cut.as_bytes(), Some(json!(8))),
            (br#"{"id":1,"method":"roots/list","params":NaN}"#, None),
            (br#"{"result":NaN}"#, None),
            (b"listening on port 3000", None),
            (b"", None),
        ];
        for (message, expected) in cases {
            let shown = String::from_utf8_lossy(message.get(..60).unwrap_or(message)).into_owned();
            assert_eq!(id_of_answer(message), expected, "{shown}");
        }
    }
}
