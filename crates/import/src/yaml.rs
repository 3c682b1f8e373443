//! YAML writer: emits values the way people write them, so that every parser reads the same.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// How long a line may be for a small map or list to stand on it.
const WIDEST: usize = 100;

/// The entries of a map, a line or more each, at an indentation.
pub(crate) fn entries(map: &Map<String, Value>, indent: usize) -> String {
    let mut out = String::new();
    for (key, value) in map {
        entry(&mut out, key, value, indent);
    }
    out
}

/// One item of a list, at the indentation of its dash.
pub(crate) fn item(value: &Value, indent: usize) -> String {
    let mut out = String::new();
    list_item(&mut out, value, indent);
    out
}

/// One value on one line, as it stands inside braces.
pub(crate) fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let pairs =
                map.iter().map(|(key, value)| format!("{}: {}", word(key, true), flow(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => word(text, true),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn entry(out: &mut String, key: &str, value: &Value, indent: usize) {
    let _ = write!(out, "{:indent$}{}:", "", word(key, false));
    let used = indent + key.len() + 2;
    after_key(out, value, indent, used);
}

fn after_key(out: &mut String, value: &Value, indent: usize, used: usize) {
    match value {
        Value::Object(map) if !fits(value, used) => {
            out.push('\n');
            out.push_str(&entries(map, indent + 2));
        }
        Value::Array(items) if !fits(value, used) => {
            out.push('\n');
            for value in items {
                list_item(out, value, indent + 2);
            }
        }
        Value::String(text) if is_block(text) => block(out, text, indent + 2),
        Value::String(text) => {
            let _ = writeln!(out, " {}", word(text, false));
        }
        _ => {
            let _ = writeln!(out, " {}", flow(value));
        }
    }
}

fn list_item(out: &mut String, value: &Value, indent: usize) {
    let _ = write!(out, "{:indent$}-", "");
    match value {
        Value::Object(map) if !fits(value, indent + 2) => {
            // The first entry stands behind the dash.
            let inner = entries(map, indent + 2);
            let _ = write!(out, " {}", inner.trim_start_matches(' '));
        }
        Value::Array(_) if !fits(value, indent + 2) => {
            // Lists of lists are rare; as JSON they are at least right.
            let _ = writeln!(out, " {}", flow(value));
        }
        _ => after_key(out, value, indent, indent + 2),
    }
}

/// Whether a map or list is small enough for the rest of a line.
fn fits(value: &Value, used: usize) -> bool {
    is_flat(value, 2) && used + 1 + flow(value).chars().count() <= WIDEST
}

/// Whether it holds nothing that wants lines of its own: no text in lines, and no map in a map.
fn is_flat(value: &Value, depth: usize) -> bool {
    let inner = |value: &Value| is_flat(value, depth.saturating_sub(1));
    match value {
        Value::Object(map) => {
            let is_map = |value: &Value| value.as_object().is_some_and(|map| !map.is_empty());
            map.is_empty() || (depth > 0 && map.values().all(|v| inner(v) && !is_map(v)))
        }
        Value::Array(items) => items.is_empty() || (depth > 0 && items.iter().all(inner)),
        Value::String(text) => !is_block(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Whether a text is written in lines of its own.
fn is_block(text: &str) -> bool {
    let plain = |line: &str| {
        !line.ends_with(char::is_whitespace) && line.chars().all(|c| !needs_escape(c) && c != '\t')
    };
    text.contains('\n')
        && !text.starts_with(char::is_whitespace)
        && !text.ends_with('\n')
        && text.split('\n').all(plain)
}

fn block(out: &mut String, text: &str, indent: usize) {
    out.push_str(" |-\n");
    for line in text.split('\n') {
        let indent = if line.is_empty() { 0 } else { indent };
        let _ = writeln!(out, "{:indent$}{line}", "");
    }
}

/// A text on one line: bare where no parser reads it as another type, else in quotes.
fn word(text: &str, inside_braces: bool) -> String {
    if is_bare(text, inside_braces) { text.to_owned() } else { quoted(text) }
}

fn is_bare(text: &str, inside_braces: bool) -> bool {
    const MEANS_SOMETHING: [&str; 9] =
        ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let first = text.chars().next().unwrap_or(' ');
    let is_version = text.split('.').count() == 3
        && text.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    let begins = first.is_ascii_alphabetic() || matches!(first, '/' | '^' | '_') || is_version;
    let inner = |c: char| {
        c.is_alphanumeric()
            || matches!(
                c,
                ' ' | '_'
                    | '/'
                    | '.'
                    | '-'
                    | '('
                    | ')'
                    | '+'
                    | '='
                    | '^'
                    | ';'
                    | ':'
                    | '\''
                    | '`'
                    | '…'
            )
            || (c == ',' && !inside_braces)
    };
    begins
        && text.chars().all(inner)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !MEANS_SOMETHING.contains(&text.to_ascii_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            letter if needs_escape(letter) => {
                let _ = write!(out, "\\U{:08x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

fn needs_escape(letter: char) -> bool {
    letter != '\t' && !crate::text::is_shown(letter)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::manifest::{manifest, parsed};

    #[test]
    fn whatever_is_written_is_read_back() {
        let value = json!({
            "plain": "Adds one line.", "empty": "", "number like": "1.5", "version": "1.0.0",
            "word": "no", "colon": "a: b", "hash": "a #b", "url": "https://a.example:443/x",
            "lines": "one\n\n  two: three\n---\nfour", "odd lines": " begins\nends \n",
            "tabs\there": "a\tb\u{7}\u{2028}", "quote\"": "it's \"so\" \\ ${input.x}",
            "list": [1, -2.5, true, null, "x", [], {}, ["a", ["b\nc"]]],
            "maps": [{"a": {"b": {"c": {"d": 1}}}}, {"long": "x".repeat(120), "more": [1]}, {}],
            "deep": {"a": [{"b": "text\ntext", "c": [{"d": []}]}]},
            "0": 0, "~": "~", "- dash": "- dash", "big": 12345678901234567890u64,
        });
        let text = manifest(value.as_object().unwrap(), "The body.\n");
        assert_eq!(parsed("x/TOOL.md", &text), Some((value, "The body.\n".to_owned())), "{text}");
    }

    #[test]
    fn yaml_writes_small_values_inline_and_large_as_block() {
        let value = json!({
            "requires": { "network": ["a.example"] },
            "inputs": { "type": "object", "properties": {
                "text": { "type": "string", "description": "The note, as it is." } } },
            "implements": [{ "tool": "note.add", "metadata": { "http": { "headers": { "A": "b" } } } }],
        });
        let text = entries(value.as_object().unwrap(), 0);
        let expected = "requires: { network: [a.example] }
inputs:
  type: object
  properties:
    text: { type: string, description: \"The note, as it is.\" }
implements:
  - tool: note.add
    metadata:
      http:
        headers: { A: b }
";
        assert_eq!(text, expected);
    }
}
