//! JSON reader: parses JSON as YAML for its positions and refuses the rest of YAML.

use serde::de::IgnoredAny;

use crate::source::{Node, Source, yaml};
use crate::{Report, rules};

/// Reads a whole source as JSON.
pub(super) fn parse(source: &Source, report: &mut Report) -> Option<Node> {
    let root = yaml::parse(source, 0..source.text().len(), report);
    // Some editors put a mark before the text that says how it is encoded.
    let text = source.text().trim_start_matches('\u{feff}');
    let before = source.text().len() - text.len();
    // What is not even YAML has been refused already.
    if !report.has_errors()
        && let Err(fault) = serde_json::from_str::<IgnoredAny>(text)
    {
        let at = before + offset(text, fault.line(), fault.column());
        let place = format!(" at line {} column {}", fault.line(), fault.column());
        let message = fault.to_string().replace(&place, "");
        report
            .add(&rules::Y005, at..at, format!("this is not JSON: {message}"))
            .help("write JSON here; YAML stands in files that end in .md");
        report.cut_short();
    }
    root
}

/// The byte at a line and column from 1, the column counted in bytes.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut at = (before + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
