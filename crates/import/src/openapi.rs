//! OpenAPI import (3.x, and Swagger 2.0 by conversion): an operation becomes a contract, a host a
//! driver of kind http.

mod answer;
mod body;
mod bundle;
mod document;
mod driver;
mod operation;
mod parameter;
mod security;
mod server;
mod swagger;
mod tool;
mod unresolved;
mod unsafe_get;
mod verb;

use std::collections::{BTreeSet, HashSet};

use haft_model::Glob;
use serde_json::Value;

use crate::import::{Error, File, Import, Margin, Omissions, SchemaLoss};
use crate::{manifest, secret, text};
pub use bundle::Bundle;
use document::Document;
use driver::Drivers;
use security::Logins;

/// Options of an OpenAPI import.
#[derive(Clone, Debug, Default)]
pub struct OpenApiOptions {
    /// The prefix of tool ids; the document's title when absent.
    pub id: Option<String>,
    /// The operations to import: by tool id, operation id or `METHOD /path`; all when absent.
    pub only: Option<Glob>,
    /// The server to use instead of the document's.
    pub server: Option<String>,
    /// The source of the document: a file's name or an address.
    pub source: String,
    /// Tools of an earlier run, which are imported again whatever `only` says.
    pub known: BTreeSet<String>,
}

/// Makes manifests of an OpenAPI document.
pub fn import(document: &Value, options: &OpenApiOptions) -> Result<Import, Error> {
    let name = name(document, options)?;
    let document = swagger::modern(document);
    let document = Document::read(&document)?;
    let mut omissions = Omissions::default();
    let operations = operation::all(&document, &name, options, &mut omissions);
    if operations.is_empty() {
        return Err(Error::Empty(nothing(&document, options)));
    }
    let logins = Logins::read(&document, &name);
    let mut drivers = Drivers::new(&document, &name, options);
    let (mut files, mut losses) = (Vec::new(), Vec::new());
    let mut shared = SharedLosses::default();
    let (mut asking, mut guesses) = (Vec::new(), Vec::new());
    for operation in &operations {
        if let Some(target) = unresolved::in_request(&document, operation) {
            let target = text::line(target, 200);
            let why = format!("`{target}` cannot be followed, and the request depends on it");
            omissions.skip(operation.called(), why);
            continue;
        }
        let mut margin = Margin::new(&format!(".tools/{}/TOOL.md", operation.id));
        let request = operation::request(&document, operation, &logins, &mut margin);
        let text = tool::written(&document, operation, &request, options, &mut margin);
        if let Some(fault) = manifest::fault(&margin.file, &text) {
            let why = format!("what was made of it is not a contract: {fault}");
            omissions.skip(operation.called(), why);
            continue;
        }
        drivers.add(operation, &request);
        // A GET that asks comes first: a person has to judge whether it should.
        match operation.unsafe_get() {
            Some(_) => asking.extend(margin.guesses),
            None => guesses.extend(margin.guesses),
        }
        losses.extend(margin.losses.into_iter().filter(|loss| shared.is_first(loss)));
        files.push(File { path: margin.file, text });
    }
    let secrets = drivers.secrets();
    files.extend(drivers.files(&mut guesses));
    let guesses = asking.into_iter().chain(guesses).collect();
    files.extend(secret::inventory(&name, &secrets));
    let secrets = secrets.into_iter().map(|(secret, _)| secret).collect();
    Import { name, files, guesses, skipped: omissions.0, losses, secrets }.sound()
}

/// The name of an import: from its options, or from the document's title.
pub fn name(document: &Value, options: &OpenApiOptions) -> Result<String, Error> {
    if !swagger::is_2(document) {
        Document::read(document)?;
    }
    if let Some(id) = &options.id {
        return text::prefix(id).ok_or_else(|| Error::BadName(id.clone()));
    }
    let title = document.pointer("/info/title").and_then(Value::as_str);
    Ok(text::shortened_prefix(title.unwrap_or_default(), "api"))
}

/// Losses in parts of the document that several contracts share: each is listed once, with the first.
#[derive(Default)]
struct SharedLosses(HashSet<(String, String)>);

impl SharedLosses {
    fn is_first(&mut self, loss: &SchemaLoss) -> bool {
        let is_shared = loss.pointer.starts_with('#');
        !is_shared || self.0.insert((loss.pointer.clone(), loss.why.clone()))
    }
}

fn nothing(document: &Document<'_>, options: &OpenApiOptions) -> String {
    match &options.only {
        Some(only) if document.has_operations() => {
            format!("no operation is called `{}`", only.source())
        }
        _ => "the document has no operation that can be called".to_owned(),
    }
}

#[cfg(test)]
mod tests;
