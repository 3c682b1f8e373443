//! Error message of an HTTP response: what its body tells a reader, cleaned and bounded.

use haft_model::cleaned;
use serde_json::Value;

/// Most characters of a message.
const MOST: usize = 400;

/// Members that hold a message, the most telling first.
const MEMBERS: [&str; 7] =
    ["message", "error_description", "detail", "msg", "error", "title", "errors"];

/// The message in a body: a member of a JSON body, or the first line of a text. Markup says nothing
/// in its first line.
pub(super) fn read(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let said = match serde_json::from_str::<Value>(&text) {
        Ok(value) => found(&value, 0)?.to_owned(),
        Err(_) => text.lines().map(str::trim).find(|line| !line.is_empty())?.to_owned(),
    };
    let said = cleaned(&said).split_whitespace().collect::<Vec<_>>().join(" ");
    bounded(said).filter(|said| !said.starts_with('<'))
}

/// The message in a value, at most four levels deep: `error.message`, `errors[0].detail`.
fn found(value: &Value, depth: usize) -> Option<&str> {
    match value {
        Value::String(text) => Some(text.as_str()).filter(|text| !text.trim().is_empty()),
        Value::Object(fields) if depth < 4 => {
            MEMBERS.iter().find_map(|name| found(fields.get(*name)?, depth + 1))
        }
        Value::Array(items) if depth < 4 => found(items.first()?, depth + 1),
        Value::Array(_) | Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {
            None
        }
    }
}

/// A text of at most [`MOST`] characters. It is cut between words: redaction, which comes later,
/// would not find half of a secret.
fn bounded(text: String) -> Option<String> {
    let Some((end, _)) = text.char_indices().nth(MOST) else {
        return Some(text).filter(|text| !text.is_empty());
    };
    let (words, _) = text.get(..end)?.rsplit_once(' ')?;
    Some(format!("{words}…"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_taken_from_usual_members() {
        for (body, said) in [
            (r#"{"message": "no such row"}"#, Some("no such row")),
            (r#"{"error": "bad", "detail": "the date is over"}"#, Some("the date is over")),
            (r#"{"error": {"code": 7, "message": "no such row"}}"#, Some("no such row")),
            (r#"{"title": "Invalid", "status": 422}"#, Some("Invalid")),
            (r#"{"errors": [{"detail": "a is missing"}, {"detail": "b"}]}"#, Some("a is missing")),
            (r#"{"detail": [{"loc": ["a"], "msg": "too late"}]}"#, Some("too late")),
            (r#""only a text""#, Some("only a text")),
            ("\n  plain\u{1b}[31m words\u{202e}\nsecond line", Some("plain words")),
            (r#"{"message": "two\nlines\u0000"}"#, Some("two lines")),
            (r#"{"code": 7}"#, None),
            ("<html><body>502</body></html>", None),
            ("", None),
            ("[[[[[[\"deep\"]]]]]]", None),
        ] {
            assert_eq!(read(body.as_bytes()).as_deref(), said, "{body}");
        }
    }

    #[test]
    fn long_message_is_cut_between_words() {
        let long = format!("{} {}", "a".repeat(390), "secret-that-is-long");
        assert_eq!(read(long.as_bytes()), Some(format!("{}…", "a".repeat(390))));
        assert_eq!(read("a".repeat(401).as_bytes()), None);
        assert_eq!(read("a".repeat(400).as_bytes()), Some("a".repeat(400)));
    }
}
