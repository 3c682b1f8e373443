//! Content blocks: a block of a tool result as a piece of content, with every field of it.

use haft_model::{BlockFields, Content, Link, Media};
use serde_json::{Map, Value};

/// Turns a block into a piece. A block of a type that is unknown, or that lacks what its type
/// requires, stays a value.
pub(super) fn content(mut block: Map<String, Value>) -> Content {
    let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
    let has = |names: &[&str]| names.iter().all(|name| is_text(&block, name));
    match kind {
        "text" if has(&["text"]) => {
            let text = take(&mut block, "text");
            Content::Text { text, block: rest(block) }
        }
        "image" if has(&["data", "mimeType"]) => Content::Image(media(block)),
        "audio" if has(&["data", "mimeType"]) => Content::Audio(media(block)),
        "resource_link" if has(&["uri", "name"]) => Content::ResourceLink(link(block)),
        "resource" => match block.remove("resource") {
            Some(Value::Object(resource)) if is_text(&resource, "uri") => embedded(block, resource),
            resource => {
                block.extend(resource.map(|resource| ("resource".to_owned(), resource)));
                Content::StructuredContent { data: Value::Object(block) }
            }
        },
        _ => Content::StructuredContent { data: Value::Object(block) },
    }
}

fn media(mut block: Map<String, Value>) -> Media {
    let (mime_type, data) = (take(&mut block, "mimeType"), take(&mut block, "data"));
    Media { block: rest(block), ..Media::new(mime_type, data) }
}

fn link(mut block: Map<String, Value>) -> Link {
    let (uri, name) = (take(&mut block, "uri"), take(&mut block, "name"));
    let mime_type = is_text(&block, "mimeType").then(|| take(&mut block, "mimeType"));
    let size = block.get("size").and_then(Value::as_u64);
    if size.is_some() {
        block.remove("size");
    }
    Link { uri, name: Some(name), mime_type, size, block: rest(block), ..Link::default() }
}

/// An embedded resource: its text is a piece of its own, and its bytes are a file that keeps the
/// fields of the resource.
fn embedded(mut block: Map<String, Value>, mut resource: Map<String, Value>) -> Content {
    if is_text(&resource, "text") {
        let (uri, text) = (take(&mut resource, "uri"), take(&mut resource, "text"));
        let mime_type = is_text(&resource, "mimeType").then(|| take(&mut resource, "mimeType"));
        block.extend(rest(resource).map(|fields| ("resource".to_owned(), Value::Object(*fields))));
        return Content::EmbeddedResource { uri, mime_type, text, block: rest(block) };
    }
    if !is_text(&resource, "blob") {
        block.insert("resource".to_owned(), Value::Object(resource));
        return Content::StructuredContent { data: Value::Object(block) };
    }
    let data = take(&mut resource, "blob");
    let named = |name: &str| resource.get(name).and_then(Value::as_str).map(str::to_owned);
    let mime_type = named("mimeType").unwrap_or_else(|| "application/octet-stream".to_owned());
    let name = named("uri");
    block.insert("resource".to_owned(), Value::Object(resource));
    Content::File(Media { name, block: rest(block), ..Media::new(mime_type, data) })
}

fn is_text(fields: &Map<String, Value>, name: &str) -> bool {
    fields.get(name).is_some_and(Value::is_string)
}

fn take(fields: &mut Map<String, Value>, name: &str) -> String {
    match fields.remove(name) {
        Some(Value::String(text)) => text,
        Some(_) | None => String::new(),
    }
}

/// The fields that are left, if any; an absent field and `null` are the same on the wire.
fn rest(mut fields: Map<String, Value>) -> Option<BlockFields> {
    fields.remove("type");
    fields.retain(|_, value| !value.is_null());
    (!fields.is_empty()).then(|| Box::new(fields))
}
