//! YAML 1.2 and JSON parser: builds a tree with positions from parser events, within a budget.
//!
//! The scanner is a library's. The tree is ours because a manifest's reader needs what no loader
//! gives: the place of every key and value, going on after a duplicate key, aliases paid for before
//! they are copied, and the core schema's scalars and nothing more (`NO` is text, so is a date).

use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Tag};

use crate::source::{MapEntry, Node, Source, Span, Value, scalar};
use crate::{Report, rules};

/// The resource limits of a document: the number of values once its aliases are expanded, and the
/// nesting depth of maps and lists.
#[derive(Clone, Copy)]
struct Budget {
    nodes: usize,
    depth: usize,
}

/// No manifest needs more.
const MANIFEST: Budget = Budget { nodes: 50_000, depth: 64 };

/// Descriptions of whole services have a million values.
const FOREIGN: Budget = Budget { nodes: 5_000_000, depth: 128 };

/// How long a name may be: JSON knows no limit, and YAML's 1024 characters would refuse some of it.
const LONGEST_KEY: usize = 65_536;

/// Reads one document out of a stretch of a source.
pub(super) fn parse(source: &Source, block: Span, report: &mut Report) -> Option<Node> {
    parse_within(source, block, MANIFEST, report)
}

/// Reads a whole source that is no manifest.
pub(super) fn parse_foreign(source: &Source, report: &mut Report) -> Option<Node> {
    parse_within(source, 0..source.text().len(), FOREIGN, report)
}

fn parse_within(source: &Source, block: Span, budget: Budget, report: &mut Report) -> Option<Node> {
    let text = source.text().get(block.clone())?;
    let options = granit_parser::options! {
        flow_nesting_limit: budget.depth,
        block_nesting_limit: budget.depth,
        emit_unresolved_aliases: true,
        simple_key_max_lookahead: LONGEST_KEY,
        emit_comments: false,
    };
    let lines_before = source.position(block.start).0 - 1;
    let mut tree = Tree::new(report, block, budget);
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = match event {
            Ok((event, span)) => {
                tree.line = lines_before + span.start.line();
                (event, tree.place(span.byte_range()))
            }
            Err(fault) => {
                tree.refuse(&fault);
                break;
            }
        };
        if !tree.take(event, span) {
            break;
        }
    }
    tree.finish()
}

/// What is being built: finished on the left, open on the right.
struct Tree<'a> {
    report: &'a mut Report,
    budget: Budget,
    base: usize,
    end: usize,
    /// The line of the newest event: to count lines for each repeated name would take too long.
    line: usize,
    open: Vec<OpenCollection>,
    root: Option<Node>,
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
    documents: usize,
}

/// A list or map whose end has not come yet.
struct OpenCollection {
    span: Span,
    anchor: usize,
    nodes_before: usize,
    holds: Holds,
}

enum Holds {
    List(Vec<Node>),
    Map {
        entries: Vec<MapEntry>,
        /// The line where each name stands first.
        lines: HashMap<Box<str>, usize>,
        key: Option<(Box<str>, Span, usize)>,
    },
}

impl Holds {
    fn map() -> Holds {
        Holds::Map { entries: Vec::new(), lines: HashMap::new(), key: None }
    }
}

impl<'a> Tree<'a> {
    fn new(report: &'a mut Report, block: Span, budget: Budget) -> Tree<'a> {
        Tree {
            report,
            budget,
            base: block.start,
            end: block.end,
            line: 1,
            open: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            nodes: 0,
            documents: 0,
        }
    }

    fn place(&self, range: Option<Span>) -> Span {
        let range = range.unwrap_or(0..0);
        let start = (self.base + range.start).min(self.end);
        start..(self.base + range.end).clamp(start, self.end)
    }

    /// Takes one event; false when reading has to stop.
    fn take(&mut self, event: Event<'_>, span: Span) -> bool {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.report.add(&rules::Y005, span, "a second document starts here").help(
                        "a manifest is one document; the Markdown body begins after the `---`",
                    );
                    self.report.cut_short();
                    return false;
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = self.scalar(&text, style, tag.as_deref(), &span);
                self.nodes += 1;
                self.put(Node { value, span }, anchor, 1);
            }
            Event::SequenceStart(_, anchor, _) => self.start(span, anchor, Holds::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => self.start(span, anchor, Holds::map()),
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(id) => return self.alias(id, span),
            Event::UnresolvedAlias(name) => {
                self.report.add(
                    &rules::Y007,
                    span.clone(),
                    format!("`*{name}` refers to an anchor that does not exist"),
                );
                self.report.cut_short();
                self.put(Node { value: Value::Null, span }, 0, 1);
            }
            _ => {}
        }
        let most = self.budget.nodes;
        if self.nodes > most {
            let at = self.open.last().map_or(self.base..self.base, |open| open.span.clone());
            self.report.add(&rules::Y008, at, format!("the document has more than {most} values"));
            self.report.cut_short();
            return false;
        }
        true
    }

    fn start(&mut self, span: Span, anchor: usize, holds: Holds) {
        self.nodes += 1;
        self.open.push(OpenCollection { span, anchor, nodes_before: self.nodes, holds });
    }

    fn close(&mut self, end: Span) {
        let Some(open) = self.open.pop() else { return };
        let size = self.nodes - open.nodes_before + 1;
        let value = match open.holds {
            Holds::List(items) => Value::List(items),
            Holds::Map { entries, .. } => Value::Map(entries),
        };
        self.put(Node { value, span: open.span.start..end.end }, open.anchor, size);
    }

    /// Copies an anchored value, once its size has been paid for.
    fn alias(&mut self, id: usize, span: Span) -> bool {
        let Some((node, size)) = self.anchors.get(&id) else {
            self.report.add(
                &rules::Y007,
                span.clone(),
                "this alias refers to the value it stands in",
            );
            self.report.cut_short();
            self.put(Node { value: Value::Null, span }, 0, 1);
            return true;
        };
        let (mut node, size) = (node.clone(), *size);
        let most = self.budget.nodes;
        if self.nodes + size > most {
            self.report
                .add(
                    &rules::Y007,
                    span,
                    format!("this alias would expand the document beyond {most} values"),
                )
                .help("write the value out, or leave it out");
            self.report.cut_short();
            return false;
        }
        self.nodes += size;
        node.span = span;
        self.put(node, 0, size);
        true
    }

    /// Puts a finished value where it belongs.
    fn put(&mut self, node: Node, anchor: usize, size: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), size));
        }
        match self.open.last_mut() {
            None => self.root = self.root.take().or(Some(node)),
            Some(OpenCollection { holds: Holds::List(items), .. }) => items.push(node),
            Some(OpenCollection { holds: Holds::Map { entries, lines, key }, .. }) => {
                match key.take() {
                    None => *key = Some((key_text(self.report, &node), node.span, self.line)),
                    Some((key, key_span, line)) => match lines.get(&key) {
                        None => {
                            lines.insert(key.clone(), line);
                            entries.push(MapEntry { key, key_span, value: node });
                        }
                        Some(first) => {
                            let message =
                                format!("`{key}` is given twice; the first is on line {first}");
                            self.report.add(&rules::Y006, key_span, message);
                        }
                    },
                }
            }
        }
    }

    /// What a scalar means, by its tag and its quotes.
    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: &Span) -> Value {
        let stated = tag.map(|tag| (tag.is_yaml_core_schema(), tag.suffix()));
        match stated {
            Some((true, "str")) => return Value::Text(text.into()),
            Some((true, _)) | None => {}
            Some((false, suffix)) => {
                if suffix != "!" && !suffix.is_empty() {
                    self.report.add(
                        &rules::Y009,
                        span.clone(),
                        format!("the tag `{suffix}` means nothing here"),
                    );
                }
                return Value::Text(text.into());
            }
        }
        if style != ScalarStyle::Plain {
            return Value::Text(text.into());
        }
        scalar::plain(text)
    }

    fn refuse(&mut self, fault: &ScanError) {
        let offset = fault.marker().byte_offset().unwrap_or(0);
        let at = self.place(Some(offset..offset + 1));
        self.report.cut_short();
        match fault.kind() {
            ErrorKind::RecursionLimitExceeded => {
                let deepest = self.budget.depth;
                self.report
                    .add(&rules::Y008, at, format!("maps and lists nest more than {deepest} deep"))
                    .help("no manifest needs that; flatten it");
            }
            _ => {
                self.report.add(&rules::Y005, at, fault.info());
            }
        }
    }

    /// The tree, with whatever was still open closed where reading stopped.
    fn finish(mut self) -> Option<Node> {
        while !self.open.is_empty() {
            self.close(self.end..self.end);
        }
        self.root
    }
}

/// The name in a map: scalars as they were written, since `0: ok` is as good a key as any.
fn key_text(report: &mut Report, node: &Node) -> Box<str> {
    match &node.value {
        Value::Text(text) => text.clone(),
        Value::Null => "null".into(),
        Value::Flag(flag) => flag.to_string().into(),
        Value::Number(number) => number.to_string().into(),
        Value::List(_) | Value::Map(_) => {
            report.add(&rules::Y005, node.span.clone(), "a name must be text, not a list or map");
            "?".into()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use crate::source::{Source, Syntax, parse};
    use crate::{Report, rules};

    #[test]
    fn ten_thousand_duplicate_keys_each_name_first_line() {
        const NAMES: usize = 10_000;
        let mut text = String::from("---\n");
        for line in 0..2 * NAMES {
            writeln!(text, "n{}: 0", line % NAMES).unwrap();
        }
        let source = Source::new("TOOL.md", text + "---\n");
        let mut report = Report::new(&source);
        parse(&source, Syntax::Markdown, &mut report).unwrap();
        let found = report.into_diagnostics();
        assert_eq!(found.len(), NAMES);
        let last = found.last().unwrap();
        assert_eq!((last.code, last.line), (rules::Y006.code, 2 * NAMES + 1));
        assert_eq!(last.message, "`n9999` is given twice; the first is on line 10001");
    }
}
