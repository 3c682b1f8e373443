//! Diagnostics: a rule, a place, a reason and, where it is known, the fix.

use std::sync::Arc;

use haft_model::Notice;
use serde::Serialize;

use crate::foreign;
use crate::source::{Source, Span, Syntax};

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The manifest is not used.
    Error,
    /// The manifest is used; its author should look at it.
    Warning,
}

/// One rule that manifests are held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// A letter for the document and three digits.
    pub code: &'static str,
    /// How severe a breach is.
    pub severity: Severity,
    /// The rule in one sentence.
    pub about: &'static str,
}

impl Rule {
    /// A rule whose breach keeps a manifest from being used.
    pub const fn error(code: &'static str, about: &'static str) -> Rule {
        Rule { code, severity: Severity::Error, about }
    }

    /// A rule whose breach is worth a look.
    pub const fn warning(code: &'static str, about: &'static str) -> Rule {
        Rule { code, severity: Severity::Warning, about }
    }
}

/// A breach of a rule at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The rule's code.
    pub code: &'static str,
    /// The severity of the rule.
    pub severity: Severity,
    /// The fault, in one line.
    pub message: String,
    /// The file, from the workspace's root.
    pub file: Arc<str>,
    /// From 1; 0 when the file could not be read as text.
    pub line: usize,
    /// From 1, in characters; 0 when the file could not be read as text.
    pub column: usize,
    /// The fix, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The offending bytes.
    #[serde(skip)]
    pub span: Span,
}

impl Diagnostic {
    /// The diagnostic as a notice, for readers outside of this crate.
    pub fn notice(&self) -> Notice {
        Notice {
            code: self.code,
            severity: match self.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            message: self.message.clone(),
            file: self.file.clone(),
            line: self.line,
            column: self.column,
            help: self.help.clone(),
        }
    }

    /// Adds the fix.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Adds the fix, if there is one.
    pub fn maybe_help(&mut self, help: Option<String>) -> &mut Diagnostic {
        self.help = help.or(self.help.take());
        self
    }
}

/// Collects what is wrong with one source.
#[derive(Clone, Debug)]
pub struct Report {
    source: Source,
    diagnostics: Vec<Diagnostic>,
    cut_short: bool,
}

impl Report {
    /// An empty report about a source.
    pub fn new(source: &Source) -> Report {
        Report { source: source.clone(), diagnostics: Vec::new(), cut_short: false }
    }

    /// Records that the parser cut the tree short, so that missing fields mean nothing.
    pub(crate) fn cut_short(&mut self) {
        self.cut_short = true;
    }

    /// Whether the parser cut the tree short.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    /// Notes a breach.
    pub fn add(&mut self, rule: &Rule, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        let at = self.diagnostics.len();
        self.diagnostics.push(Diagnostic {
            code: rule.code,
            severity: rule.severity,
            message: message.into(),
            file: self.source.file().clone(),
            line: 0,
            column: 0,
            help: None,
            span,
        });
        #[expect(clippy::indexing_slicing, reason = "it was pushed just above")]
        &mut self.diagnostics[at]
    }

    /// The line and column of a byte.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        self.source.position(offset)
    }

    /// Whether anything here keeps the manifest from being used.
    pub fn has_errors(&self) -> bool {
        self.errors() > 0
    }

    /// How many errors were noted.
    pub fn errors(&self) -> usize {
        let errors = self.diagnostics.iter().filter(|noted| noted.severity == Severity::Error);
        errors.count()
    }

    /// The diagnostics, in the order of the file.
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
        if self.source.text().is_empty() {
            return self.diagnostics;
        }
        // In one pass: a file with a mistake in every byte is read once, not a million times.
        let starts: Vec<usize> = self.diagnostics.iter().map(|found| found.span.start).collect();
        let places = self.source.positions(starts);
        for (found, (line, column)) in self.diagnostics.iter_mut().zip(places) {
            (found.line, found.column) = (line, column);
        }
        self.diagnostics
    }
}

/// A breach found by a check across manifests: its place is a pointer, since the tree it points
/// into is gone by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file's path from the workspace's root.
    pub file: Arc<str>,
    /// JSON pointer into its data.
    pub pointer: String,
    /// The rule that is broken.
    pub rule: Rule,
    /// The fault, in one line.
    pub message: String,
    /// The fix, where one is known.
    pub help: Option<String>,
}

impl Finding {
    /// A breach at a pointer of a file.
    pub fn new(rule: Rule, file: &Arc<str>, pointer: &str, message: impl Into<String>) -> Finding {
        Finding {
            file: file.clone(),
            pointer: pointer.to_owned(),
            rule,
            message: message.into(),
            help: None,
        }
    }

    /// Adds the fix.
    pub fn help(self, help: impl Into<String>) -> Finding {
        Finding { help: Some(help.into()), ..self }
    }

    /// The diagnostic, its place looked up in the file's text.
    pub fn locate(&self, source: &Source, syntax: Syntax) -> Diagnostic {
        let mut scratch = Report::new(source);
        let root = crate::source::parse(source, syntax, &mut scratch);
        let span = root.map_or(0..0, |root| match syntax {
            Syntax::Json => foreign::nearest(&root, &self.pointer).span.clone(),
            Syntax::Markdown | Syntax::Toml | Syntax::Foreign => {
                root.nearest(&self.pointer).span.clone()
            }
        });
        let (line, column) = source.position(span.start);
        let mut report = Report::new(source);
        let found = report.add(&self.rule, span, self.message.clone());
        Diagnostic { line, column, help: self.help.clone(), ..found.clone() }
    }
}

/// The nearest of some names to one that is not among them.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '.', ' '], "_");
    let name = plain(name);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&name, &plain(candidate)), candidate))
        // One letter of two is half a word: `no` does not mean `on`.
        .filter(|(distance, candidate)| {
            *distance == 0 || candidate.len() > 2 && *distance <= (candidate.len() / 3).max(1)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The nearest of some names, as help for one that is not among them.
pub(crate) fn suggestion<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    did_you_mean(name, known).map(|near| format!("did you mean `{near}`?"))
}
