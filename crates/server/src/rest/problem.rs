//! Problem details (RFC 9457): errors of a request itself.
//!
//! A valid call is answered by its envelope, whatever the result; these are for the rest.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_model::{Audience, Code, Stop};
use serde_json::{Value, json};

use crate::error_mapping::refusal_status;

/// Why a request has no result.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    stop: Stop,
    /// Whether one of our error codes applies: a wrong method is no tool error.
    coded: bool,
}

impl Problem {
    /// An HTTP-level error, without one of our codes.
    pub(crate) fn of_wire(status: StatusCode, detail: impl Into<String>) -> Problem {
        Problem { status, stop: Stop::new(Code::InputSchema, detail), coded: false }
    }

    /// Adds what to do.
    pub(crate) fn help(self, help: &str) -> Problem {
        Problem { stop: self.stop.help(help), ..self }
    }

    /// A malformed body or parameter.
    pub(crate) fn malformed(detail: impl Into<String>) -> Problem {
        Problem {
            status: StatusCode::BAD_REQUEST,
            stop: Stop::new(Code::InputSchema, detail),
            coded: true,
        }
    }

    /// A well-formed body that conflicts with itself, by its own code.
    pub(crate) fn conflicting(stop: Stop) -> Problem {
        Problem { status: StatusCode::CONFLICT, ..Problem::from(stop) }
    }

    /// An item that is missing, or hidden from the caller.
    pub(crate) fn missing(what: &str, name: &str) -> Problem {
        Problem::from(Stop::new(Code::ResourceNotFound, format!("there is no {what} `{name}`")))
    }

    fn body(&self) -> Value {
        let mut body = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("error"),
            "status": self.status.as_u16(),
            "detail": self.stop.message,
        });
        let Some(fields) = body.as_object_mut() else { return body };
        if self.coded {
            fields.insert("error_code".into(), json!(self.stop.code));
            fields.insert("error_class".into(), json!(self.stop.code.class()));
        }
        if let Some(field) = &self.stop.field {
            fields.insert("field".into(), json!(field));
        }
        if let Some(help) = &self.stop.help {
            fields.insert("help".into(), json!(help));
        }
        body
    }
}

impl From<Stop> for Problem {
    fn from(stop: Stop) -> Problem {
        // A program passes on what it does not understand, and a model reads it.
        let stop = stop.told_to(Audience::Agent);
        Problem { status: refusal_status(stop.code), stop, coded: true }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}
