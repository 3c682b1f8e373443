//! Frontmatter: finds the YAML between the first two `---` lines of a Markdown file.

use crate::source::{Source, Span};
use crate::{Report, rules};

/// The bytes of the frontmatter, without its fences.
pub(super) fn find(source: &Source, report: &mut Report) -> Option<Span> {
    let text = source.text();
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lines = Lines { text, at: start };
    let first = lines.next().unwrap_or(start..start);
    if !is_fence(text, &first) {
        report
            .add(&rules::Y004, first, "the file does not start with `---`")
            .help("a manifest opens with YAML between two `---` lines");
        return None;
    }
    let block = lines.at;
    for line in &mut lines {
        if is_fence(text, &line) {
            let empty = text.get(block..line.start).is_none_or(|yaml| yaml.trim().is_empty());
            if empty {
                report.add(&rules::Y004, first, "the frontmatter is empty");
                return None;
            }
            return Some(block..line.start);
        }
    }
    report
        .add(&rules::Y004, first, "the frontmatter is never closed")
        .help("end it with a line that holds nothing but `---`");
    None
}

fn is_fence(text: &str, line: &Span) -> bool {
    text.get(line.clone()).is_some_and(|line| line.trim_end() == "---")
}

/// Lines without their ends, by position.
struct Lines<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Lines<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let start = self.at;
        let length = rest.find('\n').unwrap_or(rest.len());
        self.at = (start + length + 1).min(self.text.len());
        Some(start..start + length)
    }
}
