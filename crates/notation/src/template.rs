//! Templates: text with `${…}` in it, in the grammar of AIP-31 and no more.
//!
//! ```text
//! template := (literal | "${" expr "}")*
//! expr     := call | path ("|" filter)*
//! path     := ("input" | "secrets" | "context" | …) ("." name)+ | name
//! filter   := "default(" literal ")" | "json"
//! call     := "optional(" text "," path ")" | "flag(" text ["," path] ")"
//! ```
//!
//! `optional` and `flag` may also be written as filters, as the published examples do.

use haft_model::JsonFlaw;

use crate::NotationFault;

/// A text with its placeholders found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Literals and expressions, in order.
    pub pieces: Vec<Piece>,
}

/// A stretch of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Literal(String),
    /// A placeholder.
    Expression(Expression),
}

/// The inside of one placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    /// `["input", "card"]`, or one bare name.
    pub path: Vec<String>,
    /// The filters of the value, in order.
    pub filters: Vec<Filter>,
}

/// A filter of a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Stands in when the value is missing or null; the literal as JSON text.
    Default(String),
    /// Writes the value as JSON text.
    Json,
    /// In an argument list: the flag and the value, or nothing.
    Optional(String),
    /// In an argument list: the flag alone when the value is truthy.
    Flag(String),
}

impl Template {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Template, NotationFault> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let (literal, after) = rest.split_at(start);
            if !literal.is_empty() {
                pieces.push(Piece::Literal(literal.to_owned()));
            }
            let inside = after.strip_prefix("${").unwrap_or(after);
            let end = closing_brace(inside).ok_or_else(|| {
                NotationFault::new(format!("`{after}` opens a placeholder and never closes it"))
                    .help("close it with `}`")
            })?;
            let (expression, after) = inside.split_at(end);
            pieces.push(Piece::Expression(Expression::parse(expression)?));
            rest = after.strip_prefix('}').unwrap_or(after);
        }
        if !rest.is_empty() {
            pieces.push(Piece::Literal(rest.to_owned()));
        }
        Ok(Template { pieces })
    }

    /// The placeholders.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Literal(_) => None,
            Piece::Expression(expression) => Some(expression),
        })
    }
}

impl Expression {
    fn parse(text: &str) -> Result<Expression, NotationFault> {
        let mut parts = split_outside_quotes(text, '|').into_iter();
        let head = parts.next().unwrap_or_default().trim();
        let (path, first) = match call(head) {
            Some((name, arguments)) => called(head, name, &arguments)?,
            None => (parse_path(head)?, None),
        };
        let mut filters: Vec<Filter> = first.into_iter().collect();
        for part in parts {
            filters.push(parse_filter(part.trim())?);
        }
        Ok(Expression { path, filters })
    }

    /// The first name of the path: `input`, `secrets`, `context`, or a bare name.
    pub fn root(&self) -> &str {
        self.path.first().map_or("", String::as_str)
    }

    /// The name after the root, if the path has one.
    pub fn field(&self) -> Option<&str> {
        self.path.get(1).map(String::as_str)
    }

    /// Whether it yields something when its value is missing.
    pub fn tolerates_absence(&self) -> bool {
        !self.filters.iter().all(|filter| *filter == Filter::Json)
    }
}

/// `optional('--flag', input.x)` and `flag('--flag', input.x)` at the head of an expression.
fn called(
    head: &str,
    name: &str,
    arguments: &[&str],
) -> Result<(Vec<String>, Option<Filter>), NotationFault> {
    let [flag, path] = arguments else {
        return Err(NotationFault::new(format!("`{head}` needs a flag and a path"))
            .help("as in `optional('--base', input.base)`"));
    };
    let flag = quoted(flag).ok_or_else(|| not_quoted(flag))?;
    match name {
        "optional" => Ok((parse_path(path)?, Some(Filter::Optional(flag)))),
        "flag" => Ok((parse_path(path)?, Some(Filter::Flag(flag)))),
        _ => Err(unknown(name)),
    }
}

fn parse_filter(text: &str) -> Result<Filter, NotationFault> {
    if text == "json" {
        return Ok(Filter::Json);
    }
    let Some((name, arguments)) = call(text) else { return Err(unknown(text)) };
    let first = arguments.first().copied().unwrap_or_default();
    match name {
        "default" => {
            let default = literal(first)?;
            match JsonFlaw::in_text(&default) {
                Some(flaw) => {
                    Err(NotationFault::new(flaw.to_string()).help("write it in single quotes"))
                }
                None => Ok(Filter::Default(default)),
            }
        }
        "optional" => quoted(first).map(Filter::Optional).ok_or_else(|| not_quoted(first)),
        "flag" => quoted(first).map(Filter::Flag).ok_or_else(|| not_quoted(first)),
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> NotationFault {
    NotationFault::new(format!("`{name}` is not something a template can do")).help(
        "a template knows `default('…')`, `json`, `optional('--flag', …)` and `flag('--flag')`",
    )
}

fn not_quoted(text: &str) -> NotationFault {
    NotationFault::new(format!("`{text}` must be a text in single quotes"))
}

/// `name(a, b)` as its name and arguments.
fn call(text: &str) -> Option<(&str, Vec<&str>)> {
    let (name, arguments) = text.strip_suffix(')')?.split_once('(')?;
    let arguments = split_outside_quotes(arguments, ',');
    Some((name.trim(), arguments.into_iter().map(str::trim).collect()))
}

fn parse_path(text: &str) -> Result<Vec<String>, NotationFault> {
    let plain = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
    };
    let names: Vec<&str> = text.trim().split('.').collect();
    if names.iter().all(|name| plain(name)) {
        return Ok(names.into_iter().map(str::to_owned).collect());
    }
    Err(NotationFault::new(format!("`{text}` is not a path such as `input.name`"))
        .help("a template computes nothing; a mapping or the driver's own code does"))
}

/// A literal as JSON text: `'x'`, `4096`, `true`, `false` or `null`.
fn literal(text: &str) -> Result<String, NotationFault> {
    if let Some(text) = quoted(text) {
        return Ok(serde_json::Value::String(text).to_string());
    }
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) if !value.is_array() && !value.is_object() => Ok(value.to_string()),
        _ => Err(NotationFault::new(format!("`{text}` is not a literal"))
            .help("write a text in single quotes, a number, true, false or null")),
    }
}

fn quoted(text: &str) -> Option<String> {
    let text = text.trim();
    let inside = text.strip_prefix('\'')?.strip_suffix('\'')?;
    (!inside.contains('\'')).then(|| inside.to_owned())
}

/// Where the placeholder ends, not counting braces inside quotes.
fn closing_brace(text: &str) -> Option<usize> {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '}' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

fn split_outside_quotes(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut quoted) = (0, false);
    for (at, c) in text.char_indices() {
        if c == '\'' {
            quoted = !quoted;
        } else if c == separator && !quoted {
            parts.push(text.get(start..at).unwrap_or_default());
            start = at + c.len_utf8();
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> String {
        let template = Template::parse(text).unwrap();
        let pieces = template.pieces.iter().map(|piece| match piece {
            Piece::Literal(text) => text.clone(),
            Piece::Expression(e) => format!("<{}{:?}>", e.path.join("/"), e.filters),
        });
        pieces.collect()
    }

    #[test]
    fn the_grammar_of_the_published_examples_is_read() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a ${input.x} b", "a <input/x[]> b"),
            ("${input.n | default(4096)}", "<input/n[Default(\"4096\")]>"),
            ("${input.s|default('}|,')|json}", "<input/s[Default(\"\\\"}|,\\\"\"), Json]>"),
            ("${optional('--base', input.base)}", "<input/base[Optional(\"--base\")]>"),
            ("${input.draft | flag('--draft')}", "<input/draft[Flag(\"--draft\")]>"),
            ("Bearer ${secrets.KEY}", "Bearer <secrets/KEY[]>"),
            ("${aspect}", "<aspect[]>"),
            ("$5 and {x}", "$5 and {x}"),
        ] {
            assert_eq!(shape(text), expected, "{text}");
        }
    }

    #[test]
    fn code_nesting_and_unknown_filters_are_refused() {
        for text in [
            "${input.x",
            "${}",
            "${input.a + 1}",
            "${system('rm')}",
            "${input.x | upper}",
            "${input.x | default([1])}",
            "${input.x | default(${input.y})}",
            "${input..x}",
        ] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }
}
