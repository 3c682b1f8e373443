//! Multipart body (`multipart/form-data`): encodes fields and uploads files of the workspace.
//!
//! INVARIANT: only a template of the driver names a file; an input is always a value.

use std::io::Read as _;

use haft_driver::TargetGuard;
use haft_model::{Code, Digest, Stop};
use haft_notation::{Scope, fill};
use serde_json::Value;

use super::operation::Operation;
use super::payload::{RequestBody, bounded, fields, filled, unfilled};
use crate::builtin::{Root, WorkspacePath};
use crate::failure::{blocking, while_running};

/// Size limit of all parts together, in bytes.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// File extensions and their media types.
const TYPES: [(&str, &str); 18] = [
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
];

/// One part of a multipart body.
pub(super) struct MultipartPart {
    name: String,
    content: Content,
}

enum Content {
    Text(String),
    Json(String),
    File { place: WorkspacePath, called: String, media_type: String },
}

impl MultipartPart {
    /// The parts of a template; `{file: PATH}` is a file, optionally with `type` and `name`.
    pub(super) fn of_template(
        operation: &Operation,
        template: &Value,
        scope: &dyn Scope,
    ) -> Result<Vec<MultipartPart>, Stop> {
        let mut parts = Vec::new();
        for (name, written) in fields(template)? {
            match written.get("file").and_then(Value::as_str) {
                Some(path) => parts.push(MultipartPart::file(name, path, written, scope)?),
                None => {
                    let value = fill(written, scope);
                    let value = value.map_err(|fault| unfilled(&fault, "body_template"))?;
                    parts.extend(MultipartPart::of_field(operation, name, &value)?);
                }
            }
        }
        Ok(parts)
    }

    /// The fields of an input as parts; none is a file.
    pub(super) fn of_input(
        operation: &Operation,
        input: &Value,
    ) -> Result<Vec<MultipartPart>, Stop> {
        let fields = fields(input)?.iter();
        let parts = fields.map(|(name, value)| MultipartPart::of_field(operation, name, value));
        Ok(parts.collect::<Result<Vec<_>, Stop>>()?.into_iter().flatten().collect())
    }

    /// Serializes a field: in the style that the driver sets, else by the OpenAPI default.
    fn of_field(
        operation: &Operation,
        name: &str,
        value: &Value,
    ) -> Result<Vec<MultipartPart>, Stop> {
        let Some(style) = operation.styles.get(name) else {
            return Ok(MultipartPart::of_value(name, value));
        };
        let text = |(name, text)| MultipartPart { name, content: Content::Text(text) };
        Ok(style.parts(name, value)?.into_iter().map(text).collect())
    }

    /// Serializes a value: a part per list item, JSON for an object, nothing for null.
    fn of_value(name: &str, value: &Value) -> Vec<MultipartPart> {
        let part = |content| MultipartPart { name: name.to_owned(), content };
        match value {
            Value::Null => Vec::new(),
            Value::String(text) => vec![part(Content::Text(text.clone()))],
            Value::Bool(_) | Value::Number(_) => vec![part(Content::Text(value.to_string()))],
            Value::Array(items) if !items.iter().any(Value::is_array) => {
                items.iter().flat_map(|item| MultipartPart::of_value(name, item)).collect()
            }
            // Parts of the same name form one list, so they cannot express a list of lists.
            Value::Array(_) | Value::Object(_) => vec![part(Content::Json(value.to_string()))],
        }
    }

    fn file(
        name: &str,
        path: &str,
        written: &Value,
        scope: &dyn Scope,
    ) -> Result<MultipartPart, Stop> {
        let text = |written: &str| match filled(written, scope)? {
            Value::String(text) => Ok(text),
            _ => Err(Stop::new(Code::InputValue, format!("the file of `{name}` has no name"))),
        };
        let given = |field: &str| written.get(field).and_then(Value::as_str).map(text).transpose();
        let place = WorkspacePath::at(&text(path)?)?;
        let last = place.names.last().cloned().unwrap_or_default();
        let called = given("name")?.unwrap_or(last);
        let media_type = given("type")?.unwrap_or_else(|| type_of(&called).to_owned());
        if media_type.chars().any(char::is_control) {
            let words = format!("the type of `{name}` holds a character that none can have");
            return Err(Stop::new(Code::InputValue, words));
        }
        let content = Content::File { place, called, media_type };
        Ok(MultipartPart { name: name.to_owned(), content })
    }

    /// The path of a file part; `None` for other parts.
    pub(super) fn place(&self) -> Option<&WorkspacePath> {
        match &self.content {
            Content::File { place, .. } => Some(place),
            Content::Text(_) | Content::Json(_) => None,
        }
    }

    /// The part's headers and content.
    fn written(self, files: &UploadFiles, room: usize) -> Result<(String, Vec<u8>), Stop> {
        let mut head = format!("Content-Disposition: form-data; name=\"{}\"", quoted(&self.name));
        let bytes = match self.content {
            Content::Text(text) => text.into_bytes(),
            Content::Json(json) => {
                head.push_str("\r\nContent-Type: application/json");
                json.into_bytes()
            }
            Content::File { place, called, media_type } => {
                let called = quoted(&called);
                head.push_str(&format!("; filename=\"{called}\"\r\nContent-Type: {media_type}"));
                read(files, &place, room)?
            }
        };
        Ok((head, bytes))
    }
}

/// The workspace of file uploads, and the guard that may close paths of it.
#[derive(Clone, Default)]
pub(super) struct UploadFiles {
    pub(super) root: Option<Root>,
    pub(super) guard: TargetGuard,
}

/// Encodes the parts as one body, and reads their files on a blocking thread.
pub(super) async fn joined(
    parts: Vec<MultipartPart>,
    files: UploadFiles,
) -> Result<RequestBody, Stop> {
    blocking(move || join(parts, &files)).await?
}

fn join(parts: Vec<MultipartPart>, files: &UploadFiles) -> Result<RequestBody, Stop> {
    let mut written: Vec<(String, Vec<u8>)> = Vec::new();
    let mut size = 0;
    for part in parts {
        let (head, bytes) = part.written(files, MOST_BYTES.saturating_sub(size))?;
        size += head.len() + bytes.len();
        bounded(size, MOST_BYTES)?;
        written.push((head, bytes));
    }
    let boundary = boundary(&written);
    let mut body = Vec::with_capacity(size + 100 * (written.len() + 1));
    for (head, bytes) in &written {
        body.extend_from_slice(format!("--{boundary}\r\n{head}\r\n\r\n").as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let media_type = format!("multipart/form-data; boundary={boundary}");
    Ok(RequestBody { bytes: body, media_type, fixed: true })
}

/// A boundary that occurs in no part: it is a digest of all parts, so a part cannot contain it.
fn boundary(written: &[(String, Vec<u8>)]) -> String {
    let digests = written.iter().map(|(head, bytes)| (head, Digest::of_bytes(bytes)));
    let digest = Digest::of(&digests.collect::<Vec<_>>());
    let plain = digest.as_str().chars().filter(char::is_ascii_alphanumeric);
    plain.take(60).collect()
}

/// Reads a file of the workspace, up to one byte more than there is room for.
fn read(files: &UploadFiles, place: &WorkspacePath, room: usize) -> Result<Vec<u8>, Stop> {
    let Some(root) = &files.root else {
        let words = "a request is made of files, and this driver has no workspace to find them in";
        return Err(while_running(Stop::new(Code::SetupRequired, words)));
    };
    let (file, _) = root.open_guarded(place, &files.guard)?;
    let mut bytes = Vec::new();
    let most = u64::try_from(room).unwrap_or(u64::MAX).saturating_add(1);
    let fault = file.take(most).read_to_end(&mut bytes).err();
    match fault {
        Some(fault) => Err(crate::builtin::PathRefusal::from(fault).about(place)),
        None => Ok(bytes),
    }
}

fn type_of(name: &str) -> &'static str {
    let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).unwrap_or_default();
    let known = TYPES.iter().find(|(known, _)| *known == end);
    known.map_or("application/octet-stream", |(_, media_type)| media_type)
}

/// A name for a quoted header value, with quotes and line ends escaped.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
