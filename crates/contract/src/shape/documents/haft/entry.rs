//! `metadata.haft` of an `implements` entry: the shape of the fields of a driver kind beyond its
//! AIP, and their typed values.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::STATUS;
use crate::shape::Strangers::Refused;
use crate::shape::Takes::{Either, Flag, Formed, Integer, Map, Names, Object, Set, Word};
use crate::shape::form::{ENVIRONMENT_NAME, FILLED, JSON_PATH, TEMPLATE};
use crate::shape::{Shape, optional, required};

/// `metadata.haft` of a driver's `implements` entry.
pub static ENTRY: Shape = Shape {
    title: "`metadata.haft` of an `implements` entry",
    strangers: Refused("E031"),
    fields: &[
        optional(
            "enforces_key",
            "E040",
            Flag,
            "Whether the backend itself refuses a second use of a key.",
        ),
        optional("status", "E041", Map(&STATUS), "How this driver learns what became of a call."),
        optional(
            "submitted",
            "E042",
            Word(&["on_connect", "on_write"]),
            "When a call counts as submitted.",
        ),
        optional(
            "body",
            "E043",
            Word(&["json", "form", "multipart", "text"]),
            "How an HTTP body is written.",
        ),
        optional("pagination", "E044", Map(&PAGINATION), "How a backend gives the next page."),
        optional("status_map", "E045", Names(None, &Formed(&FILLED)), "HTTP status to error code."),
        optional(
            "not_committed",
            "E061",
            Set(&Either(&[Integer(1, 255), Formed(&FILLED)])),
            "Exit codes, or exceptions, that vouch for nothing having happened.",
        ),
        optional(
            "secret_files",
            "E062",
            Names(Some(&ENVIRONMENT_NAME), &Formed(&FILLED)),
            "Secrets that the program reads from a file: the variable with its path, and the secret.",
        ),
        optional(
            "dash_values",
            "E063",
            Flag,
            "Whether a value may begin with a dash where it could be taken for an option.",
        ),
        optional("client_options", "E064", Object, "Options for the client of an SDK function."),
        optional("basic", "E047", Map(&BASIC), "The secrets of a login by name and password."),
        optional(
            "query_style",
            "E048",
            Names(None, &Map(&STYLE)),
            "How lists and objects are written into a query or a form.",
        ),
        optional(
            "events",
            "E049",
            Word(&["all", "last"]),
            "Which events of a stream the result is made of.",
        )
        .or("all"),
        optional(
            "body_inputs",
            "E065",
            Either(&[Formed(&FILLED), Set(&Formed(&FILLED))]),
            "The input that is the body, or the inputs that its fields are; an empty list is no body.",
        ),
        optional("cookies", "E066", Names(None, &Formed(&TEMPLATE)), "Cookies of the request."),
        optional(
            "wrap",
            "E067",
            Formed(&FILLED),
            "The name under which the answer stands in the output, where it is no object.",
        ),
    ],
    moved: &[],
};

static PAGINATION: Shape = Shape {
    title: "`pagination`",
    strangers: Refused(""),
    fields: &[
        optional(
            "style",
            "",
            Word(&["cursor", "page", "offset", "link"]),
            "What asks for the next page: what the last one says, a number of pages or of items, or an address.",
        )
        .or("cursor"),
        required("items", "", Formed(&JSON_PATH), "Where the items of a page are."),
        optional("next", "", Formed(&JSON_PATH), "Where a page names the next."),
        optional("param", "", Formed(&FILLED), "The query parameter that asks for it."),
        optional("start", "", Integer(0, i64::MAX), "The number of the first page or item."),
        optional("limit_param", "", Formed(&FILLED), "The query parameter that says how many."),
        optional("limit", "", Integer(1, i64::MAX), "How many items a full page has."),
        optional("most_pages", "", Integer(1, 1000), "How many pages at most.").or("20"),
    ],
    moved: &[],
};

static BASIC: Shape = Shape {
    title: "`basic`",
    strangers: Refused(""),
    fields: &[
        required("user", "", Formed(&FILLED), "The secret that is the name."),
        required("password", "", Formed(&FILLED), "The secret that is the password."),
    ],
    moved: &[],
};

static STYLE: Shape = Shape {
    title: "a style",
    strangers: Refused(""),
    fields: &[
        optional(
            "style",
            "",
            Word(&["form", "spaceDelimited", "pipeDelimited", "deepObject"]),
            "As OpenAPI calls it.",
        )
        .or("form"),
        optional("explode", "", Flag, "Whether each item stands for itself."),
    ],
    moved: &[],
};

/// `metadata.haft` of an entry: the fields of each kind of driver beyond its AIP.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct EntryExtras {
    /// Whether the backend enforces the idempotency key.
    pub enforces_key: bool,
    /// http: when a request counts as submitted; `on_write` by default.
    pub submitted: Option<String>,
    /// http: the encoding of the body.
    pub body: BodyEncoding,
    /// http: the pagination of a list.
    pub pagination: Option<Pagination>,
    /// http: the meaning of each status.
    pub status_map: BTreeMap<String, String>,
    /// Exit codes (cli) or exceptions (sdk) that mean no effect.
    pub not_committed: Vec<Value>,
    /// cli: environment variables that hold the path of a secret file, and the secret in it.
    pub secret_files: BTreeMap<String, String>,
    /// cli: whether a value may begin with a dash.
    pub dash_values: bool,
    /// sdk: options for the client of this function.
    pub client_options: Option<Value>,
    /// http: basic authentication.
    pub basic: Option<BasicLogin>,
    /// http: the serialization of lists and objects, by parameter.
    pub query_style: BTreeMap<String, ParameterStyle>,
    /// http: which events of a stream make up the result.
    pub events: EventSelection,
    /// http: the inputs of the body; the template or the whole input where absent.
    pub body_inputs: Option<BodyInputs>,
    /// http: cookies of the request, as templates.
    pub cookies: BTreeMap<String, String>,
    /// The field under which the output, which must be an object, holds the answer.
    pub wrap: Option<String>,
}

/// The encoding of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BodyEncoding {
    /// JSON.
    #[default]
    Json,
    /// URL-encoded form fields.
    Form,
    /// Multipart form data.
    Multipart,
    /// Plain text.
    Text,
}

/// The pagination of a list, as it is written.
#[derive(Clone, Debug, Deserialize)]
pub struct Pagination {
    /// `cursor`, `page`, `offset` or `link`; `cursor` by default.
    pub style: Option<String>,
    /// The path of the items in a page.
    pub items: String,
    /// The path of the next page's cursor or URL.
    pub next: Option<String>,
    /// The query parameter that requests a page.
    pub param: Option<String>,
    /// The number of the first page or item.
    pub start: Option<u64>,
    /// The query parameter of the page size.
    pub limit_param: Option<String>,
    /// The page size.
    pub limit: Option<u64>,
    /// The most pages of one call.
    pub most_pages: Option<usize>,
}

/// HTTP basic authentication: the names of the secrets for user and password.
#[derive(Clone, Debug, Deserialize)]
pub struct BasicLogin {
    /// The secret that is the user name.
    pub user: String,
    /// The secret that is the password.
    pub password: String,
}

/// The serialization style of one parameter, as OpenAPI calls it.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ParameterStyle {
    /// The style.
    pub style: ParameterKind,
    /// Whether each item stands for itself; the style decides where absent.
    pub explode: Option<bool>,
}

/// The serialization styles of OpenAPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ParameterKind {
    /// `name=a,b` or `name=a&name=b`.
    #[default]
    Form,
    /// `name=a%20b`.
    SpaceDelimited,
    /// `name=a|b`.
    PipeDelimited,
    /// `name[key]=value`.
    DeepObject,
}

/// Which events of a stream make up the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventSelection {
    /// All of them, as a list.
    #[default]
    All,
    /// The last one.
    Last,
}

/// Which inputs make up a body.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum BodyInputs {
    /// One input is the whole body.
    Whole(String),
    /// Inputs are the fields of the body; an empty list means no body.
    Fields(Vec<String>),
}
