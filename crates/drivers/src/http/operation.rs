//! What is done for one contract: its request, and what the answers to it mean.

use std::collections::{BTreeMap, BTreeSet};

use haft_notation::{Path, Template};
use reqwest::Method;
use reqwest::header::HeaderName;
use serde_json::Value;

use super::meaning::Meaning;
use super::pages::Pages;
use super::payload::Writing;
use super::secrets::Basic;
use super::stream::Stream;
use super::style::Style;
use crate::web::Submitted;

/// What a request is made of.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) method: Method,
    pub(super) endpoint: Template,
    pub(super) query: Vec<(String, Template)>,
    /// How lists and objects are written into the query and into forms.
    pub(super) styles: BTreeMap<String, Style>,
    pub(super) headers: Vec<(HeaderName, Template)>,
    pub(super) form: Writing,
    pub(super) body: Option<Value>,
    pub(super) extract: Path,
    /// Whether the whole answer is the output.
    pub(super) takes_all: bool,
    pub(super) stream: Option<Stream>,
    pub(super) pages: Option<Pages>,
    pub(super) key_header: Option<HeaderName>,
    pub(super) submitted: Submitted,
    pub(super) meanings: BTreeMap<u16, Meaning>,
    pub(super) basic: Option<Basic>,
    /// The names of the secrets that it is made of.
    pub(super) secrets: BTreeSet<String>,
}
