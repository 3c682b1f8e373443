//! Client settings import: lists the MCP servers in the settings files of other programs.

use std::collections::BTreeMap;

use haft_contract::source::parse;
use haft_contract::{Report, Source, Syntax};
use serde_json::Value;

use crate::import::Error;
use crate::manifest::read_document;
use crate::mcp::ServerSource;

/// An MCP server in the settings of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedServer {
    /// Its name in those settings.
    pub name: String,
    /// Its transport and address.
    pub server: ServerSource,
}

/// A program whose settings file Haft can locate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownClient {
    /// The name of the program.
    pub name: &'static str,
    /// Paths of its settings: below the workspace, or below the home folder after `~/`.
    pub places: &'static [&'static str],
}

/// The programs that are known by name.
pub const CLIENTS: [KnownClient; 5] = [
    KnownClient {
        name: "claude-desktop",
        places: &[
            "~/.config/Claude/claude_desktop_config.json",
            "~/Library/Application Support/Claude/claude_desktop_config.json",
        ],
    },
    KnownClient { name: "claude-code", places: &[".mcp.json", "~/.claude.json"] },
    KnownClient { name: "cursor", places: &[".cursor/mcp.json", "~/.cursor/mcp.json"] },
    KnownClient { name: "vscode", places: &[".vscode/mcp.json", "~/.config/Code/User/mcp.json"] },
    KnownClient { name: "codex", places: &[".codex/config.toml", "~/.codex/config.toml"] },
];

/// The servers in a file of settings, in its order. What it says of each is read leniently; one that
/// cannot be reached by anything that it says is an error with its name.
pub fn servers(file: &str, text: &str) -> Result<Vec<Result<ListedServer, String>>, Error> {
    let settings = settings(file, text)?;
    let places = ["/mcpServers", "/servers", "/mcp/servers", "/mcp_servers"];
    let listed = places.iter().find_map(|place| settings.pointer(place)?.as_object());
    let listed = listed.ok_or_else(|| Error::NotThis {
        wanted: "the settings of a program that uses MCP servers",
        found: "it has neither `mcpServers`, `servers` nor `mcp_servers`".to_owned(),
    })?;
    Ok(listed.iter().map(|(name, raw)| one(name, raw)).collect())
}

/// The import name of a server.
pub fn import_name(server: &str) -> String {
    crate::text::shortened_prefix(server, "mcp")
}

fn settings(file: &str, text: &str) -> Result<Value, Error> {
    if !file.ends_with(".toml") {
        return read_document(file, &without_comments(text));
    }
    let source = Source::new(file, text);
    let mut report = Report::new(&source);
    let node = parse(&source, Syntax::Toml, &mut report);
    match (report.into_diagnostics().first(), node) {
        (None, Some(node)) => Ok(node.to_json()),
        (Some(error), _) => {
            Err(Error::Unreadable(format!("line {}: {}", error.line, error.message)))
        }
        (None, None) => Err(Error::Unreadable("it is empty".to_owned())),
    }
}

fn one(name: &str, raw: &Value) -> Result<ListedServer, String> {
    let text = |key: &str| raw.get(key).and_then(Value::as_str);
    let texts = |key: &str| -> Vec<String> {
        let list = raw.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let named = |key: &str| -> BTreeMap<String, String> {
        let map = raw.get(key).and_then(Value::as_object).into_iter().flatten();
        map.filter_map(|(name, value)| Some((name.clone(), plain(value)?))).collect()
    };
    if raw.get("disabled") == Some(&Value::Bool(true))
        || raw.get("enabled") == Some(&Value::Bool(false))
    {
        return Err(format!("`{name}` is switched off there"));
    }
    let url = text("url").or_else(|| text("serverUrl")).or_else(|| text("httpUrl"));
    let server =
        match (text("command"), url) {
            (Some(command), _) => {
                let command = std::iter::once(command.to_owned()).chain(texts("args")).collect();
                ServerSource::Program { command, env: named("env") }
            }
            (None, Some(url)) => {
                let mut headers = named("headers");
                headers.extend(named("http_headers"));
                let bearer = text("bearer_token_env_var");
                headers.extend(bearer.map(|variable| {
                    ("Authorization".to_owned(), format!("Bearer ${{{variable}}}"))
                }));
                let sse = text("type") == Some("sse");
                ServerSource::Remote { url: url.to_owned(), headers, sse, login: None }
            }
            (None, None) => return Err(format!("`{name}` has neither a command nor an address")),
        };
    Ok(ListedServer { name: name.to_owned(), server })
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// JSON without the comments and the last commas that editors allow in it.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut quoted = false;
    while let Some(letter) = letters.next() {
        match (quoted, letter, letters.peek()) {
            (true, '\\', Some(_)) => {
                out.push(letter);
                out.extend(letters.next());
                continue;
            }
            (_, '"', _) => quoted = !quoted,
            (false, '/', Some('/')) => {
                while letters.next_if(|letter| *letter != '\n').is_some() {}
                continue;
            }
            (false, '/', Some('*')) => {
                let mut before = ' ';
                for letter in letters.by_ref() {
                    if before == '*' && letter == '/' {
                        break;
                    }
                    before = letter;
                }
                continue;
            }
            (false, '}' | ']', _) => {
                let kept = out.trim_end().strip_suffix(',').map(str::len);
                if let Some(kept) = kept {
                    out.truncate(kept);
                }
            }
            _ => {}
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests;
