//! HTTP entry: parses an `implements` entry of a manifest and compiles it to an operation.

use std::collections::BTreeMap;

use haft_model::{Code, Stop};
use haft_notation::{Path, Piece, Template};
use reqwest::Method;
use reqwest::header::HeaderName;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::beyond::Beyond;
use super::manifest::HttpManifestText;
use super::meaning::Meaning;
use super::operation::Operation;
use super::pages::Pages;
use super::payload::Writing;
use super::secrets::{self, Basic};
use super::stream::{Events, Stream, WrittenStream};
use super::style::Style;
use crate::login::AuthBlock;
use crate::web::SubmissionPoint;

/// Headers that frame or route a request; the HTTP client sets them.
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

/// The parts of an `implements` entry that describe a request.
pub(super) struct HttpEntry {
    driver: String,
    http: Http,
    haft: HttpExtras,
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
    streaming: Option<WrittenStream>,
    idempotency_key_header: Option<String>,
}

#[derive(Default, Deserialize)]
struct HttpExtras {
    submitted: Option<String>,
    #[serde(default)]
    body: Writing,
    pagination: Option<Value>,
    basic: Option<Basic>,
    #[serde(default)]
    query_style: BTreeMap<String, Style>,
    #[serde(default)]
    events: Events,
    #[serde(default)]
    status_map: BTreeMap<String, String>,
    #[serde(flatten)]
    beyond: Beyond,
}

impl HttpEntry {
    pub(super) fn read(mut entry: Value, driver: &str) -> Result<HttpEntry, Stop> {
        let mut part = |name: &str| {
            let found = entry.pointer_mut(&format!("/metadata/{name}"));
            found.map(Value::take).unwrap_or_else(|| Value::Object(Map::new()))
        };
        let (http, haft) = (part("http"), part("haft"));
        let unreadable = |name: &str, fault: serde_json::Error| {
            let words = format!("driver `{driver}`: `metadata.{name}` cannot be read: {fault}");
            Stop::new(Code::SetupRequired, words).help("run `haft check`")
        };
        Ok(HttpEntry {
            driver: driver.to_owned(),
            http: serde_json::from_value(http).map_err(|fault| unreadable("http", fault))?,
            haft: serde_json::from_value(haft).map_err(|fault| unreadable("haft", fault))?,
        })
    }

    pub(super) fn operation(self, written: &HttpManifestText) -> Result<Operation, Stop> {
        let method = self.http.method.as_deref().or(written.default_method.as_deref());
        let method = method.unwrap_or("POST");
        let headers = written.default_headers.iter().chain(&self.http.headers);
        let extract = self.http.response_extract.as_deref().unwrap_or("$");
        let query = self.query()?;
        let mut operation = Operation {
            method: Method::from_bytes(method.as_bytes()).map_err(|_| self.wrong("method"))?,
            endpoint: self.endpoint()?,
            pages: self.pages(&query)?,
            query,
            styles: self.haft.query_style.clone(),
            headers: headers
                .map(|(name, text)| Ok((self.header(name)?, self.template(text, "headers")?)))
                .collect::<Result<_, Stop>>()?,
            form: self.haft.body,
            body: self.http.body_template.clone(),
            extract: Path::parse(extract).map_err(|_| self.wrong("response_extract"))?,
            takes_all: extract == "$",
            stream: self.stream(written)?,
            key_header: match &self.http.idempotency_key_header {
                Some(name) => Some(self.header(name)?),
                None => None,
            },
            submitted: match self.haft.submitted.as_deref() {
                Some("on_connect") => SubmissionPoint::OnConnect,
                _ => SubmissionPoint::OnWrite,
            },
            meanings: self.meanings()?,
            expired: AuthBlock::sign_of(written.auth.as_ref()),
            basic: self.haft.basic.clone(),
            cookies: self.haft.beyond.cookies().ok_or_else(|| self.wrong("cookies"))?,
            beyond: self.haft.beyond.clone(),
            secrets: Default::default(),
        };
        operation.secrets = secrets::wanted(&operation, &self.driver, written.auth.is_some())?;
        Ok(operation)
    }

    /// Parses the path below the base URL. An input may fill path segments but not the query.
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

    /// The streaming of the response: the entry's setting, else the driver's.
    fn stream(&self, written: &HttpManifestText) -> Result<Option<Stream>, Stop> {
        let own = self.http.streaming.as_ref();
        match (own, &self.haft.pagination) {
            (Some(_), Some(_)) => {
                Err(self.wrong("streaming").help("what comes in pages is not streamed"))
            }
            (None, Some(_)) => Ok(None),
            (_, None) => Stream::of(own, written.streaming.as_ref(), self.haft.events)
                .map_err(|why| self.wrong("streaming").help(why)),
        }
    }

    fn pages(&self, query: &[(String, Template)]) -> Result<Option<Pages>, Stop> {
        let Some(written) = &self.haft.pagination else { return Ok(None) };
        let pages = Pages::read(written, query).map_err(|why| {
            let words = format!("driver `{}`: `pagination` cannot be used: {why}", self.driver);
            Stop::new(Code::SetupRequired, words).help("run `haft check`")
        })?;
        Ok(Some(pages))
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
