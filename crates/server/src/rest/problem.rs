//! What is wrong with a request itself, as problem details (RFC 9457).
//!
//! A call that was understood is answered by its envelope, whatever came of it; these are for the rest.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_model::{Audience, Code, Situation, Stop};
use serde_json::{Value, json};

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    stop: Stop,
    /// Whether our code says anything: a wrong method is nobody's tool error.
    coded: bool,
}

impl Problem {
    /// A fault of the request as such, which no code of ours is about.
    pub(crate) fn of_wire(status: StatusCode, detail: impl Into<String>) -> Problem {
        Problem { status, stop: Stop::new(Code::InputSchema, detail), coded: false }
    }

    /// The same with what to do.
    pub(crate) fn help(self, help: &str) -> Problem {
        Problem { stop: self.stop.help(help), ..self }
    }

    /// A body or a parameter that is not what it should be.
    pub(crate) fn malformed(detail: impl Into<String>) -> Problem {
        Problem {
            status: StatusCode::BAD_REQUEST,
            stop: Stop::new(Code::InputSchema, detail),
            coded: true,
        }
    }

    /// A body that is well formed and cannot be taken as it is, by its own code.
    pub(crate) fn conflicting(stop: Stop) -> Problem {
        Problem { status: StatusCode::CONFLICT, ..Problem::from(stop) }
    }

    /// Something that is not there, or not for whoever asks.
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
        // A program hands on what it does not understand, and a model reads it.
        let stop = stop.told_to(Audience::Agent);
        Problem { status: status(stop.code), stop, coded: true }
    }
}

/// The status of a refusal that no call is behind.
fn status(code: Code) -> StatusCode {
    match code {
        Code::ResourceNotFound | Code::ToolUnknown => StatusCode::NOT_FOUND,
        Code::Conflict | Code::ApprovalExpired => StatusCode::CONFLICT,
        Code::DependencyUnavailable | Code::StoreUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        other => match other.situation() {
            Situation::UnknownTool => StatusCode::NOT_FOUND,
            Situation::Invalid => StatusCode::BAD_REQUEST,
            Situation::Refused => StatusCode::FORBIDDEN,
            Situation::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Situation::Waiting | Situation::Failed | Situation::TimedOut | Situation::Canceled => {
                StatusCode::CONFLICT
            }
        },
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
