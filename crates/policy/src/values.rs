//! Input fields as targets: reads paths, addresses and commands from an input by the names of its
//! fields.

use haft_model::Glob;
use serde_json::{Map, Value};

use crate::targets::words::words;
use crate::targets::{CommandLine, CommandPattern, ProgramFile, Spellings, address};

/// Last words of the names of path fields.
const PATHS: [&str; 6] = ["path", "file", "filename", "dir", "directory", "folder"];
/// Last words of the names of address fields.
const URLS: [&str; 3] = ["url", "uri", "href"];
/// Last words of the names of command fields.
const COMMANDS: [&str; 3] = ["command", "cmd", "argv"];

/// Last words of the names of fields with arguments for a command field beside them.
const ARGUMENTS: [&str; 3] = ["arg", "argument", "param"];

/// A command in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedCommand {
    /// Text as written, if it is one string.
    text: Option<String>,
    /// Analysed command line.
    line: CommandLine,
}

impl NamedCommand {
    /// Characters at which every shell splits commands.
    const SHELL: [char; 13] = [';', '|', '&', '<', '>', '`', '$', '(', ')', '{', '}', '\n', '\r'];

    /// Returns true if a restricting pattern matches, on the command or any part that a shell may
    /// split off.
    pub(crate) fn is_held(&self, pattern: &CommandPattern) -> bool {
        let glob = pattern.written();
        let parts = self.text.iter().flat_map(|text| text.split(NamedCommand::SHELL));
        self.line.is_held(pattern)
            || self.text.as_deref().is_some_and(|text| glob.matches(text))
            || parts.map(str::trim).any(|part| !part.is_empty() && glob.matches(part))
    }

    /// Returns true if an allowing pattern matches: it equals the whole text, or the command is not
    /// opaque and fits.
    pub(crate) fn is_let_go(&self, pattern: &CommandPattern) -> bool {
        self.text.as_deref() == Some(pattern.written().source()) || self.line.is_let_go(pattern)
    }
}

/// Paths of an input, normalized.
pub(crate) fn paths(input: &Value) -> Vec<Spellings> {
    let spelled = |path: &str| {
        let further = vec![path.to_owned()];
        Spellings { further, ..Spellings::of(straight(path)) }
    };
    strings(input, &PATHS).into_iter().map(spelled).collect()
}

/// Path fields of an input, as written.
pub fn path_texts(input: &Value) -> Vec<&str> {
    strings(input, &PATHS)
}

/// Globs of a path pattern, as written and normalized.
pub(crate) fn path_patterns(source: &str) -> Vec<Glob> {
    let plain = straight(source);
    match plain == source {
        true => vec![Glob::new(source)],
        false => vec![Glob::new(source), Glob::new(&plain)],
    }
}

/// Addresses of an input, in the spellings of the drivers' parser.
pub(crate) fn urls(input: &Value) -> Vec<Spellings> {
    strings(input, &URLS).into_iter().map(address::spellings).collect()
}

/// Commands of an input.
pub(crate) fn commands(input: &Value) -> Vec<NamedCommand> {
    let mut found = Vec::new();
    match input {
        Value::Object(fields) => {
            for (name, value) in fields {
                if COMMANDS.contains(&last_word(name).as_str()) {
                    found.extend(command(value, fields));
                }
                found.extend(commands(value));
            }
        }
        Value::Array(values) => found.extend(values.iter().flat_map(commands)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    found
}

/// A command alone, and with each set of arguments beside it.
fn command(value: &Value, beside: &Map<String, Value>) -> Vec<NamedCommand> {
    let nowhere = |_: &str| ProgramFile::Unknown;
    let (text, argv) = match value {
        Value::String(text) => (Some(text.clone()), None),
        Value::Array(words) => (None, Some(words.iter().map(word).collect::<Vec<String>>())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Vec::new(),
    };
    let line = match (&text, &argv) {
        (Some(text), _) => CommandLine::text(text, &nowhere),
        (None, argv) => CommandLine::of(argv.as_deref().unwrap_or_default(), &nowhere),
    };
    let mut found = vec![NamedCommand { text: text.clone(), line }];
    let is_arguments = |name: &String| ARGUMENTS.contains(&last_word(name).as_str());
    for (_, given) in beside.iter().filter(|(name, _)| is_arguments(name)) {
        let given: Vec<String> = match given {
            Value::Array(words) => words.iter().map(word).collect(),
            Value::String(text) => match words(text) {
                Some(words) => words,
                None => vec![text.clone()],
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => continue,
        };
        let program = match (&text, &argv) {
            (Some(text), _) => words(text).unwrap_or_else(|| vec![text.clone()]),
            (None, argv) => argv.clone().unwrap_or_default(),
        };
        let argv: Vec<String> = program.into_iter().chain(given).collect();
        found.push(NamedCommand { text: None, line: CommandLine::of(&argv, &nowhere) });
    }
    found
}

/// One word of a list.
fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn strings<'v>(input: &'v Value, words: &[&str]) -> Vec<&'v str> {
    let mut found = Vec::new();
    named(input, words, &mut |value| match value {
        Value::String(text) => found.push(text.as_str()),
        Value::Array(texts) => found.extend(texts.iter().filter_map(Value::as_str)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    });
    found
}

/// Visits every value whose field name ends with one of the words.
fn named<'v>(input: &'v Value, words: &[&str], hand: &mut dyn FnMut(&'v Value)) {
    match input {
        Value::Object(fields) => {
            for (name, value) in fields {
                if words.contains(&last_word(name).as_str()) {
                    hand(value);
                }
                named(value, words, hand);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| named(value, words, hand)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Last word of a field name, in the singular: `path` for `source_path`, `sourcePath` or
/// `source-paths`.
fn last_word(name: &str) -> String {
    let name = name.rsplit(['_', '-', '.', ' ']).next().unwrap_or(name);
    // A capital after a small letter begins a word; `URL` is one word, `filePATH` is two.
    let mut begin = 0;
    let mut small = false;
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && small {
            begin = at;
        }
        small = letter.is_lowercase();
    }
    let word = name.get(begin..).unwrap_or(name).to_lowercase();
    match word.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => word.strip_suffix('s').unwrap_or(&word).to_owned(),
    }
}

/// Normalizes a path: no `.`, `..` or doubled slashes; a path that leads out keeps its `..`.
pub(crate) fn straight(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let rooted = path.starts_with('/');
    for part in path.split('/') {
        match (part, parts.last()) {
            ("" | ".", _) => {}
            ("..", Some(&last)) if last != ".." => {
                parts.pop();
            }
            ("..", None) if rooted => {}
            (part, _) => parts.push(part),
        }
    }
    let path = parts.join("/");
    if rooted { format!("/{path}") } else { path }
}

/// Returns true if a path or an address equals a scope or lies below it; `.` is every relative
/// path.
pub(crate) fn lies_in(place: &str, scope: &str) -> bool {
    let address = scope.contains("://");
    let root = if address { address::plain_pattern(scope) } else { straight(scope) };
    if root.is_empty() {
        let outside = place.starts_with('/') || place.starts_with("..") || place.contains("://");
        return !scope.is_empty() && !outside;
    }
    let rest = place.strip_prefix(&root);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || root.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(values: Vec<Spellings>) -> Vec<String> {
        values.into_iter().filter_map(|value| value.canonical.into_iter().next()).collect()
    }

    #[test]
    fn path_and_url_fields_are_recognized_by_last_word() {
        let input = json!({
            "path": "a", "sourcePath": "b/../c", "output_dirs": ["d", "./e//f"], "profile": "no",
            "more": [{ "file": "/x/../../y" }], "directories": ["g"], "pathology": "no",
        });
        assert_eq!(named(paths(&input)), ["a", "c", "d", "e/f", "/y", "g"]);
        assert_eq!(named(paths(&json!({ "up": "no", "file": "../x" }))), ["../x"]);
        let input = json!({ "url": "HTTPS://Shop.Example/a/%2e%2E/b/?Q=1", "baseURL": "http://h" });
        assert_eq!(named(urls(&input)), ["https://shop.example/b/?Q=1", "http://h/"]);
    }

    #[test]
    fn a_scope_holds_itself_and_what_lies_below() {
        for (scope, place, expected) in [
            ("docs", "docs", true),
            ("docs", "docs/a", true),
            ("docs/", "docs/a", true),
            ("./docs", "docs/a", true),
            ("docs", "docsy/a", false),
            ("docs", "/docs/a", false),
            ("/", "/etc/a", true),
            ("/", "etc/a", false),
            (".", "etc/a", true),
            (".", "/etc/a", false),
            (".", "../a", false),
            (".", "https://a.example/", false),
            ("", "a", false),
            ("", "/a", false),
            ("https://A.example", "https://a.example/x", true),
            ("https://a.example/", "https://a.example/x", true),
            ("https://a.example", "https://a.example.evil/x", false),
            ("https://a.example/v1", "https://a.example/v2", false),
        ] {
            assert_eq!(lies_in(place, scope), expected, "{place} in {scope}");
        }
    }

    #[test]
    fn command_is_read_from_text_list_or_program_arguments() {
        for (input, pattern, expected) in [
            (json!({ "command": "ls; rm -r x" }), "rm *", true),
            (json!({ "cmd": "ls -l" }), "rm *", false),
            (json!({ "argv": ["rm", "-r", 7] }), "rm * 7", true),
            (json!({ "argv": ["rm", "a;b"] }), "rm *", true),
            (json!({ "run": { "command": "rm", "args": ["-r", "x"] } }), "rm *", true),
            (json!({ "command": "env", "arguments": ["rm", "x"] }), "rm *", true),
            (json!({ "command": "rm", "args": "-r x" }), "rm -r *", true),
            (json!({ "command": "ls", "args": ["rm"] }), "rm *", false),
            (json!({ "command": [] }), "rm *", true),
        ] {
            let compiled = CommandPattern::new(pattern);
            let held = commands(&input).iter().any(|command| command.is_held(&compiled));
            assert_eq!(held, expected, "{pattern} on {input}");
        }
    }
}
