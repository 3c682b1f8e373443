//! Redaction of content: removes sensitive values from pieces, their links, their bytes and the
//! fields that a backend's block has beside them.

use haft_model::{BlockFields, Content, Link, Media, cleaned_value};
use serde_json::{Map, Value};

use super::Redactor;

/// `[withheld]` in base64, for bytes that hold a sensitive value.
const WITHHELD_BYTES: &str = "W3dpdGhoZWxkXQ==";

impl Redactor {
    /// Redacts content pieces; returns the count.
    pub(crate) fn content(&self, pieces: &mut [Content]) -> u64 {
        pieces.iter_mut().map(|piece| self.piece(piece)).sum()
    }

    fn piece(&self, piece: &mut Content) -> u64 {
        match piece {
            Content::Text { text, block } => self.in_place(text) + self.block(block),
            Content::EmbeddedResource { uri, text, block, .. } => {
                self.in_place(uri) + self.in_place(text) + self.block(block)
            }
            Content::Log { text, .. } | Content::Diff { text, .. } => self.in_place(text),
            Content::StructuredContent { data } => self.everywhere(data),
            Content::ResourceLink(link)
            | Content::ArtifactRef(link)
            | Content::PersistedOutputRef(link)
            | Content::HandoffRef(link) => self.link(link),
            Content::Image(media)
            | Content::Audio(media)
            | Content::Video(media)
            | Content::File(media) => self.media(media),
        }
    }

    /// Redacts a link; returns the count.
    pub(crate) fn link(&self, link: &mut Link) -> u64 {
        let name = link.name.as_mut().map_or(0, |name| self.in_place(name));
        self.in_place(&mut link.uri) + name + self.block(&mut link.block)
    }

    /// Redacts media; bytes that hold a sensitive value are withheld whole, since a part of them
    /// would be no base64.
    fn media(&self, media: &mut Media) -> u64 {
        let name = media.name.as_mut().map_or(0, |name| self.in_place(name));
        let is_sensitive = self.values.iter().any(|value| media.data.contains(value.expose()));
        if is_sensitive {
            media.data = WITHHELD_BYTES.to_owned();
        }
        name + u64::from(is_sensitive) + self.block(&mut media.block)
    }

    /// Redacts the other fields of a block, and cleans those that people and models read. `_meta` is
    /// for programs and keeps every letter.
    fn block(&self, block: &mut Option<BlockFields>) -> u64 {
        block.as_deref_mut().map_or(0, |fields| self.fields(fields))
    }

    /// Redacts the metadata of a result; returns the count.
    pub(crate) fn metadata(&self, meta: &mut Map<String, Value>) -> u64 {
        let inside: u64 = meta.values_mut().map(|value| self.everywhere(value)).sum();
        inside + self.names(meta)
    }

    fn fields(&self, fields: &mut Map<String, Value>) -> u64 {
        let mut count = 0;
        for (name, value) in fields.iter_mut() {
            match (name.as_str(), value) {
                ("_meta", value) => count += self.everywhere(value),
                ("resource", Value::Object(inner)) => count += self.fields(inner),
                (_, value) => {
                    count += self.everywhere(value);
                    *value = cleaned_value(value).into_owned();
                }
            }
        }
        count + self.names(fields)
    }

    fn in_place(&self, text: &mut String) -> u64 {
        let (clean, count) = self.text(text);
        *text = clean;
        count
    }
}

#[cfg(test)]
mod tests {
    use haft_model::Secret;
    use serde_json::json;

    use super::*;
    use crate::redact::WITHHELD;

    #[test]
    fn secret_is_redacted_in_every_field_of_a_block() {
        let mut redactor = Redactor::default();
        redactor.hide(&Secret::new("canary-4711".to_owned()));
        // "see canary-4711" in base64.
        let data = "c2VlIGNhbmFyeS00NzEx";
        let uri = "file:///canary-4711";
        let pieces = json!([
            {"type": "text", "text": "a canary-4711", "block": {"_meta": {"k": ["canary-4711"]}}},
            {"type": "image", "mime_type": "image/png", "data": data},
            {"type": "resource_link", "uri": uri, "name": "n",
             "block": {"title": "x\u{202e}canary-4711", "_meta": {"canary-4711": "\u{202e}"}}},
            {"type": "embedded_resource", "uri": uri, "text": "t",
             "block": {"resource": {"_meta": {"k": "canary-4711"}}}},
            {"type": "file", "mime_type": "a/b", "data": "Yg==", "name": uri,
             "block": {"resource": {"uri": uri}}},
        ]);
        let mut pieces: Vec<Content> = serde_json::from_value(pieces).unwrap();
        let count = redactor.content(&mut pieces);
        let hidden = "file:///[withheld]";
        let expected = json!([
            {"type": "text", "text": "a [withheld]", "block": {"_meta": {"k": [WITHHELD]}}},
            {"type": "image", "mime_type": "image/png", "data": WITHHELD_BYTES},
            {"type": "resource_link", "uri": hidden, "name": "n",
             "block": {"title": "x[withheld]", "_meta": {WITHHELD: "\u{202e}"}}},
            {"type": "embedded_resource", "uri": hidden, "text": "t",
             "block": {"resource": {"_meta": {"k": WITHHELD}}}},
            {"type": "file", "mime_type": "a/b", "data": "Yg==", "name": hidden,
             "block": {"resource": {"uri": hidden}}},
        ]);
        assert_eq!((json!(pieces), count), (expected, 10));
    }
}
