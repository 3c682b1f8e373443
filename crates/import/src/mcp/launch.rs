//! Server launch: how a server is started or reached, with every secret redacted from its command
//! line.

use std::collections::BTreeMap;

use haft_contract::host::host_of;
use serde_json::{Map, Value, json};

use super::{OAuth, ServerSource};
use crate::import::Margin;
use crate::secret::{Secret, SecretForm};
use crate::text;

/// Words in names that stand for secrets.
const SECRET_WORDS: [&str; 14] = [
    "apikey",
    "api-key",
    "token",
    "secret",
    "password",
    "passwd",
    "credential",
    "auth",
    "private-key",
    "access-key",
    "pat",
    "dsn",
    "connection-string",
    "database-url",
];

/// How values begin that are surely secrets.
const SECRET_BEGINNINGS: [&str; 12] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "eyJ",
    "AKIA",
];

/// The server as a driver says it.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    pub(super) server: Value,
    pub(super) transport: &'static str,
    pub(super) hosts: Vec<String>,
    pub(super) secrets: Vec<Secret>,
    /// The OAuth client secret, for the authorization server.
    pub(super) client_secret: Option<Secret>,
    /// What it is called for people, without anything secret.
    pub(super) shown: String,
    notes: Vec<(&'static str, String, String)>,
}

impl Launch {
    pub(super) fn of(server: &ServerSource, import: &str) -> Launch {
        let mut vault = Vault { import, secrets: Vec::new(), notes: Vec::new() };
        match server {
            ServerSource::Program { command, env } => program(command, env, vault),
            ServerSource::Remote { url, headers, sse, login } => {
                let host = host_of(url).unwrap_or_default().to_ascii_lowercase();
                let url = vault.url(url);
                let mut server = json!({ "kind": "remote", "url": url });
                let headers: Map<String, Value> = headers
                    .iter()
                    .map(|(name, value)| (name.clone(), json!(vault.header(name, value))))
                    .collect();
                if let (false, Some(fields)) = (headers.is_empty(), server.as_object_mut()) {
                    fields.insert("headers".to_owned(), Value::Object(headers));
                }
                let client_secret = match (login, server.as_object_mut()) {
                    (Some(login), Some(fields)) => vault.login(login, fields),
                    _ => None,
                };
                let shown = host.clone();
                let transport = if *sse { "sse" } else { "http" };
                let launch = vault.launch(server, transport, vec![host], shown);
                Launch { client_secret, ..launch }
            }
        }
    }

    /// What a contract needs because of its server.
    pub(super) fn requires(&self) -> Value {
        let mut requires = Map::new();
        if !self.hosts.is_empty() {
            requires.insert("network".to_owned(), json!(self.hosts));
        }
        if !self.secrets.is_empty() {
            let slugs: Vec<&str> = self.secrets.iter().map(|secret| secret.slug.as_str()).collect();
            requires.insert("secrets".to_owned(), json!(slugs));
        }
        Value::Object(requires)
    }

    pub(super) fn decided(&self, margin: &mut Margin) {
        for (field, value, why) in &self.notes {
            margin.guess(field, value, why, "edit the driver");
        }
    }
}

fn program(command: &[String], env: &BTreeMap<String, String>, mut vault: Vault<'_>) -> Launch {
    let args = vault.args(command.get(1..).unwrap_or_default());
    let env: Map<String, Value> =
        env.iter().map(|(name, value)| (name.clone(), json!(vault.value(name, value)))).collect();
    let first = command.first().map(String::as_str).unwrap_or_default();
    let runner = first.rsplit(['/', '\\']).next().unwrap_or_default().trim_end_matches(".cmd");
    let package = args.iter().position(|arg| !arg.starts_with('-'));
    let mut shown = program_name(command);
    let mut server = match (runner, package) {
        ("npx" | "bunx", Some(at)) => {
            let rest = args.get(at + 1..).unwrap_or_default();
            shown = text::line(args.get(at).map(String::as_str).unwrap_or_default(), 100);
            json!({ "kind": "npm", "package": args.get(at), "args": rest })
        }
        _ => json!({ "kind": "binary", "path": vault.filled(first), "args": args }),
    };
    if let Some(fields) = server.as_object_mut() {
        if fields.get("args").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            fields.shift_remove("args");
        }
        if !env.is_empty() {
            fields.insert("env".to_owned(), Value::Object(env));
        }
    }
    let why = "the source lists no host that the server reaches, and unlisted hosts are blocked";
    vault.notes.push(("network.egress", "none".to_owned(), why.to_owned()));
    vault.launch(server, "stdio", Vec::new(), shown)
}

/// What a command is called: the package or script that it runs, or the program itself.
pub(super) fn program_name(command: &[String]) -> String {
    let last = |text: &str| {
        text.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
    };
    let program = command.first().map(|program| last(program)).unwrap_or_default();
    const RUNNERS: [&str; 10] =
        ["npx", "bunx", "uvx", "uv", "python", "python3", "node", "deno", "pipx", "docker"];
    let script = command.iter().skip(1).find(|arg| {
        !arg.starts_with('-') && !["run", "-m", "exec", "tool"].contains(&arg.as_str())
    });
    let is_runner = RUNNERS.contains(&program.as_str());
    let name = script.filter(|_| is_runner).map(|script| {
        let bare = script
            .strip_prefix('@')
            .and_then(|scoped| scoped.split_once('/'))
            .map_or(script.as_str(), |(_, name)| name);
        let bare = bare.split('@').next().unwrap_or_default();
        let name = last(bare);
        name.trim_end_matches(".py").trim_end_matches(".js").to_owned()
    });
    text::line(&name.filter(|name| !name.is_empty()).unwrap_or(program), 80)
}

/// Takes secrets out of texts and remembers them.
struct Vault<'a> {
    import: &'a str,
    secrets: Vec<Secret>,
    notes: Vec<(&'static str, String, String)>,
}

impl Vault<'_> {
    fn launch(
        self,
        server: Value,
        transport: &'static str,
        hosts: Vec<String>,
        shown: String,
    ) -> Launch {
        let (secrets, notes) = (self.secrets, self.notes);
        Launch { server, transport, hosts, secrets, client_secret: None, shown, notes }
    }

    /// A secret of this name.
    fn secret(&self, name: &str, kind: SecretForm, what: &str) -> Secret {
        Secret {
            slug: format!("{}/{}", text::secret_slug(self.import), text::secret_slug(name)),
            variable: text::environment_name(&[self.import, name]),
            name: text::line(&format!("{} {name}", self.import), 80),
            description: what.to_owned(),
            kind,
        }
    }

    /// The placeholder of a secret of this name.
    fn keep(&mut self, name: &str, what: &str) -> String {
        self.kept(self.secret(name, SecretForm::Opaque, what))
    }

    fn kept(&mut self, secret: Secret) -> String {
        let placeholder = secret.placeholder();
        if !self.secrets.contains(&secret) {
            self.secrets.push(secret);
        }
        placeholder
    }

    /// How one logs in, and the secret that proves who we are.
    fn login(&mut self, login: &OAuth, server: &mut Map<String, Value>) -> Option<Secret> {
        let what = "The login to the server; `haft login` gets and renews it.";
        let mut auth = Map::new();
        let bearer = self.kept(self.secret("login", SecretForm::OAuth, what));
        auth.insert("bearer".to_owned(), json!(bearer));
        auth.extend(login.client_id.clone().map(|id| ("client_id".to_owned(), json!(id))));
        let place = login.document.clone();
        auth.extend(place.map(|place| ("client_metadata_url".to_owned(), json!(place))));
        let what = "Authenticates Haft to the authorization server.";
        let proof =
            login.client_secret.then(|| self.secret("client-secret", SecretForm::Opaque, what));
        let written = proof.as_ref().map(Secret::placeholder);
        auth.extend(written.map(|written| ("client_secret".to_owned(), json!(written))));
        server.insert("auth".to_owned(), Value::Object(auth));
        proof
    }

    /// The value of a variable or an option.
    fn value(&mut self, name: &str, value: &str) -> String {
        if placeholder(value).is_none() && looks_secret(name, value) {
            return self.keep(name, "The server is given it when it starts.");
        }
        self.filled(value)
    }

    fn header(&mut self, name: &str, value: &str) -> String {
        match value.split_once(' ') {
            Some((scheme @ ("Bearer" | "Basic" | "Token"), value))
                if placeholder(value).is_none() =>
            {
                format!("{scheme} {}", self.keep(name, "Goes into a header of every request."))
            }
            _ => self.value(name, value),
        }
    }

    fn url(&mut self, url: &str) -> String {
        // A key in the query would be written into the manifest.
        match url.split_once('?') {
            Some((before, _)) => {
                let why = "a query may hold a key, and no manifest does";
                self.notes.push(("server.url", before.to_owned(), why.to_owned()));
                before.to_owned()
            }
            None => url.to_owned(),
        }
    }

    fn args(&mut self, args: &[String]) -> Vec<String> {
        let mut before = String::new();
        let mut out = Vec::new();
        for arg in args {
            let hidden = match arg.split_once('=').filter(|_| arg.starts_with('-')) {
                Some((flag, value)) => format!("{flag}={}", self.value(flag, value)),
                None if arg.starts_with('-') => arg.clone(),
                None => self.value(&before, arg),
            };
            before = if arg.starts_with('-') {
                arg.trim_start_matches('-').to_owned()
            } else {
                String::new()
            };
            out.push(hidden);
        }
        out
    }

    /// A text whose placeholders are ours: other programs fill theirs in, and we do not.
    fn filled(&mut self, text: &str) -> String {
        let Some((before, name, after)) = placeholder(text) else { return text.to_owned() };
        let bare = name.split_once(':').map_or(name, |(_, bare)| bare);
        let bare = bare.split_once(":-").map_or(bare, |(bare, _)| bare);
        let ours =
            if ["workspaceFolder", "workspaceRoot", "PWD", "CLAUDE_PROJECT_DIR"].contains(&bare) {
                let why = format!("`${{{name}}}` is the folder of the workspace");
                self.notes.push(("server.args", ".".to_owned(), text::line(&why, 200)));
                ".".to_owned()
            } else {
                self.keep(bare, "A placeholder in the server's configuration.")
            };
        let rest = self.filled(after);
        format!("{before}{ours}{rest}")
    }
}

/// The first `${…}` of a text: what stands before it, its name, and what comes after.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// Whether a value should not stand in a file, by its name or by how it looks.
pub fn looks_secret(name: &str, value: &str) -> bool {
    let slug = text::slug(name);
    let words: Vec<&str> = slug.split('-').collect();
    let named = SECRET_WORDS.iter().any(|word| match word.contains('-') {
        true => slug.contains(word),
        false => words.iter().any(|part| part == word || part.strip_suffix('s') == Some(word)),
    });
    let flag = matches!(value, "" | "true" | "false" | "0" | "1");
    let begins = SECRET_BEGINNINGS.iter().any(|beginning| value.starts_with(beginning));
    let login = value.split_once("://").is_some_and(|(_, rest)| {
        let authority = rest.split('/').next().unwrap_or_default();
        authority.contains('@') && authority.contains(':')
    });
    let dense = value.len() >= 24
        && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        && value.chars().any(|c| c.is_ascii_digit())
        && value.chars().any(|c| c.is_ascii_alphabetic())
        && !value.contains("--");
    (named && !flag) || begins || login || dense
}
