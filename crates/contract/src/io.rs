//! The file maps of an IO block (AIP-16), inside the document that imports them.

#[cfg(test)]
mod tests;

use crate::shape::documents::io::FILES;
use crate::shape::field_value;
use crate::source::{Node, Value};
use crate::{Report, rules};

/// What is filled into a path.
const TOKENS: [&str; 4] = ["<runId>", "<workflowId>", "<toolId>", "<isoDate>"];

/// The input through which a body learns where its files lie.
const ROOT: &str = "_workflowFsRoot";

/// Checks `inputsFiles` and `outputsFiles` of a document.
///
/// One that is no map is left to the document's own table, which says that it has to be one.
pub fn check_io(node: &Node, report: &mut Report) {
    let mut any_file = false;
    for field in FILES.fields {
        let Some(entry) = node.entry(field.name) else { continue };
        let Value::Map(files) = &entry.value.value else { continue };
        field_value(entry, field, field.code, report);
        any_file |= !files.is_empty();
        files
            .iter()
            .filter_map(|file| file.value.get("path"))
            .for_each(|path| tokens(path, report));
    }
    if any_file {
        root(node, report);
    }
}

fn tokens(path: &Node, report: &mut Report) {
    let mut rest = path.text().unwrap_or_default();
    while let Some((_, opened)) = rest.split_once('<') {
        let Some((name, behind)) = opened.split_once('>') else { return };
        let token = format!("<{name}>");
        if !TOKENS.contains(&token.as_str()) {
            report
                .add(
                    &rules::I040,
                    path.span.clone(),
                    format!("`{token}` stays as it is: nothing is filled in for it"),
                )
                .help(format!("use one of {}", TOKENS.join(", ")));
        }
        rest = behind;
    }
}

fn root(node: &Node, report: &mut Report) {
    let Some(declared) = node.at(&["inputs", "properties", ROOT]) else { return };
    if let Some(kind) = declared.get("type").filter(|kind| kind.text() != Some("string")) {
        report
            .add(&rules::I041, kind.span.clone(), format!("`{ROOT}` is the path of a folder"))
            .help("say `type: string`, or leave it out; it is added where files are declared");
    }
}
