//! Manifest text: frontmatter and a Markdown body, written and parsed.

use haft_contract::source::{Node, parse};
use haft_contract::{Report, Severity, Source, Syntax, read};
use serde_json::{Map, Value};

use crate::import::Error;
use crate::yaml;

/// The largest document that is read as a source.
const LARGEST: usize = 128 << 20;

/// A manifest of these fields and this body.
pub(crate) fn manifest(fields: &Map<String, Value>, body: &str) -> String {
    let gap = if body.is_empty() { "" } else { "\n" };
    format!("---\n{}---\n{gap}{body}", yaml::entries(fields, 0))
}

/// Where the frontmatter of a text begins and ends, and where the body begins.
pub(crate) struct Frontmatter {
    pub(crate) node: Node,
    pub(crate) body_at: usize,
}

/// The tree of a manifest's text, with the places of everything in it.
pub(crate) fn frontmatter(file: &str, text: &str) -> Option<Frontmatter> {
    let source = Source::new(file, text);
    let mut report = Report::new(&source);
    let node = parse(&source, Syntax::Markdown, &mut report)?;
    if report.has_errors() {
        return None;
    }
    let mut at = text.find('\n')? + 1;
    loop {
        let rest = text.get(at..)?;
        let line = rest.split_inclusive('\n').next()?;
        at += line.len();
        if line.trim_end() == "---" {
            return Some(Frontmatter { node, body_at: at });
        }
    }
}

/// The fields and the body of a manifest's text.
pub(crate) fn parsed(file: &str, text: &str) -> Option<(Value, String)> {
    let front = frontmatter(file, text)?;
    let body = text.get(front.body_at..)?;
    Some((front.node.to_json(), body.strip_prefix('\n').unwrap_or(body).to_owned()))
}

/// The first error in a manifest, if it has one: an import must write valid files.
pub(crate) fn fault(file: &str, text: &str) -> Option<String> {
    let source = Source::new(file, text);
    let report = Report::new(&source);
    let reading = read(&source, report);
    let error = reading.diagnostics.iter().find(|one| one.severity == Severity::Error)?;
    Some(format!("{}: {}", error.code, error.message))
}

/// Reads a foreign document, JSON or YAML.
pub fn read_document(name: &str, text: &str) -> Result<Value, Error> {
    if text.len() > LARGEST {
        return Err(Error::Unreadable(format!(
            "it has {} bytes, and {LARGEST} are read",
            text.len()
        )));
    }
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    let source = Source::new(name, text);
    let mut report = Report::new(&source);
    let node = parse(&source, Syntax::Foreign, &mut report);
    let errors = report.into_diagnostics();
    match (errors.first(), node) {
        (None, Some(node)) => Ok(node.to_json()),
        (Some(error), _) => {
            Err(Error::Unreadable(format!("line {}: {}", error.line, error.message)))
        }
        (None, None) => Err(Error::Unreadable("it is empty".to_owned())),
    }
}
