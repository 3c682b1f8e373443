//! Driver generation: one `DRIVER.md` for each host, and one more where some of its operations need
//! no login, because a driver sends nothing without the login that it declares.

use serde_json::{Map, Value, json};

use super::OpenApiOptions;
use super::document::Document;
use super::operation::{Operation, OperationRequest};
use super::security::{Carrier, SecurityScheme};
use super::server::ApiServer;
use super::tool::{VERSION, prefix};
use crate::import::{File, Guess, Margin};
use crate::manifest::manifest;
use crate::secret::{self, Secret};
use crate::text;

/// How large a driver may be, in bytes and in values, with room below what the reader takes.
const LARGEST: (usize, usize) = (800_000, 40_000);

/// The drivers that are being made.
pub(super) struct Drivers<'a> {
    document: &'a Document<'a>,
    import: &'a str,
    options: &'a OpenApiOptions,
    hosts: Vec<ApiHost>,
    /// Each secret and the tools that use it, in the order of their first use.
    secrets: Vec<(Secret, Vec<String>)>,
}

/// Everything that goes to one host, with a login or without.
struct ApiHost {
    server: ApiServer,
    public: bool,
    /// Whether all entries share the path of the server.
    shares_path: bool,
    entries: Vec<ImplementsEntry>,
}

/// One entry of `implements`.
struct ImplementsEntry {
    path: String,
    endpoint: String,
    entry: Value,
    login: Map<String, Value>,
    variables: Vec<String>,
}

impl<'a> Drivers<'a> {
    pub(super) fn new(
        document: &'a Document<'a>,
        import: &'a str,
        options: &'a OpenApiOptions,
    ) -> Self {
        Drivers { document, import, options, hosts: Vec::new(), secrets: Vec::new() }
    }

    /// Adds the request of an operation.
    pub(super) fn add(&mut self, operation: &Operation<'_>, request: &OperationRequest) {
        let server = &operation.server;
        for login in &request.logins {
            let known = self.secrets.iter_mut().find(|(secret, _)| *secret == login.secret);
            match known {
                Some((_, tools)) => tools.push(operation.id.clone()),
                None => self.secrets.push((login.secret.clone(), vec![operation.id.clone()])),
            }
        }
        let entry = ImplementsEntry::of(operation, request);
        let public = request.public;
        let same =
            |host: &&mut ApiHost| host.server.origin == server.origin && host.public == public;
        match self.hosts.iter_mut().find(same) {
            Some(host) => {
                host.shares_path &= host.server.path == server.path;
                host.entries.push(entry);
            }
            None => self.hosts.push(ApiHost {
                server: server.clone(),
                public,
                shares_path: true,
                entries: vec![entry],
            }),
        }
    }

    /// The secrets that are used, each with its tools.
    pub(super) fn secrets(&self) -> Vec<(Secret, Vec<String>)> {
        self.secrets.clone()
    }

    /// The files of all drivers.
    pub(super) fn files(self, guesses: &mut Vec<Guess>) -> Vec<File> {
        let mut files = Vec::new();
        for host in &self.hosts {
            let id = self.id(host);
            let entries: Vec<(Value, &ImplementsEntry)> =
                host.entries.iter().map(|e| (e.whole(host), e)).collect();
            for (number, part) in parts(&entries).into_iter().enumerate() {
                let id = if number == 0 { id.clone() } else { format!("{id}-{}", number + 1) };
                files.push(self.file(&id, host, part, guesses));
            }
        }
        files
    }

    /// What a driver is called: like the import, or after its host where there are several.
    fn id(&self, host: &ApiHost) -> String {
        let of_host = |other: &&ApiHost| other.server.origin == host.server.origin;
        let is_first = self.hosts.first().is_some_and(|first| of_host(&first));
        let id = match is_first {
            true => self.import.to_owned(),
            false => format!("{}-{}", self.import, text::slug(&host.server.host)),
        };
        let has_other = self.hosts.iter().filter(of_host).any(|other| !other.public);
        if host.public && has_other { format!("{id}-public") } else { id }
    }

    fn file(
        &self,
        id: &str,
        host: &ApiHost,
        part: &[(Value, &ImplementsEntry)],
        guesses: &mut Vec<Guess>,
    ) -> File {
        let path = format!(".drivers/{id}/DRIVER.md");
        let server = &host.server;
        let base = if host.shares_path { server.path.as_str() } else { "" };
        let base = format!("{}{base}", server.origin);
        let change = "run it again with `--server URL`, or edit `base_url`";
        if let Some(why) = &server.guessed {
            let mut margin = Margin::new(&path);
            margin.guess("base_url", &base, why, change);
            guesses.extend(margin.guesses);
        }
        let mut fields = Map::new();
        let mut say = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        let title = text::line(self.document.title().unwrap_or(self.import), 80);
        say("name", json!(if title.is_empty() { self.import.to_owned() } else { title }));
        say("id", json!(id));
        say("description", json!(self.about(&server.host)));
        say("version", json!(VERSION));
        say("kind", json!("http"));
        say("base_url", json!(base));
        say("network", json!({ "egress": [server.host] }));
        let shared = shared_login(part);
        let variables = variables(part);
        if !variables.is_empty() {
            let mut auth = secret::auth(self.import, &variables);
            auth.as_object_mut().map(|auth| {
                auth.insert("expiry".to_owned(), json!({ "detect": "http_status:401" }))
            });
            say("auth", auth);
        }
        if let Some(headers) = shared {
            say("default_headers", Value::Object(headers.clone()));
        }
        let entries = part.iter().map(|(entry, own)| match shared {
            Some(_) => entry.clone(),
            None => with_headers(entry.clone(), &own.login),
        });
        say("implements", entries.collect());
        let source = text::line(&self.options.source, 200).replace('`', "'");
        let body = format!(
            "Imported from `{source}` by `haft add openapi`.\nWhat you change here is kept when it is imported again.\n"
        );
        File { path, text: manifest(&fields, &body) }
    }

    fn about(&self, host: &str) -> String {
        let about = text::prose(self.document.description().unwrap_or_default(), 500);
        if about.is_empty() { format!("The service at {host}.") } else { about }
    }
}

impl ApiHost {
    /// Where the path of an endpoint begins.
    fn endpoint(&self, entry: &ImplementsEntry) -> String {
        let path = if self.shares_path { "" } else { entry.path.as_str() };
        format!("{path}{}", entry.endpoint)
    }
}

impl ImplementsEntry {
    fn of(operation: &Operation<'_>, request: &OperationRequest) -> ImplementsEntry {
        let mut http = Map::new();
        http.insert("method".to_owned(), json!(operation.verb.name()));
        http.insert("endpoint".to_owned(), Value::Null);
        let mut query = request.query.clone();
        query.extend(request.logins.iter().filter_map(in_query));
        for (name, map) in [("query_template", query), ("headers", request.headers.clone())] {
            if !map.is_empty() {
                http.insert(name.to_owned(), Value::Object(map));
            }
        }
        if let Some((header, _)) = &request.key {
            http.insert("idempotency_key_header".to_owned(), json!(header));
        }
        let mut haft = request.haft.clone();
        if !request.refusals.is_empty() {
            let prefix = prefix(&operation.id);
            let statuses = request.refusals.iter().map(|refusal| {
                (refusal.status.to_string(), json!(format!("{prefix}:{}", refusal.name)))
            });
            haft.insert("status_map".to_owned(), Value::Object(statuses.collect()));
        }
        let mut metadata = json!({ "http": http });
        if let (false, Some(fields)) = (haft.is_empty(), metadata.as_object_mut()) {
            fields.insert("haft".to_owned(), Value::Object(haft));
        }
        let entry = json!({
            "tool": operation.id,
            "version": format!("^{VERSION}"),
            "metadata": metadata,
        });
        ImplementsEntry {
            path: operation.server.path.clone(),
            endpoint: request.endpoint.clone(),
            entry,
            login: in_headers(&request.logins),
            variables: request.logins.iter().map(|login| login.secret.variable.clone()).collect(),
        }
    }

    fn whole(&self, host: &ApiHost) -> Value {
        let mut entry = self.entry.clone();
        if let Some(endpoint) = entry.pointer_mut("/metadata/http/endpoint") {
            *endpoint = json!(host.endpoint(self));
        }
        entry
    }
}

/// The variables that carry the secrets of all entries.
fn variables(part: &[(Value, &ImplementsEntry)]) -> Vec<String> {
    let mut variables: Vec<String> = Vec::new();
    for variable in part.iter().flat_map(|(_, entry)| &entry.variables) {
        if !variables.contains(variable) {
            variables.push(variable.clone());
        }
    }
    variables
}

fn in_query(login: &SecurityScheme) -> Option<(String, Value)> {
    match &login.carrier {
        Carrier::Query(name) => {
            Some((name.clone(), json!(format!("${{secrets.{}}}", login.secret.variable))))
        }
        Carrier::Header(..) | Carrier::Cookie(_) => None,
    }
}

/// The headers that carry secrets; cookies share one.
fn in_headers(logins: &[SecurityScheme]) -> Map<String, Value> {
    let mut headers = Map::new();
    let mut cookies: Vec<String> = Vec::new();
    for login in logins {
        let secret = format!("${{secrets.{}}}", login.secret.variable);
        match &login.carrier {
            Carrier::Header(name, before) => {
                headers.insert(name.clone(), json!(format!("{before}{secret}")));
            }
            Carrier::Cookie(name) => cookies.push(format!("{name}={secret}")),
            Carrier::Query(_) => {}
        }
    }
    if !cookies.is_empty() {
        headers.insert("Cookie".to_owned(), json!(cookies.join("; ")));
    }
    headers
}

/// The headers that carry secrets, where every entry has the same.
fn shared_login<'e>(part: &[(Value, &'e ImplementsEntry)]) -> Option<&'e Map<String, Value>> {
    let (_, first) = part.first()?;
    let same = part.iter().all(|(_, entry)| entry.login == first.login);
    (same && !first.login.is_empty()).then_some(&first.login)
}

fn with_headers(mut entry: Value, login: &Map<String, Value>) -> Value {
    if let (false, Some(Value::Object(http))) =
        (login.is_empty(), entry.pointer_mut("/metadata/http"))
    {
        let headers = http.entry("headers").or_insert_with(|| json!({}));
        if let Value::Object(headers) = headers {
            headers.extend(login.clone());
        }
    }
    entry
}

/// The entries in as many parts as it takes for each to be read.
fn parts<'v, 'e>(
    entries: &'v [(Value, &'e ImplementsEntry)],
) -> Vec<&'v [(Value, &'e ImplementsEntry)]> {
    let mut parts = Vec::new();
    let (mut start, mut bytes, mut values) = (0, 0, 0);
    for (at, (entry, own)) in entries.iter().enumerate() {
        let text = entry.to_string().len() + own.login.len() * 80;
        // Indentation and keys make YAML about twice as long as this.
        let (more, count) = (text * 2, text / 12 + 10);
        if at > start && (bytes + more > LARGEST.0 || values + count > LARGEST.1) {
            parts.push(entries.get(start..at).unwrap_or_default());
            (start, bytes, values) = (at, 0, 0);
        }
        bytes += more;
        values += count;
    }
    parts.push(entries.get(start..).unwrap_or_default());
    parts
}
