//! Request body: encodes the input as JSON, a form, plain text or multipart.

use std::borrow::Cow;

use haft_contract::driver::manifest::{BodyEncoding, BodyInputs};
use haft_model::{Code, Plan, Stop};
use haft_notation::{Scope, Template, fill};
use reqwest::Method;
use serde_json::{Map, Value};

use super::operation::Operation;
use super::parts::{self, MultipartPart, UploadFiles};
use super::style::Style;
use crate::builtin::WorkspacePath;
pub(super) use crate::template_context::unfilled;
use crate::web::MOST_BYTES;

/// A body before its files are read.
pub(super) enum Payload {
    Nothing,
    Whole(Vec<u8>),
    Parts(Vec<MultipartPart>),
}

/// An encoded body with its media type.
pub(super) struct RequestBody {
    pub(super) bytes: Vec<u8>,
    pub(super) media_type: String,
    /// Whether the media type must be kept, as with a multipart boundary.
    pub(super) fixed: bool,
}

impl Payload {
    /// Builds the body: from the template, else from the named inputs, else from the renamed input.
    pub(super) fn of(
        operation: &Operation,
        scope: &dyn Scope,
        plan: &Plan,
    ) -> Result<Payload, Stop> {
        let bodiless = operation.method == Method::GET || operation.method == Method::DELETE;
        let template = operation.body.as_ref();
        let input = match &operation.body_inputs {
            Some(inputs) => selected(inputs, &plan.input).map(Cow::Owned),
            None => (!bodiless).then(|| plan.mapped()),
        };
        if template.is_none() && input.is_none() {
            return Ok(Payload::Nothing);
        }
        let input = input.unwrap_or_default();
        if operation.form == BodyEncoding::Multipart {
            return Ok(Payload::Parts(match template {
                Some(template) => MultipartPart::of_template(operation, template, scope)?,
                None => MultipartPart::of_input(operation, &input)?,
            }));
        }
        let body = match template {
            Some(template) => {
                let filled = fill(template, scope);
                Cow::Owned(filled.map_err(|fault| unfilled(&fault, "body_template"))?)
            }
            None => input,
        };
        let bytes = match operation.form {
            BodyEncoding::Form => form(operation, &body)?,
            BodyEncoding::Text => text(&body)?,
            BodyEncoding::Json | BodyEncoding::Multipart => body.to_string(),
        };
        bounded(bytes.len(), MOST_BYTES)?;
        Ok(Payload::Whole(bytes.into_bytes()))
    }

    /// The files that the body uploads.
    pub(super) fn places(&self) -> impl Iterator<Item = &WorkspacePath> {
        let parts = match self {
            Payload::Parts(parts) => parts.as_slice(),
            Payload::Nothing | Payload::Whole(_) => &[],
        };
        parts.iter().filter_map(MultipartPart::place)
    }

    /// Encodes the body and reads its files.
    pub(super) async fn gathered(
        self,
        form: BodyEncoding,
        files: impl FnOnce() -> UploadFiles,
    ) -> Result<Option<RequestBody>, Stop> {
        let media_type = match form {
            BodyEncoding::Json => "application/json",
            BodyEncoding::Form => "application/x-www-form-urlencoded",
            BodyEncoding::Text | BodyEncoding::Multipart => "text/plain; charset=utf-8",
        };
        Ok(match self {
            Payload::Nothing => None,
            Payload::Whole(bytes) => {
                Some(RequestBody { bytes, media_type: media_type.to_owned(), fixed: false })
            }
            Payload::Parts(parts) => Some(parts::joined(parts, files()).await?),
        })
    }
}

/// The inputs that make up the body of a call; `None` where there is none to send.
fn selected(inputs: &BodyInputs, input: &Value) -> Option<Value> {
    match inputs {
        BodyInputs::Whole(name) => input.get(name).cloned(),
        BodyInputs::Fields(names) if names.is_empty() => None,
        BodyInputs::Fields(names) => {
            let given = names.iter().filter_map(|name| Some((name, input.get(name)?)));
            Some(given.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
    }
}

/// Encodes the fields of an object as `application/x-www-form-urlencoded`.
fn form(operation: &Operation, body: &Value) -> Result<String, Stop> {
    let pairs = fields(body)?.iter().map(|(name, value)| {
        let style = operation.styles.get(name).copied().unwrap_or(Style::default());
        style.pairs(name, value)
    });
    Ok(pairs.collect::<Result<Vec<_>, Stop>>()?.concat().join("&"))
}

/// The only field of a plain text body.
fn text(body: &Value) -> Result<String, Stop> {
    let values: Vec<Value> = fields(body)?.values().cloned().collect();
    match values.as_slice() {
        [Value::String(text)] => Ok(text.clone()),
        [other] => Ok(other.to_string()),
        _ => {
            let words = "a body that is a text is made of one field";
            Err(Stop::new(Code::InputValue, words).help("name it in `body_template`"))
        }
    }
}

pub(super) fn fields(body: &Value) -> Result<&Map<String, Value>, Stop> {
    body.as_object().ok_or_else(|| Stop::new(Code::InputValue, "the body is not made of fields"))
}

/// Renders a template.
pub(super) fn filled(text: &str, scope: &dyn Scope) -> Result<Value, Stop> {
    let template = Template::parse(text).map_err(|fault| unfilled(&fault, "body_template"))?;
    let filled = template.render(scope).map_err(|fault| unfilled(&fault, "body_template"))?;
    Ok(filled.into_owned())
}

pub(super) fn bounded(size: usize, most: usize) -> Result<(), Stop> {
    if size <= most {
        return Ok(());
    }
    let words = format!("the request would have {size} bytes, and {most} can be sent");
    Err(Stop::new(Code::InputValue, words))
}
