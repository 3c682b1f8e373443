//! One entry of a manifest: the request for one contract, and what its answers mean.

use std::collections::BTreeMap;

use haft_model::{Code, Stop};
use haft_notation::{Path, Piece, Template};
use reqwest::Method;
use reqwest::header::HeaderName;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::manifest::{Written, no_secrets, unsupported};
use super::parts::Parts;
use crate::web::Submitted;

/// Headers that say how a request is framed or where it goes. They follow from the rest of it.
const FIXED_HEADERS: [&str; 9] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "upgrade",
    "te",
    "expect",
    "accept-encoding",
];

/// What a request is made of.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) method: Method,
    pub(super) endpoint: Template,
    pub(super) query: Vec<(String, Template)>,
    pub(super) headers: Vec<(HeaderName, Template)>,
    pub(super) body: Option<Value>,
    pub(super) extract: Path,
    /// Whether the whole answer is the output.
    pub(super) takes_all: bool,
    pub(super) key_header: Option<HeaderName>,
    pub(super) submitted: Submitted,
    pub(super) meanings: BTreeMap<u16, Meaning>,
    pub(super) cookies: Vec<(String, Template)>,
    pub(super) parts: Parts,
}

/// What a status means, beyond what HTTP says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) error: Option<Named>,
    /// Whether it vouches for there being no effect.
    pub(super) not_committed: bool,
}

/// An error by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Ours(Code),
    /// One of the contract's own.
    Own(String),
}

/// An `implements` entry as far as it is about requests.
pub(super) struct Entry {
    driver: String,
    http: Http,
    haft: Haft,
}

#[derive(Deserialize)]
struct Http {
    endpoint: String,
    method: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body_template: Option<Value>,
    #[serde(default)]
    query_template: Map<String, Value>,
    response_extract: Option<String>,
    streaming: Option<Value>,
    idempotency_key_header: Option<String>,
}

#[derive(Default, Deserialize)]
struct Haft {
    submitted: Option<String>,
    body: Option<String>,
    pagination: Option<Value>,
    #[serde(default)]
    status_map: BTreeMap<String, String>,
    #[serde(flatten)]
    parts: Parts,
}

impl Entry {
    pub(super) fn read(mut entry: Value, driver: &str) -> Result<Entry, Stop> {
        let mut part = |name: &str| {
            let found = entry.pointer_mut(&format!("/metadata/{name}"));
            found.map(Value::take).unwrap_or_else(|| Value::Object(Map::new()))
        };
        let (http, haft) = (part("http"), part("haft"));
        let unreadable = |name: &str, fault: serde_json::Error| {
            let words = format!("driver `{driver}`: `metadata.{name}` cannot be read: {fault}");
            Stop::new(Code::SetupRequired, words).help("run `haft check`")
        };
        Ok(Entry {
            driver: driver.to_owned(),
            http: serde_json::from_value(http).map_err(|fault| unreadable("http", fault))?,
            haft: serde_json::from_value(haft).map_err(|fault| unreadable("haft", fault))?,
        })
    }

    pub(super) fn operation(self, written: &Written) -> Result<Operation, Stop> {
        self.supported()?;
        let driver = self.driver.clone();
        let method = self.http.method.as_deref().or(written.default_method.as_deref());
        let method = method.unwrap_or("POST");
        let headers = written.default_headers.iter().chain(&self.http.headers);
        let extract = self.http.response_extract.as_deref().unwrap_or("$");
        let operation = Operation {
            method: Method::from_bytes(method.as_bytes()).map_err(|_| self.wrong("method"))?,
            endpoint: self.endpoint()?,
            query: self.query()?,
            headers: headers
                .map(|(name, text)| Ok((self.header(name)?, self.template(text, "headers")?)))
                .collect::<Result<_, Stop>>()?,
            body: self.http.body_template.clone(),
            extract: Path::parse(extract).map_err(|_| self.wrong("response_extract"))?,
            takes_all: extract == "$",
            key_header: match &self.http.idempotency_key_header {
                Some(name) => Some(self.header(name)?),
                None => None,
            },
            submitted: match self.haft.submitted.as_deref() {
                Some("on_connect") => Submitted::OnConnect,
                _ => Submitted::OnWrite,
            },
            meanings: self.meanings()?,
            cookies: self.haft.parts.cookies().ok_or_else(|| self.wrong("cookies"))?,
            parts: self.haft.parts,
        };
        match needs_secrets(&operation) {
            true => Err(no_secrets(&driver)),
            false => Ok(operation),
        }
    }

    fn supported(&self) -> Result<(), Stop> {
        let body = self.haft.body.as_deref().filter(|body| *body != "json");
        let what = match body {
            Some(body) => format!("a body of the form `{body}`"),
            None if self.http.streaming.is_some() => "`metadata.http.streaming`".to_owned(),
            None if self.haft.pagination.is_some() => "`metadata.haft.pagination`".to_owned(),
            None => match self.haft.parts.unsupported() {
                Some(what) => what.to_owned(),
                None => return Ok(()),
            },
        };
        Err(unsupported(&self.driver, &what))
    }

    /// The path below the base. What a caller gives may fill segments and never begin a query.
    fn endpoint(&self) -> Result<Template, Stop> {
        let text = &self.http.endpoint;
        let template = self.template(text, "endpoint")?;
        let mut asks = false;
        for piece in &template.pieces {
            match piece {
                Piece::Literal(literal) => asks = asks || literal.contains('?'),
                Piece::Expression(_) if asks => {
                    let stop = self.wrong("endpoint");
                    return Err(stop.help("write what follows the `?` as `query_template`"));
                }
                Piece::Expression(_) => {}
            }
        }
        if text.contains(['#', '\\']) {
            return Err(self.wrong("endpoint").help("a path has no `#` and no backslash"));
        }
        Ok(template)
    }

    fn query(&self) -> Result<Vec<(String, Template)>, Stop> {
        let pairs = self.http.query_template.iter();
        let read = pairs.map(|(name, text)| {
            let text = text.as_str().ok_or_else(|| self.wrong("query_template"))?;
            Ok((name.clone(), self.template(text, "query_template")?))
        });
        read.collect()
    }

    fn header(&self, name: &str) -> Result<HeaderName, Stop> {
        let fixed = FIXED_HEADERS.iter().any(|fixed| name.eq_ignore_ascii_case(fixed));
        let header = HeaderName::from_bytes(name.as_bytes()).ok().filter(|_| !fixed);
        header.ok_or_else(|| {
            let words = format!("driver `{}` cannot set a header `{name}`", self.driver);
            let help = if fixed { "it follows from the request" } else { "it is no header name" };
            Stop::new(Code::SetupRequired, words).help(help)
        })
    }

    fn template(&self, text: &str, field: &str) -> Result<Template, Stop> {
        Template::parse(text).map_err(|_| self.wrong(field))
    }

    fn meanings(&self) -> Result<BTreeMap<u16, Meaning>, Stop> {
        let read = self.haft.status_map.iter().map(|(status, text)| {
            let number = status.parse::<u16>().ok().filter(|number| (300..600).contains(number));
            let meaning = number.zip(Meaning::read(text));
            meaning.ok_or_else(|| {
                let words =
                    format!("driver `{}`: `status_map` cannot say `{status}: {text}`", self.driver);
                Stop::new(Code::SetupRequired, words)
                    .help("a status from 300 to 599, then an error code, `not_committed`, or both")
            })
        });
        read.collect()
    }

    fn wrong(&self, field: &str) -> Stop {
        let words = format!("driver `{}`: `metadata.http.{field}` cannot be used", self.driver);
        Stop::new(Code::SetupRequired, words).help("run `haft check`")
    }
}

impl Meaning {
    /// `CODE`, `not_committed`, or both.
    fn read(text: &str) -> Option<Meaning> {
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let not_committed = words.last() == Some(&"not_committed");
        if not_committed {
            words.pop();
        }
        let error = match words[..] {
            [] if not_committed => None,
            [name] => match Code::parse(name) {
                Some(code) => Some(Named::Ours(code)),
                // Errors of a contract's own have a prefix.
                None if name.contains(':') => Some(Named::Own(name.to_owned())),
                None => return None,
            },
            _ => return None,
        };
        Some(Meaning { error, not_committed })
    }
}

fn needs_secrets(operation: &Operation) -> bool {
    let headers = operation.headers.iter().map(|(_, template)| template);
    let cookies = operation.cookies.iter().map(|(_, template)| template);
    let query = operation.query.iter().map(|(_, template)| template).chain(cookies);
    let mut texts = Vec::new();
    collect(operation.body.as_ref().unwrap_or_default(), &mut texts);
    std::iter::once(&operation.endpoint)
        .chain(headers)
        .chain(query)
        .chain(&texts)
        .flat_map(Template::expressions)
        .any(|expression| expression.root() == "secrets")
}

/// Every template inside a value.
fn collect(value: &Value, found: &mut Vec<Template>) {
    match value {
        Value::String(text) => found.extend(Template::parse(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => fields.values().for_each(|item| collect(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
