//! Result rendering: turns content into text for a model, for people and for transcript search.

use std::collections::HashMap;

use haft_driver::ExactNumber;
use haft_model::{Content, Link, cleaned_value};
use serde_json::Value;

/// Text that a model reads for an empty result.
pub(crate) const NOTHING: &str = "(the tool gave no output)";

/// The pieces as plain text, one per line.
pub(crate) fn plain(content: &[Content]) -> String {
    let pieces: Vec<String> = content.iter().map(piece).collect();
    pieces.join("\n")
}

fn piece(piece: &Content) -> String {
    let link = |what: &str, link: &Link| {
        let name = link.name.as_deref().unwrap_or(what);
        format!("[{name}: {}]", link.uri)
    };
    match piece {
        Content::Text { text, .. }
        | Content::EmbeddedResource { text, .. }
        | Content::Log { text, .. }
        | Content::Diff { text, .. } => text.clone(),
        Content::StructuredContent { data } => cleaned_value(data).to_string(),
        Content::Image(media)
        | Content::Audio(media)
        | Content::Video(media)
        | Content::File(media) => {
            format!("[{} of {} bytes]", media.mime_type, media.data.len() / 4 * 3)
        }
        Content::ResourceLink(found) => link("resource", found),
        Content::ArtifactRef(found) => link("artifact", found),
        Content::PersistedOutputRef(found) => link("whole output", found),
        Content::HandoffRef(found) => link("handoff", found),
    }
}

/// The pieces with at most `most` characters of text: the piece in which the limit lies is cut, and
/// the text after it is left out. Media and links stay, since they are not read as text.
pub(crate) fn preview(content: &[Content], most: usize) -> Vec<Content> {
    let mut left = most;
    let shown = content.iter().filter_map(|piece| {
        let mut piece = match piece {
            Content::StructuredContent { data } => Content::text(cleaned_value(data).to_string()),
            other => other.clone(),
        };
        let Some(text) = text_mut(&mut piece) else { return Some(piece) };
        if left == 0 && !text.is_empty() {
            return None;
        }
        let length = capped(text, left).0.len();
        left -= text.get(..length).map_or(0, |shown| shown.chars().count());
        text.truncate(length);
        Some(piece)
    });
    shown.collect()
}

/// The text of a piece that is read as text.
fn text_mut(piece: &mut Content) -> Option<&mut String> {
    match piece {
        Content::Text { text, .. }
        | Content::EmbeddedResource { text, .. }
        | Content::Log { text, .. }
        | Content::Diff { text, .. } => Some(text),
        Content::StructuredContent { .. }
        | Content::Image(_)
        | Content::Audio(_)
        | Content::Video(_)
        | Content::File(_)
        | Content::ResourceLink(_)
        | Content::ArtifactRef(_)
        | Content::PersistedOutputRef(_)
        | Content::HandoffRef(_) => None,
    }
}

/// Truncates a text to `most` characters; the flag says that something was cut.
pub(crate) fn capped(text: &str, most: usize) -> (&str, bool) {
    match text.char_indices().nth(most) {
        Some((at, _)) => (text.get(..at).unwrap_or_default(), true),
        None => (text, false),
    }
}

/// A value as a reader wants it: a string is text, and everything else is JSON.
pub(crate) fn words(value: &Value, exact: &[ExactNumber]) -> String {
    match &*cleaned_value(value) {
        Value::String(text) => text.clone(),
        other => json(other, exact),
    }
}

/// A value as JSON, with exact digits for numbers that a double cannot hold.
pub(crate) fn json(value: &Value, exact: &[ExactNumber]) -> String {
    if exact.is_empty() {
        return value.to_string();
    }
    let by_pointer = exact.iter().map(|number| (number.pointer.as_str(), number.digits.as_str()));
    let (mut text, by_pointer) = (String::new(), by_pointer.collect());
    write(value, &mut String::new(), &by_pointer, &mut text);
    text
}

fn write(value: &Value, at: &mut String, exact: &HashMap<&str, &str>, text: &mut String) {
    let length = at.len();
    match value {
        Value::Number(number) => {
            // A hook or redaction may have replaced the number.
            let digits = exact
                .get(at.as_str())
                .filter(|digits| digits.parse() == Ok(number.as_f64().unwrap_or(f64::NAN)));
            text.push_str(digits.copied().unwrap_or(&number.to_string()));
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                at.push_str(&format!("/{index}"));
                write(item, at, exact, text);
                at.truncate(length);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            text.push('{');
            for (index, (name, item)) in fields.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                text.push_str(&Value::String(name.clone()).to_string());
                text.push(':');
                at.push('/');
                at.push_str(&name.replace('~', "~0").replace('/', "~1"));
                write(item, at, exact, text);
                at.truncate(length);
            }
            text.push('}');
        }
        Value::Null | Value::Bool(_) | Value::String(_) => text.push_str(&value.to_string()),
    }
}

/// Bytes of a driver's output, in the form that the ledger stores: the value where there is no
/// content, a text that says as much as the value, or both.
pub(crate) fn native(
    structured: Option<&Value>,
    content: &[Content],
    exact: &[ExactNumber],
) -> Vec<u8> {
    let says = |text: &str, value: &Value| {
        serde_json::from_str::<Value>(text).ok().as_ref() == Some(value)
    };
    match (structured, content) {
        (Some(value), []) => json(value, exact).into_bytes(),
        (Some(value), [Content::Text { text, .. }]) if says(text, value) => {
            text.clone().into_bytes()
        }
        (Some(value), pieces) => {
            let whole = serde_json::json!({ "structured_content": value, "content": pieces });
            whole.to_string().into_bytes()
        }
        (None, [Content::Text { text, .. }]) => text.clone().into_bytes(),
        (None, []) => Vec::new(),
        (None, pieces) => serde_json::to_vec(pieces).unwrap_or_default(),
    }
}

/// One line of at most 120 characters, without control characters.
pub(crate) fn line(text: &str) -> String {
    let flat: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match capped(flat.trim(), 120) {
        (short, true) => format!("{short}…"),
        (whole, false) => whole.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rendered_value_keeps_digits_that_a_double_loses() {
        let value = json!({"a/b": [1, 0.1], "n": 0.5, "s": "x\"", "gone": "***", "changed": 7.5});
        let exact = |pointer: &str, digits: &str| ExactNumber {
            pointer: pointer.to_owned(),
            digits: digits.to_owned(),
        };
        let long = "0.1000000000000000000001";
        let numbers = [exact("/a~1b/1", long), exact("/gone", "1.5"), exact("/changed", "2.5")];
        assert_eq!(
            super::json(&value, &numbers),
            format!(r#"{{"a/b":[1,{long}],"n":0.5,"s":"x\"","gone":"***","changed":7.5}}"#)
        );
        assert_eq!(super::json(&value, &[]), value.to_string());
    }

    #[test]
    fn preview_cuts_text_and_keeps_media() {
        let image = Content::Image(haft_model::Media::new("image/png", "aW1n"));
        let log = |text: &str| Content::Log { text: text.to_owned(), stream: None };
        let pieces = [Content::text("aä"), log("€bc"), image.clone(), Content::text("d")];
        assert_eq!(preview(&pieces, 3), [Content::text("aä"), log("€"), image.clone()]);
        assert_eq!(preview(&pieces, 6), pieces);
        assert_eq!(preview(&pieces, 0), [image]);
    }

    #[test]
    fn text_is_truncated_at_character_boundary_and_flagged() {
        assert_eq!(capped("aä€b", 3), ("aä€", true));
        assert_eq!(capped("aä€b", 4), ("aä€b", false));
        assert_eq!(line("two\nlines "), "two lines");
    }
}
