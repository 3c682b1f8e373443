//! Content blocks: the pieces of a result as blocks of MCP, each with the fields that its backend gave
//! it.

use haft_model::{Content, Link, cleaned_value};
use rmcp::model::{ContentBlock, MetaObject, Resource, ResourceContents};
use serde_json::{Map, Value, json};

/// Prefix of our own metadata.
pub(super) const OURS: &str = "dev.haft/";

/// The blocks of some pieces.
pub(super) fn of(pieces: &[Content]) -> Vec<ContentBlock> {
    pieces.iter().map(block).collect()
}

fn block(piece: &Content) -> ContentBlock {
    let bare = bare(piece);
    let Some(fields) = piece.block() else { return bare };
    let Ok(Value::Object(wire)) = serde_json::to_value(&bare) else { return bare };
    // A field of another shape than the protocol's would make the whole result invalid.
    let only_meta = fields.iter().filter(|(name, _)| *name == "_meta");
    let only_meta = only_meta.map(|(name, value)| (name.clone(), value.clone())).collect();
    let whole = restored(wire.clone(), fields);
    whole.or_else(|| restored(wire, &only_meta)).unwrap_or(bare)
}

/// A block with other fields; `None` where one is not as the protocol has it.
fn restored(mut wire: Map<String, Value>, fields: &Map<String, Value>) -> Option<ContentBlock> {
    for (name, value) in fields {
        match (name.as_str(), wire.get_mut(name), value) {
            ("resource", Some(Value::Object(resource)), Value::Object(fields)) => {
                if fields.contains_key("uri") {
                    // The fields of the backend's resource are whole but for its bytes.
                    resource.retain(|name, _| name == "blob");
                }
                resource.extend(fields.iter().map(|(name, value)| (name.clone(), foreign(value))));
            }
            (_, _, value) => drop(wire.insert(name.clone(), foreign(value))),
        }
    }
    serde_json::from_value(Value::Object(wire)).ok()
}

/// A field of a backend, which does not speak in our name.
fn foreign(value: &Value) -> Value {
    let mut value = value.clone();
    if let Value::Object(fields) = &mut value {
        fields.retain(|name, _| !name.starts_with(OURS));
    }
    value
}

/// A piece as a block without further fields.
fn bare(piece: &Content) -> ContentBlock {
    match piece {
        Content::Text { text, .. } | Content::Log { text, .. } | Content::Diff { text, .. } => {
            ContentBlock::text(text.clone())
        }
        Content::StructuredContent { data } => ContentBlock::text(cleaned_value(data).to_string()),
        Content::Image(media) => ContentBlock::image(media.data.clone(), media.mime_type.clone()),
        Content::Audio(media) => ContentBlock::audio(media.data.clone(), media.mime_type.clone()),
        Content::Video(media) | Content::File(media) => {
            let name = media.name.as_deref().unwrap_or("file");
            let contents =
                ResourceContents::blob(media.data.clone(), format!("haft://file/{name}"));
            ContentBlock::resource(contents.with_mime_type(media.mime_type.clone()))
        }
        Content::EmbeddedResource { uri, mime_type, text, .. } => {
            let (uri, mime_type, text) = (uri.clone(), mime_type.clone(), text.clone());
            let meta = None;
            let contents = ResourceContents::TextResourceContents { uri, mime_type, text, meta };
            ContentBlock::resource(contents)
        }
        Content::ResourceLink(link)
        | Content::ArtifactRef(link)
        | Content::PersistedOutputRef(link)
        | Content::HandoffRef(link) => ContentBlock::resource_link(resource(link)),
    }
}

fn resource(link: &Link) -> Resource {
    let name = link.name.clone().unwrap_or_else(|| link.uri.clone());
    let mut resource = Resource::new(link.uri.clone(), name);
    resource.mime_type.clone_from(&link.mime_type);
    resource.size = link.size;
    let about = json!({ "digest": link.digest, "relation": link.relation });
    if let Value::Object(about) = about {
        let said = about.into_iter().filter(|(_, value)| !value.is_null());
        let meta = said.map(|(name, value)| (format!("{OURS}{name}"), value));
        let meta: Map<String, Value> = meta.collect();
        resource.meta = (!meta.is_empty()).then(|| MetaObject::from(meta));
    }
    resource
}
