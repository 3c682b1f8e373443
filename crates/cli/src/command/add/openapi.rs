//! `haft add openapi FILE|URL`: imports the operations of an OpenAPI document.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use haft_import::openapi::{self, Bundle};
use haft_import::{Base, SkippedPart, read_document};
use haft_model::Glob;
use serde_json::Value;

use super::document_folder::add_files;
use super::{Wishes, settle};
use crate::exit::Exit;
use crate::{Context, output};

/// The largest document that is fetched.
const LARGEST: usize = 128 << 20;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The document: a file, or an address.
    #[arg(value_name = "FILE|URL")]
    source: String,
    /// Only operations of which the tool's id, the operation's id or `METHOD /path` matches.
    #[arg(long, value_name = "GLOB")]
    only: Option<String>,
    /// The server to use, whatever the document says.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    wishes: Wishes,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let Arguments { source, only, server, wishes } = arguments;
    let bytes = match is_address(&source) {
        true => match haft::download(&source, LARGEST).await {
            Ok(bytes) => bytes,
            Err(stop) => return output::stop(&stop, context.json),
        },
        false => fs::read(&source).with_context(|| format!("cannot read `{source}`"))?,
    };
    let text = String::from_utf8(bytes).with_context(|| format!("`{source}` is not UTF-8"))?;
    let document = read_document(&source, &text).with_context(|| format!("`{source}`"))?;
    let (document, beside, refused) = joined(&source, document);
    let mut options = openapi::OpenApiOptions {
        id: wishes.id.clone(),
        only: only.as_deref().map(Glob::new),
        server,
        source: told(&source),
        ..Default::default()
    };
    let name = openapi::name(&document, &options).with_context(|| format!("`{source}`"))?;
    let known = super::known(context, &name)?;
    options.known = known.files.keys().filter_map(|path| tool_of(path)).collect();
    options.server = options.server.or_else(|| known.options.get("server").cloned());
    let imported = openapi::import(&document, &options);
    let mut import = imported.with_context(|| format!("`{source}`"))?;
    import.skipped.extend(refused);
    let mut base = Base::of("openapi", &options.source, format!("{text}{beside}").as_bytes());
    base.options.extend(options.server.map(|server| ("server".to_owned(), server)));
    settle(context, &wishes, &import, base)
}

/// A document with the files beside it, their texts, and what cannot be read of them.
fn joined(source: &str, document: Value) -> (Value, String, Vec<SkippedPart>) {
    let path = Path::new(source);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut bundle = Bundle::new(name.as_deref().unwrap_or(source), document);
    let mut read = String::new();
    if is_address(source) {
        while let Some(path) = bundle.next_file() {
            bundle.refuse(&path, "a document from an address is read without others");
        }
    } else {
        read = add_files(&mut bundle, path);
    }
    let (document, refused) = bundle.join();
    (document, read, refused)
}

/// Whether a source is an address and not a file.
pub(super) fn is_address(source: &str) -> bool {
    source.starts_with("http://") || source.starts_with("https://")
}

/// The recorded source: an address, or the name of a file without its folders, which are private.
fn told(source: &str) -> String {
    if is_address(source) {
        return source.split(['?', '#']).next().unwrap_or_default().to_owned();
    }
    let name = Path::new(source).file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| source.to_owned())
}

fn tool_of(path: &str) -> Option<String> {
    Some(path.strip_prefix(".tools/")?.strip_suffix("/TOOL.md")?.to_owned())
}
