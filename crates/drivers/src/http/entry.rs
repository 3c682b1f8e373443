//! HTTP entry: compiles an `implements` entry of a manifest to an operation.

use std::collections::BTreeMap;

use haft_contract::driver::manifest::{
    DriverManifest, EntryExtras, EntryMetadata, HttpEntry, HttpFields,
};
use haft_model::{Code, Stop};
use haft_notation::{Path, Piece, Template};
use reqwest::Method;
use reqwest::header::HeaderName;

use super::meaning::Meaning;
use super::operation::Operation;
use super::pages::Pages;
use super::secrets;
use super::stream::Stream;
use super::style::Style;
use crate::declared::{Wrap, unreadable};
use crate::login::Sign;
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
pub(super) struct HttpRequestEntry<'a> {
    driver: &'a str,
    http: &'a HttpEntry,
    haft: &'a EntryExtras,
}

impl<'a> HttpRequestEntry<'a> {
    pub(super) fn read(
        driver: &'a str,
        entry: &'a EntryMetadata,
    ) -> Result<HttpRequestEntry<'a>, Stop> {
        let http = entry.http.as_ref().ok_or_else(|| unreadable(driver, "metadata.http"))?;
        Ok(HttpRequestEntry { driver, http, haft: &entry.haft })
    }

    pub(super) fn operation(
        self,
        manifest: &DriverManifest,
        fields: &HttpFields,
    ) -> Result<Operation, Stop> {
        let method = self.http.method.as_deref().or(fields.default_method.as_deref());
        let method = method.unwrap_or("POST");
        let headers = fields.default_headers.iter().chain(&self.http.headers);
        let extract = self.http.response_extract.as_deref().unwrap_or("$");
        let query = self.query()?;
        let mut operation = Operation {
            method: Method::from_bytes(method.as_bytes()).map_err(|_| self.wrong("method"))?,
            endpoint: self.endpoint()?,
            pages: self.pages(&query)?,
            query,
            styles: self.styles(),
            headers: headers
                .map(|(name, text)| Ok((self.header(name)?, self.template(text, "headers")?)))
                .collect::<Result<_, Stop>>()?,
            form: self.haft.body,
            body: self.http.body_template.clone(),
            extract: Path::parse(extract).map_err(|_| self.wrong("response_extract"))?,
            takes_all: extract == "$",
            stream: self.stream(fields)?,
            key_header: match &self.http.idempotency_key_header {
                Some(name) => Some(self.header(name)?),
                None => None,
            },
            submitted: match self.haft.submitted.as_deref() {
                Some("on_connect") => SubmissionPoint::OnConnect,
                _ => SubmissionPoint::OnWrite,
            },
            meanings: self.meanings()?,
            expired: manifest.auth.as_ref().and_then(Sign::declared),
            basic: self.haft.basic.clone(),
            cookies: self.cookies()?,
            body_inputs: self.haft.body_inputs.clone(),
            wrap: Wrap(self.haft.wrap.clone()),
            secrets: Default::default(),
        };
        operation.secrets = secrets::wanted(&operation, self.driver, manifest.auth.is_some())?;
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

    fn styles(&self) -> BTreeMap<String, Style> {
        let styles = self.haft.query_style.iter();
        styles.map(|(name, style)| (name.clone(), Style(*style))).collect()
    }

    fn cookies(&self) -> Result<Vec<(String, Template)>, Stop> {
        let cookies = self.haft.cookies.iter();
        cookies.map(|(name, text)| Ok((name.clone(), self.template(text, "cookies")?))).collect()
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
    fn stream(&self, fields: &HttpFields) -> Result<Option<Stream>, Stop> {
        let own = self.http.streaming.as_ref();
        match (own, &self.haft.pagination) {
            (Some(_), Some(_)) => {
                Err(self.wrong("streaming").help("what comes in pages is not streamed"))
            }
            (None, Some(_)) => Ok(None),
            (_, None) => Stream::of(own, fields.streaming.as_ref(), self.haft.events)
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
