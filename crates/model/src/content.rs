//! What a result is made of.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Digest;

/// One piece of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A JSON value.
    StructuredContent {
        /// The value.
        data: Value,
    },
    /// A picture.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// A film.
    Video(Media),
    /// A file, bytes and all.
    File(Media),
    /// Something that can be fetched.
    ResourceLink(Link),
    /// Something that could be fetched, here already.
    EmbeddedResource {
        /// Where it is from.
        uri: String,
        /// Its media type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Its words.
        text: String,
    },
    /// Lines of a log.
    Log {
        /// The lines.
        text: String,
        /// `stdout`, `stderr` …
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stream: Option<String>,
    },
    /// A change, as a unified diff.
    Diff {
        /// The diff.
        text: String,
        /// Of what.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// A deliverable with an identity of its own.
    ArtifactRef(Link),
    /// The whole of something of which only a part is shown.
    PersistedOutputRef(Link),
    /// Another agent goes on.
    HandoffRef(Link),
}

/// Bytes with a media type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Media {
    /// The media type.
    pub mime_type: String,
    /// The bytes, in base64.
    pub data: String,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Something that is elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Where.
    pub uri: String,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The digest of its bytes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// How many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// How it relates to the call, such as `native_output` or `created`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relation: Option<String>,
}
