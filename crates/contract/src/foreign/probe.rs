//! Test support for the JSON formats: one text in, the contract or the diagnostics out.

use serde_json::Value as Json;

use crate::{Diagnostic, ParsedManifest, Reading, Report, Source, ToolManifest};

/// The file that every probe pretends to be.
pub(crate) const FILE: &str = "tools/probe.tool.json";

pub(crate) fn read(text: &str) -> Reading {
    let source = Source::new(FILE, text);
    crate::read(&source, Report::new(&source))
}

pub(crate) fn tool(record: &Json) -> ToolManifest {
    let reading = read(&record.to_string());
    match reading.manifest {
        Some(ParsedManifest::Tool(tool)) => (*tool).clone(),
        other => panic!("{other:?} {:?}", reading.diagnostics),
    }
}

/// Every diagnostic as `code line:column message; help`.
pub(crate) fn said(text: &str) -> Vec<String> {
    let line = |found: Diagnostic| {
        let help = found.help.map(|help| format!("; {help}")).unwrap_or_default();
        format!("{} {}:{} {}{help}", found.code, found.line, found.column, found.message)
    };
    read(text).diagnostics.into_iter().map(line).collect()
}
