//! OpenAPI servers: the base URL that the document names, or the best guess.

use haft_contract::host::{host_of, is_loopback, is_private};
use serde_json::Value;

use super::OpenApiOptions;
use super::document::Document;

/// A reserved address that never resolves, for documents that name no server.
const NOWHERE: &str = "https://server.invalid";

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ApiServer {
    /// `https://host:port`.
    pub(super) origin: String,
    /// What paths begin with; empty or `/…`.
    pub(super) path: String,
    /// The host with its port.
    pub(super) host: String,
    /// Why it is not just what the document says, if it is not.
    pub(super) guessed: Option<String>,
}

/// The server of an operation.
pub(super) fn of(
    document: &Document<'_>,
    item: &Value,
    raw: &Value,
    options: &OpenApiOptions,
) -> ApiServer {
    if let Some(url) = &options.server {
        return read(url, None, &options.source);
    }
    let lists = [raw.get("servers"), item.get("servers"), document.get("servers")];
    let first = lists.into_iter().flatten().find_map(|list| list.as_array()?.first());
    match first.and_then(|server| Some((server.get("url")?.as_str()?, server))) {
        Some((url, server)) => read(url, Some(server), &options.source),
        None => read("", None, &options.source),
    }
}

fn read(url: &str, server: Option<&Value>, source: &str) -> ApiServer {
    let (filled, mut guessed) = fill(url, server);
    let whole = absolute(&filled, source).unwrap_or_else(|| {
        guessed.push("the document names no server".to_owned());
        format!("{NOWHERE}{}", path_of(&filled))
    });
    let host = host_of(&whole).unwrap_or("server.invalid").to_ascii_lowercase();
    let mut scheme = whole.split("://").next().unwrap_or("https").to_ascii_lowercase();
    if scheme != "https" && !(scheme == "http" && (is_loopback(&host) || is_private(&host))) {
        guessed.push(format!("the document says `{scheme}`, and nothing is sent unencrypted"));
        scheme = "https".to_owned();
    }
    let guessed = (!guessed.is_empty()).then(|| guessed.join("; "));
    ApiServer { origin: format!("{scheme}://{host}"), path: path_of(&whole), host, guessed }
}

/// The address with its variables filled in, by their defaults.
fn fill(url: &str, server: Option<&Value>) -> (String, Vec<String>) {
    let mut filled = String::new();
    let mut names = Vec::new();
    let mut rest = url.trim();
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        let variable = server.and_then(|server| server.get("variables")?.get(name));
        let value = variable.and_then(|variable| {
            variable.get("default").or_else(|| variable.get("enum")?.as_array()?.first())
        });
        let value = match value {
            Some(Value::String(value)) => value.clone(),
            Some(Value::Number(value)) => value.to_string(),
            _ => name.to_owned(),
        };
        filled.push_str(before);
        filled.push_str(&value);
        names.push(format!("`{name}` is `{value}`"));
        rest = after;
    }
    filled.push_str(rest);
    let filled_in =
        (!names.is_empty()).then(|| format!("in the server's address {}", names.join(", ")));
    (filled, filled_in.into_iter().collect())
}

/// The address as it would be asked for, if it leads anywhere; what is relative begins at the source.
fn absolute(url: &str, source: &str) -> Option<String> {
    if let Some(rest) = url.strip_prefix("//") {
        return absolute(&format!("https://{rest}"), source);
    }
    if url.contains("://") {
        let host = host_of(url)?;
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
        let plain = host.chars().all(fits) && !host.starts_with(['.', ':']);
        return (plain && !haft_model::host::name_of(host).is_empty()).then(|| url.to_owned());
    }
    let host = host_of(source).filter(|_| source.starts_with("http"))?;
    let scheme = source.split("://").next()?;
    Some(format!("{scheme}://{host}{}", path_of(url)))
}

/// The path of an address, without a slash at its end and without a query.
fn path_of(url: &str) -> String {
    let path = match url.split_once("://") {
        Some((_, rest)) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default(),
        None => url,
    };
    let plain = path.split(['?', '#']).next().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || "/-._~%:@!'()*+,;=".contains(c);
    let plain: String = plain.chars().filter(|c| fits(*c)).collect();
    let plain = plain.trim_matches('/');
    let climbs = plain.split('/').any(|part| part == "." || part == "..");
    if plain.is_empty() || climbs { String::new() } else { format!("/{plain}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(url: &str, source: &str, expected: &str) {
        let server =
            json!({ "variables": { "port": { "default": "8443" }, "base": { "enum": ["v2"] } } });
        let found = read(url, Some(&server), source);
        let guessed = found.guessed.unwrap_or_default();
        assert_eq!(format!("{} {} {guessed}", found.origin, found.path).trim(), expected, "{url}");
    }

    #[test]
    fn openapi_server_is_chosen_and_guesses_are_reported() {
        check("https://API.example/v1/", "x.yaml", "https://api.example /v1");
        check("http://127.0.0.1:9/x?y#z", "x.yaml", "http://127.0.0.1:9 /x");
        check("http://pets.local", "x.yaml", "http://pets.local");
        check(
            "http://api.example/v1",
            "x.yaml",
            "https://api.example /v1 the document says `http`, and nothing is sent unencrypted",
        );
        check(
            "https://{who}.example:{port}/{base}",
            "x.yaml",
            "https://who.example:8443 /v2 in the server's address `who` is `who`, `port` is `8443`, `base` is `v2`",
        );
        check("/v3", "https://docs.example/openapi.json", "https://docs.example /v3");
        check("/v3", "x.yaml", "https://server.invalid /v3 the document names no server");
        check("", "x.yaml", "https://server.invalid  the document names no server");
        check("https://user:word@api.example/../x", "x.yaml", "https://api.example");
        check("https://a b/", "x.yaml", "https://server.invalid  the document names no server");
    }
}
