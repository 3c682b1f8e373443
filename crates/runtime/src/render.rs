//! How a result reads: for a model, for people, for the search in a transcript.

use haft_model::{Content, Link, cleaned_value};
use serde_json::Value;

/// What a model reads where a tool gave nothing.
pub(crate) const NOTHING: &str = "(the tool gave no output)";

/// The pieces as plain text, one after the other.
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
        Content::Text { text }
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

/// Whether a piece says more than its words.
pub(crate) fn is_more_than_words(piece: &Content) -> bool {
    match piece {
        Content::Image(_)
        | Content::Audio(_)
        | Content::Video(_)
        | Content::File(_)
        | Content::EmbeddedResource { .. }
        | Content::ResourceLink(_)
        | Content::ArtifactRef(_)
        | Content::PersistedOutputRef(_)
        | Content::HandoffRef(_) => true,
        Content::Text { .. }
        | Content::StructuredContent { .. }
        | Content::Log { .. }
        | Content::Diff { .. } => false,
    }
}

/// The first characters of a text, cut at a character; and whether anything was left out.
pub(crate) fn capped(text: &str, most: usize) -> (&str, bool) {
    match text.char_indices().nth(most) {
        Some((at, _)) => (text.get(..at).unwrap_or_default(), true),
        None => (text, false),
    }
}

/// The bytes that a driver gave, in the form in which they are kept.
pub(crate) fn native(structured: Option<&Value>, content: &[Content]) -> Vec<u8> {
    match (structured, content) {
        (Some(value), _) => serde_json::to_vec(value).unwrap_or_default(),
        (None, [Content::Text { text }]) => text.clone().into_bytes(),
        (None, []) => Vec::new(),
        (None, pieces) => serde_json::to_vec(pieces).unwrap_or_default(),
    }
}

/// One line for people.
pub(crate) fn line(text: &str) -> String {
    let flat: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match capped(flat.trim(), 120) {
        (short, true) => format!("{short}…"),
        (whole, false) => whole.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_a_character_and_says_so() {
        assert_eq!(capped("aä€b", 3), ("aä€", true));
        assert_eq!(capped("aä€b", 4), ("aä€b", false));
        assert_eq!(line("two\nlines "), "two lines");
    }
}
