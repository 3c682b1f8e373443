//! Diagnostics output: the line, the place underlined, the reason and the fix.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use anyhow::Result;
use haft::Workspace;
use haft_contract::{Diagnostic, Severity, rules};

/// Prints diagnostics to standard error.
pub(crate) fn show(workspace: &Workspace, diagnostics: &[Diagnostic]) -> Result<()> {
    let renderer = Renderer::styled();
    for diagnostic in diagnostics {
        let report = [group(workspace, diagnostic)];
        super::remark(renderer.render(&report));
        super::remark("");
    }
    Ok(())
}

fn group<'a>(workspace: &'a Workspace, diagnostic: &'a Diagnostic) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code);
    let file: &str = &diagnostic.file;
    let concealed = rules::CONCEALED.contains(&diagnostic.code);
    let text = workspace.text(file).filter(|text| !text.is_empty() && !concealed);
    let group = match text {
        Some(text) => title.element(
            Snippet::source(text)
                .path(file)
                .annotation(AnnotationKind::Primary.span(one_line(text, diagnostic))),
        ),
        None if diagnostic.line > 0 => {
            title.element(Origin::path(file).line(diagnostic.line).char_column(diagnostic.column))
        }
        None => title.element(Origin::path(file)),
    };
    match &diagnostic.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

/// The part of a span that lies on its first line: an underlined map helps no reader.
fn one_line(text: &str, diagnostic: &Diagnostic) -> std::ops::Range<usize> {
    let span = &diagnostic.span;
    let rest = text.get(span.start..span.end.max(span.start)).unwrap_or_default();
    let length = rest.find('\n').unwrap_or(rest.len()).max(1);
    let start = span.start.min(text.len());
    start..(start + length).min(text.len())
}

/// How many errors and warnings there are, in words.
pub(crate) fn summary(diagnostics: &[Diagnostic], manifests: usize) -> String {
    let count = |severity| diagnostics.iter().filter(|found| found.severity == severity).count();
    format!(
        "checked {}: {}, {}",
        counted(manifests, "manifest"),
        counted(count(Severity::Error), "error"),
        counted(count(Severity::Warning), "warning"),
    )
}

/// How many there are of something, in words.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        many => format!("{many} {noun}s"),
    }
}
