//! What an input says about files, addresses and commands, by the names of its fields.

use serde_json::Value;

/// Last words of names whose values are paths.
const PATHS: [&str; 6] = ["path", "file", "filename", "dir", "directory", "folder"];
/// Last words of names whose values are addresses.
const URLS: [&str; 3] = ["url", "uri", "href"];
/// Last words of names whose values are commands.
const COMMANDS: [&str; 3] = ["command", "cmd", "argv"];

/// A command in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// One text, which a shell may take apart.
    Line(String),
    /// A list of words, joined here; no shell reads it.
    Words(String),
}

impl Command {
    /// What a shell would take apart or fill in.
    const SHELL: [char; 13] = [';', '|', '&', '<', '>', '`', '$', '(', ')', '{', '}', '\n', '\r'];

    /// Whether no shell would make more than one command of it.
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            Command::Line(line) => !line.contains(Command::SHELL),
            Command::Words(_) => true,
        }
    }

    /// Its parts, as a shell would take it apart at the least.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &str> {
        let (Command::Line(text) | Command::Words(text)) = self;
        let whole = self.is_plain().then_some(text.trim());
        let parts = (!self.is_plain()).then(|| text.split(Command::SHELL).map(str::trim));
        whole.into_iter().chain(parts.into_iter().flatten()).filter(|part| !part.is_empty())
    }
}

/// The paths of an input, without `.`, `..` and doubled slashes.
pub(crate) fn paths(input: &Value) -> Vec<String> {
    strings(input, &PATHS).into_iter().map(straight).collect()
}

/// The addresses of an input: the host in lower case, the path without `.` and `..`.
pub(crate) fn urls(input: &Value) -> Vec<String> {
    strings(input, &URLS).into_iter().map(plain_url).collect()
}

/// The commands of an input.
pub(crate) fn commands(input: &Value) -> Vec<Command> {
    let mut found = Vec::new();
    named(input, &COMMANDS, &mut |value| match value {
        Value::String(line) => found.push(Command::Line(line.clone())),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            found.push(Command::Words(words.join(" ")));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    });
    found
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

/// Hands over every value whose field's name ends with one of the words.
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

/// The last word of `source_path`, `sourcePath` or `source-paths`: `path`.
fn last_word(name: &str) -> String {
    let name = name.rsplit(['_', '-', '.', ' ']).next().unwrap_or(name);
    // A capital after a small letter begins a word; `URL` and `filePATH` are one and two.
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

/// A path without `.`, `..` and doubled slashes; what leads out keeps its `..`.
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

/// Whether a path or an address is a scope or lies below it. `.` is every path from here.
pub(crate) fn lies_in(place: &str, scope: &str) -> bool {
    let address = scope.contains("://");
    let root = if address { plain_url(scope) } else { straight(scope) };
    if root.is_empty() {
        let outside = place.starts_with('/') || place.starts_with("..") || place.contains("://");
        return !scope.is_empty() && !outside;
    }
    let rest = place.strip_prefix(&root);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || root.ends_with('/'))
}

fn plain_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let host_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, rest) = rest.split_at(host_end);
    let path_end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (path, query) = rest.split_at(path_end);
    let dotted = path.replace("%2e", ".").replace("%2E", ".");
    let mut path = if path.is_empty() { String::new() } else { straight(&dotted) };
    if dotted.ends_with('/') && !path.ends_with('/') {
        path.push('/');
    }
    format!("{}://{}{path}{query}", scheme.to_lowercase(), host.to_lowercase())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_known_by_the_last_word_of_their_names() {
        let input = json!({
            "path": "a", "sourcePath": "b/../c", "output_dirs": ["d", "./e//f"], "profile": "no",
            "more": [{ "file": "/x/../../y" }], "directories": ["g"], "pathology": "no",
        });
        assert_eq!(paths(&input), ["a", "c", "d", "e/f", "/y", "g"]);
        assert_eq!(paths(&json!({ "up": "no", "file": "../x" })), ["../x"]);
        let input = json!({ "url": "HTTPS://Shop.Example/a/%2e%2E/b/?Q=1", "baseURL": "http://h" });
        assert_eq!(urls(&input), ["https://shop.example/b/?Q=1", "http://h"]);
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
    fn a_command_is_a_line_or_words() {
        let input = json!({ "command": "ls; rm -r x", "argv": ["ls", "-l"] });
        let found = commands(&input);
        assert_eq!(found, [Command::Line("ls; rm -r x".into()), Command::Words("ls -l".into())]);
        assert_eq!(found[0].parts().collect::<Vec<_>>(), ["ls", "rm -r x"]);
        assert_eq!([found[0].is_plain(), found[1].is_plain()], [false, true]);
    }
}
