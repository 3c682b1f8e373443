//! OpenAPI import (3.x, and Swagger 2.0 by conversion): an operation becomes a contract, a host a
//! driver of kind http.

mod answer;
mod body;
mod document;
mod driver;
mod operation;
mod parameter;
mod security;
mod server;
mod swagger;
mod tool;
mod verb;

use std::collections::BTreeSet;

use haft_model::Glob;
use serde_json::Value;

use crate::import::{Error, File, Import, Margin, Omissions};
use crate::{manifest, secret, text};
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
    let (mut files, mut guesses, mut losses) = (Vec::new(), Vec::new(), Vec::new());
    for operation in &operations {
        let mut margin = Margin::new(&format!(".tools/{}/TOOL.md", operation.id));
        let request = operation::request(&document, operation, &logins, &mut margin);
        let text = tool::written(&document, operation, &request, options, &mut margin);
        if let Some(fault) = manifest::fault(&margin.file, &text) {
            let why = format!("what was made of it is not a contract: {fault}");
            omissions.skip(operation.called(), why);
            continue;
        }
        drivers.add(operation, &request);
        guesses.extend(margin.guesses);
        losses.extend(margin.losses);
        files.push(File { path: margin.file, text });
    }
    let secrets = drivers.secrets();
    files.extend(drivers.files(&mut guesses));
    files.extend(secret::inventory(&name, &secrets));
    let secrets = secrets.into_iter().map(|(secret, _)| secret).collect();
    Import { name, files, guesses, skipped: omissions.0, losses, secrets }.sound()
}

/// The name of an import: from its options, or from the document's title.
pub fn name(document: &Value, options: &OpenApiOptions) -> Result<String, Error> {
    let document = swagger::modern(document);
    let document = Document::read(&document)?;
    if let Some(id) = &options.id {
        return text::prefix(id).ok_or_else(|| Error::BadName(id.clone()));
    }
    Ok(text::shortened_prefix(document.title().unwrap_or_default(), "api"))
}

fn nothing(document: &Document<'_>, options: &OpenApiOptions) -> String {
    match &options.only {
        Some(only) if document.has_operations() => {
            format!("no operation is called `{}`", only.source())
        }
        _ => "the document has no operation that can be called".to_owned(),
    }
}
