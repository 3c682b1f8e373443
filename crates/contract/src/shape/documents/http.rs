//! `kind: http` (AIP-31): the shapes that it adds to a driver and to an entry, and their typed values.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::shape::Strangers::{Kept, Refused};
use crate::shape::Takes::{Formed, Integer, Map, Names, Object, Word};
use crate::shape::form::{FILLED, JSON_PATH, TEMPLATE, TextFormat, WEB_URL};
use crate::shape::{Shape, optional, required};
use haft_notation::Pattern;

/// A web address. A placeholder in it has a rule of its own, which says why not.
static BASE_URL: TextFormat = TextFormat {
    pattern: Some(Pattern::new(r"^https?://[^\s/?#]+[^\s]*$")),
    what: WEB_URL.what,
    length: WEB_URL.length,
    also: WEB_URL.also,
    help: WEB_URL.help,
};

const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE"];

/// The fields that an HTTP driver adds.
pub static HTTP: Shape = Shape {
    title: "DRIVER.md of kind http",
    strangers: Kept,
    fields: &[
        required(
            "base_url",
            "H001",
            Formed(&BASE_URL),
            "The one host it talks to, as a fixed address.",
        ),
        optional(
            "default_headers",
            "H002",
            Names(None, &Formed(&TEMPLATE)),
            "Headers of every request.",
        ),
        optional("default_method", "H003", Word(METHODS), "The method where an entry names none.")
            .or("\"POST\""),
        optional("streaming", "H004", Map(&STREAMING), "How answers are streamed."),
        optional("rate_limit", "H005", Map(&RATE), "How fast the backend likes to be asked."),
    ],
    moved: &[],
};

static STREAMING: Shape = Shape {
    title: "`streaming`",
    strangers: Refused(""),
    fields: &[
        required("transport", "", Word(TRANSPORTS), "How a stream is framed."),
        optional("event_field", "", Formed(&FILLED), "Which events count."),
        optional("terminator", "", Formed(&FILLED), "What ends the stream."),
    ],
    moved: &[],
};

const TRANSPORTS: &[&str] = &["sse", "ndjson", "chunked"];

static RATE: Shape = Shape {
    title: "`rate_limit`",
    strangers: Refused(""),
    fields: &[
        optional("requests_per_minute", "", Integer(1, i64::MAX), "Requests a minute."),
        optional("burst", "", Integer(1, i64::MAX), "Requests at once."),
    ],
    moved: &[],
};

/// `metadata.http` of an `implements` entry.
pub static ENTRY: Shape = Shape {
    title: "`metadata.http`",
    strangers: Refused("H020"),
    fields: &[
        required("endpoint", "H010", Formed(&TEMPLATE), "The path below `base_url`."),
        optional("method", "H011", Word(METHODS), "The method."),
        optional("headers", "H012", Names(None, &Formed(&TEMPLATE)), "Headers of this request."),
        optional("body_template", "H013", Object, "The JSON body."),
        optional("query_template", "H014", Names(None, &Formed(&TEMPLATE)), "The query."),
        optional(
            "response_extract",
            "H015",
            Formed(&JSON_PATH),
            "Which part of the answer is the output.",
        )
        .or("\"$\""),
        optional("streaming", "H016", Map(&ENTRY_STREAMING), "How this answer is streamed."),
        optional(
            "idempotency_key_header",
            "H017",
            Formed(&FILLED),
            "The header that carries the key.",
        ),
    ],
    moved: &[],
};

static ENTRY_STREAMING: Shape = Shape {
    title: "`streaming`",
    strangers: Refused(""),
    fields: &[
        optional("transport", "", Word(TRANSPORTS), "How a stream is framed."),
        optional("event_field", "", Formed(&FILLED), "Which events count."),
        optional("terminator", "", Formed(&FILLED), "What ends the stream."),
    ],
    moved: &[],
};

/// The fields that a driver of kind http adds.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct HttpFields {
    /// The base URL of every request.
    pub base_url: String,
    /// Headers of every request, as templates.
    #[serde(default)]
    pub default_headers: BTreeMap<String, String>,
    /// The method where an entry names none; POST by default.
    pub default_method: Option<String>,
    /// The streaming of every response.
    pub streaming: Option<HttpStreaming>,
    /// The rate limit of the backend.
    #[serde(default)]
    pub rate_limit: BackendRate,
}

/// How a response is streamed.
#[derive(Clone, Debug, Deserialize)]
pub struct HttpStreaming {
    /// The framing; an entry may leave it to the driver.
    pub transport: Option<Framing>,
    /// The events that count.
    pub event_field: Option<String>,
    /// The text that ends the stream.
    pub terminator: Option<String>,
}

/// The framing of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// A JSON value in each line.
    Ndjson,
    /// Chunks of text.
    Chunked,
}

/// The rate limit of a backend; no limit where `requests_per_minute` is absent.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct BackendRate {
    /// Requests per minute.
    pub requests_per_minute: Option<u32>,
    /// Requests at once; 1 by default.
    pub burst: Option<u32>,
}

/// `metadata.http` of an entry: a request.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct HttpEntry {
    /// The template of the path below the base URL.
    pub endpoint: String,
    /// The method; the driver's where absent.
    pub method: Option<String>,
    /// Headers of this request, as templates.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The template of the body.
    pub body_template: Option<Value>,
    /// The query, in the order in which it is written.
    #[serde(default)]
    pub query_template: serde_json::Map<String, Value>,
    /// The part of the response that is the output; `$` by default.
    pub response_extract: Option<String>,
    /// The streaming of this response.
    pub streaming: Option<HttpStreaming>,
    /// The header that carries the idempotency key.
    pub idempotency_key_header: Option<String>,
}
