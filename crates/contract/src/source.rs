//! Source text: parses bytes into a tree with positions and reports diagnostics.

mod frontmatter;
mod json;
mod node;
mod scalar;
mod text;
mod toml;
mod yaml;

pub use node::{MapEntry, Node, Value};
pub use text::{LARGEST, Source, Span};

use crate::Report;

/// How a file holds its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Markdown with YAML between `---` lines.
    Markdown,
    /// JSON.
    Json,
    /// TOML.
    Toml,
    /// One document of YAML or JSON that is no manifest, and may be as large as such documents are.
    Foreign,
}

/// Reads a source into a tree. What cannot be read is reported, and what could be is kept.
pub fn parse(source: &Source, syntax: Syntax, report: &mut Report) -> Option<Node> {
    match syntax {
        Syntax::Markdown => {
            let block = frontmatter::find(source, report)?;
            yaml::parse(source, block, report)
        }
        Syntax::Json => json::parse(source, report),
        Syntax::Toml => parse_toml(source, 0..source.text().len(), report),
        Syntax::Foreign => yaml::parse_foreign(source, report),
    }
}

/// One YAML document that is no manifest, as the plain value that it holds. What is wrong with it is
/// told in one line.
pub fn yaml_value(text: &str) -> Result<serde_json::Value, String> {
    let source = Source::new("", text);
    let mut report = Report::new(&source);
    let node = yaml::parse(&source, 0..text.len(), &mut report);
    match (report.into_diagnostics().into_iter().next(), node) {
        (Some(diagnostic), _) => Err(diagnostic.message),
        (None, Some(node)) => Ok(node.to_json()),
        (None, None) => Ok(serde_json::Value::Null),
    }
}

/// Reads a stretch of a source that is TOML by itself, for files that are read piece by piece.
pub(crate) fn parse_toml(source: &Source, block: Span, report: &mut Report) -> Option<Node> {
    toml::parse(source, block, report)
}
