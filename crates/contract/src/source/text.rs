//! Source file: the text of one manifest, with byte offsets mapped to lines and columns.

use std::ops::Range;
use std::sync::Arc;

use crate::{Report, rules};

/// A stretch of bytes in a source.
pub type Span = Range<usize>;

/// The largest manifest that is read; a contract of this size is a mistake or an attack.
pub const LARGEST: u64 = 1 << 20;

/// One file: its path in the workspace and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    file: Arc<str>,
    text: Arc<str>,
}

impl Source {
    /// A source from text that is known to be clean.
    pub fn new(file: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Source {
        Source { file: file.into(), text: text.into() }
    }

    /// Builds a source from bytes off a disk; refuses bytes that are not clean text and files
    /// larger than `largest`.
    pub fn from_bytes(file: &str, bytes: Vec<u8>, largest: u64) -> (Source, Report) {
        let refused = |rule, message: String, help: &str| {
            let source = Source::new(file, "");
            let mut report = Report::new(&source);
            report.add(rule, 0..0, message).help(help);
            (source, report)
        };
        if bytes.len() as u64 > largest {
            return Source::too_large(file, bytes.len() as u64, largest);
        }
        if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
            return refused(
                &rules::Y002,
                format!("byte {at} is NUL"),
                "a manifest is text; was a binary file given its name?",
            );
        }
        match String::from_utf8(bytes) {
            Ok(text) => {
                let source = Source::new(file, text);
                let report = Report::new(&source);
                (source, report)
            }
            Err(fault) => refused(
                &rules::Y001,
                format!("byte {} is not UTF-8", fault.utf8_error().valid_up_to()),
                "save the file as UTF-8",
            ),
        }
    }

    /// The placeholder for a file that is too large to be read.
    pub fn too_large(file: &str, size: u64, largest: u64) -> (Source, Report) {
        let source = Source::new(file, "");
        let mut report = Report::new(&source);
        report
            .add(
                &rules::Y003,
                0..0,
                format!("the file has {size} bytes; at most {largest} are read"),
            )
            .help("a contract is a page or two; move data out of it");
        (source, report)
    }

    /// The file's path from the workspace's root.
    pub fn file(&self) -> &Arc<str> {
        &self.file
    }

    /// The text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line and column of a byte, both from 1; columns count characters.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        (line, column)
    }

    /// The lines and columns of bytes in ascending order.
    pub(crate) fn positions(&self, offsets: Vec<usize>) -> impl Iterator<Item = (usize, usize)> {
        let (mut at, mut line, mut column) = (0, 1, 1);
        offsets.into_iter().map(move |offset| {
            let Some(passed) = self.text.get(at..offset) else { return (line, column) };
            for letter in passed.chars() {
                (line, column) = if letter == '\n' { (line + 1, 1) } else { (line, column + 1) };
            }
            at = offset;
            (line, column)
        })
    }
}
