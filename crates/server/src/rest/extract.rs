//! Request extractors: parse body, query and path, and refuse them in one way.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use haft_model::{Actor, JsonFlaw};
use serde::de::DeserializeOwned;

use super::problem::Problem;

/// Largest request body, in bytes.
pub(crate) const LARGEST_BODY: usize = 4 * 1024 * 1024;

/// A JSON body in which every number and key arrives as it was written.
pub(crate) struct StrictJson<T>(pub(crate) T);

/// A JSON body and the flaw of its text, for requests that are answered all the same.
pub(crate) struct FlawedBody<T>(pub(crate) T, pub(crate) Option<JsonFlaw>);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for StrictJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<StrictJson<T>, Problem> {
        match FlawedBody::from_request(request, state).await? {
            FlawedBody(_, Some(flaw)) => Err(flaw.stop().into()),
            FlawedBody(read, None) => Ok(StrictJson(read)),
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for FlawedBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<FlawedBody<T>, Problem> {
        let bytes = json(request, state).await?;
        // Serde would read a list as the fields of an object, in order.
        let opens = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        if opens.is_some_and(|byte| *byte != b'{') {
            return Err(Problem::malformed("the body is no JSON object"));
        }
        let flaw = JsonFlaw::in_text(&bytes);
        read(&bytes).map(|read| FlawedBody(read, flaw))
    }
}

/// A body of any JSON, and its text.
pub(crate) struct AnyBody(pub(crate) serde_json::Value, pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for AnyBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<AnyBody, Problem> {
        let bytes = json(request, state).await?;
        let value: serde_json::Value = read(&bytes)?;
        match value.is_object() || value.is_array() {
            true => Ok(AnyBody(value, bytes)),
            false => Err(Problem::malformed("the body is neither an object nor a list")),
        }
    }
}

/// The bytes of a body with a JSON content type.
async fn json<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    if !is_json(request.headers()) {
        let words = "a body is JSON: set `Content-Type: application/json`";
        return Err(Problem::of_wire(StatusCode::UNSUPPORTED_MEDIA_TYPE, words));
    }
    Bytes::from_request(request, state).await.map_err(|fault| {
        let words = match fault.status() {
            StatusCode::PAYLOAD_TOO_LARGE => format!("a body takes at most {LARGEST_BODY} bytes"),
            _ => "the body broke off".to_owned(),
        };
        Problem::of_wire(fault.status(), words)
    })
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|fault| match JsonFlaw::in_text(bytes) {
        // The parser rejects some of them as no JSON at all, with neither pointer nor help.
        Some(flaw) => flaw.stop().into(),
        None => Problem::malformed(format!("the body: {fault}")),
    })
}

pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// The query parameters of a request.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<QueryParams<T>, Problem> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        let read = read.map_err(|fault| Problem::malformed(fault.body_text()));
        read.map(|Query(asked)| QueryParams(asked))
    }
}

/// The path parameters of a request.
pub(crate) struct PathParams<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<PathParams<T>, Problem> {
        let read = Path::<T>::from_request_parts(parts, state).await;
        let read = read.map_err(|fault| Problem::malformed(fault.body_text()));
        read.map(|Path(named)| PathParams(named))
    }
}

/// The authenticated actor of a request.
pub(crate) struct By(pub(crate) Arc<Actor>);

impl<S: Send + Sync> FromRequestParts<S> for By {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<By, Problem> {
        let who = parts.extensions.get::<Arc<Actor>>().cloned();
        let nobody =
            || Problem::of_wire(StatusCode::UNAUTHORIZED, "the caller is not authenticated");
        who.map(By).ok_or_else(nobody)
    }
}
