//! HTTP operation: the compiled request of one contract, and the mapping of its responses.

use std::collections::{BTreeMap, BTreeSet};

use haft_contract::driver::manifest::{BasicLogin, BodyEncoding, BodyInputs};
use haft_notation::{Expression, Path, Template};
use reqwest::Method;
use reqwest::header::HeaderName;
use serde_json::Value;

use super::meaning::Meaning;
use super::pages::Pages;
use super::stream::Stream;
use super::style::Style;
use crate::declared::Wrap;
use crate::login::Sign;
use crate::web::SubmissionPoint;

/// A request as templates, with the rules for its responses.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) method: Method,
    pub(super) endpoint: Template,
    pub(super) query: Vec<(String, Template)>,
    /// OpenAPI serialization styles of query and form fields, by name.
    pub(super) styles: BTreeMap<String, Style>,
    pub(super) headers: Vec<(HeaderName, Template)>,
    pub(super) form: BodyEncoding,
    pub(super) body: Option<Value>,
    pub(super) extract: Path,
    /// Whether `response_extract` is `$`, so that the whole response is the output.
    pub(super) takes_all: bool,
    pub(super) stream: Option<Stream>,
    pub(super) pages: Option<Pages>,
    pub(super) key_header: Option<HeaderName>,
    pub(super) submitted: SubmissionPoint,
    pub(super) meanings: BTreeMap<u16, Meaning>,
    /// The sign of an expired login in a response.
    pub(super) expired: Option<Sign>,
    pub(super) basic: Option<BasicLogin>,
    pub(super) cookies: Vec<(String, Template)>,
    /// The inputs of the body; `None` for the template or the whole input.
    pub(super) body_inputs: Option<BodyInputs>,
    pub(super) wrap: Wrap,
    /// The names of the secrets that the request needs.
    pub(super) secrets: BTreeSet<String>,
}

impl Operation {
    /// All placeholders of the request.
    pub(super) fn expressions(&self) -> Vec<Expression> {
        let headers = self.headers.iter().map(|(_, template)| template);
        let named = self.query.iter().chain(&self.cookies).map(|(_, template)| template);
        let mut texts = Vec::new();
        collect(self.body.as_ref().unwrap_or_default(), &mut texts);
        let templates = std::iter::once(&self.endpoint).chain(headers).chain(named).chain(&texts);
        templates.flat_map(Template::expressions).cloned().collect()
    }
}

/// All templates inside a JSON value.
fn collect(value: &Value, found: &mut Vec<Template>) {
    match value {
        Value::String(text) => found.extend(Template::parse(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => fields.values().for_each(|item| collect(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
