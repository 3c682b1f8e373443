//! MCP import: each tool of a server's `tools/list` becomes a contract, and the server a driver of
//! kind mcp.
//!
//! The server's claims are untrusted: annotations are kept as notes, and every tool counts as one
//! that may change anything until the operator vouches for it.

mod launch;
mod tool;

use std::collections::BTreeMap;

use haft_contract::host::host_of;
use haft_model::Glob;
use serde_json::{Map, Value, json};

use crate::import::{Error, File, Guess, Import, Margin, Omissions, SchemaLoss};
use crate::manifest::{fault, manifest};
use crate::secret::{self, Secret};
use crate::text::{self, UniqueNames};
use launch::Launch;

pub use launch::looks_secret;

/// The first version of everything that is imported.
const VERSION: &str = "1.0.0";

/// Transport and address of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerSource {
    /// A local program that speaks MCP over stdio.
    Program {
        /// The program and its arguments.
        command: Vec<String>,
        /// Its environment.
        env: BTreeMap<String, String>,
    },
    /// A remote server over HTTP.
    Remote {
        /// Its address.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
        /// Whether it uses the deprecated HTTP+SSE transport.
        sse: bool,
        /// The OAuth login, where the server wants one.
        login: Option<OAuth>,
    },
}

/// OAuth client settings, where the client is registered before the first login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OAuth {
    /// The client id, where the operator registered the client.
    pub client_id: Option<String>,
    /// Whether the client authenticates with a secret.
    pub client_secret: bool,
    /// The URL of the client's metadata document.
    pub document: Option<String>,
}

/// Options of an MCP import.
#[derive(Clone, Debug, Default)]
pub struct McpOptions {
    /// The prefix of tool ids; the server's own name when absent.
    pub id: Option<String>,
    /// The tools to import, by their names on the server; all when absent.
    pub only: Option<Glob>,
    /// Whether models and clients see the tools under the server's names.
    pub keep_names: bool,
    /// Whether to believe the server's `readOnlyHint`.
    pub believe_reads: bool,
}

/// A driver manifest that says just enough to ask the server for its tools. It holds its inputs
/// unredacted and is written nowhere; `None` where a secret stands in a command line or an address,
/// which nothing here repeats.
pub fn asked(server: &ServerSource) -> Option<Value> {
    let launch = Launch::of(server, "asked");
    let mut block = launch.server.clone();
    // There is no login yet, and no client secret is written down.
    if let Some(auth) = block.get_mut("auth").and_then(Value::as_object_mut) {
        auth.retain(|name, _| name == "client_id" || name == "client_metadata_url");
    }
    if let Some(fields) = block.as_object_mut() {
        fields.retain(|name, value| name != "auth" || value != &json!({}));
    }
    let (field, given) = match server {
        ServerSource::Program { env, .. } => ("env", env),
        ServerSource::Remote { headers, .. } => ("headers", headers),
    };
    if let (false, Some(fields)) = (given.is_empty(), block.as_object_mut()) {
        fields.insert(field.to_owned(), json!(given));
    }
    let repeats = block.to_string().contains("${secrets.");
    let manifest = json!({
        "id": "asked", "kind": "mcp", "server": block, "transport": launch.transport,
        "network": { "egress": launch.hosts },
    });
    (!repeats).then_some(manifest)
}

/// Makes manifests of a server's answer to `tools/list`. The answer may be the bare result, the
/// whole message, or the list alone; `serverInfo` may stand beside it.
pub fn import(list: &Value, server: &ServerSource, options: &McpOptions) -> Result<Import, Error> {
    let result = list.get("result").unwrap_or(list);
    let tools = result.get("tools").unwrap_or(result).as_array().ok_or_else(|| {
        let found = "it holds no list of `tools`".to_owned();
        Error::NotThis { wanted: "an answer to tools/list", found }
    })?;
    let name = name(list, server, options)?;
    let launch = Launch::of(server, &name);
    let mut omissions = Omissions::default();
    if result.get("nextCursor").is_some_and(|cursor| !cursor.is_null()) {
        omissions.skip("the rest of the list", "the answer says that there is another page");
    }
    let mut made = ImportedTools {
        name: &name,
        launch: &launch,
        taken: UniqueNames::default(),
        entries: vec![],
        options,
    };
    let (mut files, mut guesses, mut losses) = (Vec::new(), Vec::new(), Vec::new());
    for raw in tools {
        let called = raw.get("name").and_then(Value::as_str).unwrap_or_default();
        if options.only.as_ref().is_some_and(|only| !only.matches(called)) {
            continue;
        }
        match made.tool(raw, called) {
            Ok((file, own, lost)) => {
                files.push(file);
                guesses.extend(own);
                losses.extend(lost);
            }
            Err(why) => omissions.skip(text::line(called, 100), why),
        }
    }
    if files.is_empty() {
        return Err(Error::Empty("the server has no tool that can be used".to_owned()));
    }
    let users: Vec<String> = made.ids();
    files.push(driver(list, &name, &launch, made.entries, &mut guesses));
    let mut secrets: Vec<(Secret, Vec<String>)> =
        launch.secrets.iter().map(|secret| (secret.clone(), users.clone())).collect();
    // No call uses this secret: it serves the login alone.
    secrets.extend(launch.client_secret.clone().map(|secret| (secret, Vec::new())));
    files.extend(secret::inventory(&name, &secrets));
    let secrets = secrets.into_iter().map(|(secret, _)| secret).collect();
    Import { name, files, guesses, skipped: omissions.0, losses, secrets }.sound()
}

/// The name of a server's import: from the options, the server itself, or its program or host.
pub fn name(list: &Value, server: &ServerSource, options: &McpOptions) -> Result<String, Error> {
    if let Some(id) = &options.id {
        return text::prefix(id).ok_or_else(|| Error::BadName(id.clone()));
    }
    let own = list.pointer("/serverInfo/name").or_else(|| list.pointer("/result/serverInfo/name"));
    let own = own.and_then(Value::as_str).map(str::to_owned);
    let wanted = own.unwrap_or_else(|| match server {
        ServerSource::Program { command, .. } => launch::program_name(command),
        ServerSource::Remote { url, .. } => host_of(url).unwrap_or("mcp").to_owned(),
    });
    Ok(text::shortened_prefix(&wanted, "mcp"))
}

/// What is made, tool by tool.
struct ImportedTools<'a> {
    name: &'a str,
    launch: &'a Launch,
    taken: UniqueNames,
    entries: Vec<Value>,
    options: &'a McpOptions,
}

impl ImportedTools<'_> {
    fn tool(
        &mut self,
        raw: &Value,
        called: &str,
    ) -> Result<(File, Vec<Guess>, Vec<SchemaLoss>), String> {
        if called.is_empty() {
            return Err("it has no name".to_owned());
        }
        let id = self.taken.first_free(&[text::tool_id(self.name, &called.replace('.', "/"))]);
        let mut margin = Margin::new(&format!(".tools/{id}/TOOL.md"));
        let text = tool::written(raw, &id, self, &mut margin);
        if let Some(fault) = fault(&margin.file, &text) {
            return Err(format!("what was made of it is not a contract: {fault}"));
        }
        self.entries.push(json!({
            "tool": id,
            "version": format!("^{VERSION}"),
            "metadata": { "mcp": { "tool_name": called } },
        }));
        let Margin { file: path, guesses, losses } = margin;
        Ok((File { path, text }, guesses, losses))
    }

    fn ids(&self) -> Vec<String> {
        let ids = self.entries.iter().filter_map(|entry| entry.get("tool")?.as_str());
        ids.map(str::to_owned).collect()
    }
}

fn driver(
    list: &Value,
    name: &str,
    launch: &Launch,
    entries: Vec<Value>,
    guesses: &mut Vec<Guess>,
) -> File {
    let mut margin = Margin::new(&format!(".drivers/{name}/DRIVER.md"));
    launch.decided(&mut margin);
    let info = list.get("serverInfo").or_else(|| list.pointer("/result/serverInfo"));
    let title = info.and_then(|info| info.get("title").or_else(|| info.get("name"))?.as_str());
    let title = text::line(title.unwrap_or(name), 80);
    let mut fields = Map::new();
    let mut say = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    say("name", json!(if title.is_empty() { name.to_owned() } else { title }));
    say("id", json!(name));
    say("description", json!(format!("The MCP server {}.", launch.shown)));
    say("version", json!(VERSION));
    say("kind", json!("mcp"));
    say("server", launch.server.clone());
    say("transport", json!(launch.transport));
    if !launch.hosts.is_empty() {
        say("network", json!({ "egress": launch.hosts }));
    }
    if !launch.secrets.is_empty() {
        let variables: Vec<String> = launch.secrets.iter().map(|s| s.variable.clone()).collect();
        say("auth", secret::auth(name, &variables));
    }
    say("implements", Value::Array(entries));
    let body =
        "Imported by `haft add mcp`.\nWhat you change here is kept when it is imported again.\n";
    guesses.extend(margin.guesses);
    File { path: margin.file, text: manifest(&fields, body) }
}

#[cfg(test)]
mod tests;
