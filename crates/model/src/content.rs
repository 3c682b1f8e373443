//! Result content: text, values, media and links that make up a result.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Digest;

/// Fields of a backend's content block that its piece has no place for, by their names on the wire:
/// `annotations`, `_meta`, `title`, `icons`; those of an embedded resource below `resource`.
pub type BlockFields = Box<Map<String, Value>>;

/// One piece of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Plain text.
    Text {
        /// The text.
        text: String,
        /// Other fields of the backend's block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block: Option<BlockFields>,
    },
    /// A JSON value.
    StructuredContent {
        /// The value.
        data: Value,
    },
    /// An image.
    Image(Media),
    /// Audio.
    Audio(Media),
    /// Video.
    Video(Media),
    /// A file with its bytes.
    File(Media),
    /// A link to a resource that the reader can fetch.
    ResourceLink(Link),
    /// A resource with its text included.
    EmbeddedResource {
        /// URI of the resource.
        uri: String,
        /// Its media type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Text of the resource.
        text: String,
        /// Other fields of the backend's block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block: Option<BlockFields>,
    },
    /// Lines of a log.
    Log {
        /// The log lines.
        text: String,
        /// `stdout`, `stderr` …
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stream: Option<String>,
    },
    /// A change, as a unified diff.
    Diff {
        /// The unified diff.
        text: String,
        /// Path of the changed file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// A deliverable with an identity of its own.
    ArtifactRef(Link),
    /// The full output of which the result shows a part.
    PersistedOutputRef(Link),
    /// A handoff: another agent continues.
    HandoffRef(Link),
}

impl Content {
    /// Plain text of our own.
    pub fn text(text: impl Into<String>) -> Content {
        Content::Text { text: text.into(), block: None }
    }

    /// The other fields of the backend's block, if it had any.
    pub fn block(&self) -> Option<&Map<String, Value>> {
        match self {
            Content::Text { block, .. } | Content::EmbeddedResource { block, .. } => {
                block.as_deref()
            }
            Content::Image(media)
            | Content::Audio(media)
            | Content::Video(media)
            | Content::File(media) => media.block.as_deref(),
            Content::ResourceLink(link)
            | Content::ArtifactRef(link)
            | Content::PersistedOutputRef(link)
            | Content::HandoffRef(link) => link.block.as_deref(),
            Content::StructuredContent { .. } | Content::Log { .. } | Content::Diff { .. } => None,
        }
    }
}

/// Bytes with a media type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Media {
    /// The media type.
    pub mime_type: String,
    /// The bytes, in base64.
    pub data: String,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Other fields of the backend's block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockFields>,
}

impl Media {
    /// Bytes in base64, without a name.
    pub fn new(mime_type: impl Into<String>, data: impl Into<String>) -> Media {
        Media { mime_type: mime_type.into(), data: data.into(), name: None, block: None }
    }
}

/// A reference to content that is stored elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Location of the content.
    pub uri: String,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// SHA-256 of its bytes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// How it relates to the call, such as `native_output` or `created`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relation: Option<String>,
    /// Other fields of the backend's block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockFields>,
}
