//! Shape of `metadata.haft` in an `implements` entry: settings of a driver kind beyond its AIP.

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
