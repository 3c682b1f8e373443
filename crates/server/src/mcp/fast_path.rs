//! Fast path: answers tool calls on the task of their connection, without the library.
//!
//! The library takes a request through tasks and channels of its own, which costs more than most
//! calls do. It is needed for what happens between a request and its answer in the older versions;
//! a call that needs none of that is read, made and answered by the task of its connection. Any
//! irregular request is left to the library, which knows the right error.
#![expect(deprecated, reason = "clients of 2025 still hear remarks")]

mod frame;
mod talk;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use haft_catalog::Viewer;
use haft_driver::Abilities;
use haft_model::Actor;
use haft_runtime::{Background, SharedTimer};
use rmcp::model::{ClientCapabilities, LoggingLevel, ProtocolVersion};
use tokio::time::Instant;

use super::calling::{CallStart, CallingClient, RunningCall};
use super::listing::Listing;
use super::request_meta::Heading;
use super::sessions::{Sessions, Visit};
use super::{asking, remarks, tasks};
use crate::AppState;
use frame::Frame;
use talk::{StreamMessage, Talk};

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Answers tool calls on the task of their connection.
pub(crate) struct FastPath {
    pub(super) desk: Arc<AppState>,
    pub(super) sessions: Arc<Sessions>,
    /// How long a call may take and still be answered as one document.
    pub(super) soon: Duration,
    /// Timer for that limit.
    pub(super) pulse: SharedTimer,
}

/// The tool and the arguments of a call that the fast path reads from a body; `None` where it
/// leaves the body to the library. For fuzzing.
pub fn tool_call(
    body: &[u8],
) -> Option<(String, Option<serde_json::Map<String, serde_json::Value>>)> {
    Frame::read(body).map(|frame| (frame.params.name.into_owned(), frame.params.arguments))
}

/// The protocol era of a client.
enum ClientEra {
    /// 2026-07-28: stateless, each request is self-contained.
    Whole(ClientCapabilities),
    /// Older versions: in a session.
    Session(Visit),
}

impl FastPath {
    /// The answer to a request; `None` leaves it to the library.
    pub(crate) async fn answer(&self, head: &Parts, body: &[u8]) -> Option<Response> {
        if !takes_both(&head.headers) {
            return None;
        }
        let frame = Frame::read(body)?;
        let actor = head.extensions.get::<Arc<Actor>>()?.clone();
        let way = self.way(&head.headers, &frame, &actor)?;
        let heading =
            Heading { id: &frame.id, meta: &frame.meta.0.0, headers: Some(&head.headers) };
        let session = heading.session();
        let viewer = Viewer { actor: &actor, within: session.as_slice() };
        let listing = self.desk.listing_with(&viewer, &frame.params.name);
        if !way.leads_to(&listing, &frame.params.name) {
            return None;
        }
        let (abilities, background) = way.abilities(&frame);
        let remarks = abilities.remarks.clone();
        let client =
            CallingClient { heading, actor, abilities, background, flaw: frame.flaw.clone() };
        let begun = self.desk.begin_call(frame.params, client, &listing).await;
        let (modern, visit) = match way {
            ClientEra::Whole(_) => (true, None),
            ClientEra::Session(visit) => (false, Some(visit)),
        };
        let (conversation, closing) = match begun {
            Ok(CallStart::Called(RunningCall { conversation, closing })) => (conversation, closing),
            Ok(CallStart::Answered(answer)) => {
                return Some(talk::message(Ok(*answer), frame.id, modern).into_response());
            }
            Err(error) => {
                return Some(talk::message(Err(error), frame.id, modern).into_response());
            }
        };
        let token = frame.meta.get_progress_token();
        let desk = self.desk.clone();
        let (conversation, id) = (Some(conversation), frame.id);
        let mut talk = Talk { desk, conversation, closing, id, token, remarks, visit };
        let first = tokio::select! {
            biased;
            said = talk.next() => Some(said),
            () = self.pulse.past(Instant::now() + self.soon) => None,
        };
        Some(match first {
            Some(StreamMessage::Last(last)) => last.into_response(),
            Some(StreamMessage::Between(between)) => talk.stream(Some(between)),
            None => talk.stream(None),
        })
    }

    /// The client's era, where the fast path serves it.
    fn way(&self, headers: &HeaderMap, frame: &Frame, actor: &Actor) -> Option<ClientEra> {
        let version = one(headers, &VERSION)?;
        if version == ProtocolVersion::V_2026_07_28.as_str() {
            let repeats = headers.keys().any(|name| name.as_str().starts_with("mcp-param-"));
            let plain = !repeats
                && !headers.contains_key(SESSION)
                && one(headers, &METHOD)? == frame::METHOD
                && one(headers, &NAME)? == frame.params.name
                && frame.version()? == version;
            return if plain {
                frame.meta.client_capabilities().map(ClientEra::Whole)
            } else {
                None
            };
        }
        let spoken = [ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25];
        let plain = spoken.iter().any(|spoken| spoken.as_str() == version)
            && frame.version().is_none()
            && frame.params.request_state.is_none()
            && frame.meta.get_progress_token().is_none();
        let session = one(headers, &SESSION).filter(|_| plain)?;
        let visit = self.sessions.enter(session, actor, &frame.id)?;
        // The library asks a client with elicitation through the stream of the request.
        (!visit.habits.can_be_asked).then_some(ClientEra::Session(visit))
    }
}

impl ClientEra {
    /// Whether the fast path may call a tool.
    fn leads_to(&self, listing: &Listing, name: &str) -> bool {
        match self {
            // The library compares headers that repeat arguments.
            ClientEra::Whole(_) => !listing.repeats_arguments(name),
            // A session's client that loses its stream resumes it there, which a read does not
            // need.
            ClientEra::Session(_) => listing.only_reads(name),
        }
    }

    /// The client's capabilities, and whether a long call continues as a task.
    fn abilities(&self, frame: &Frame) -> (Abilities, Background) {
        match self {
            ClientEra::Whole(told) => {
                let remarks = frame.meta.log_level().and_then(remarks::name);
                (asking::abilities(Some(told.clone()), remarks), tasks::background(told))
            }
            ClientEra::Session(visit) => {
                let level = visit.habits.level.unwrap_or(LoggingLevel::Debug);
                (asking::abilities(None, remarks::name(level)), Background::Unknown)
            }
        }
    }
}

/// Content negotiation: whether a request is JSON and its sender accepts both JSON and event
/// streams.
fn takes_both(headers: &HeaderMap) -> bool {
    let is = |name, fits: fn(&str) -> bool| one(headers, &name).is_some_and(fits);
    is(header::CONTENT_TYPE, |kind| kind == "application/json")
        && is(header::ACCEPT, |takes| {
            takes.contains("application/json") && takes.contains("text/event-stream")
        })
}

/// The value of a header that occurs once.
fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    let (Some(value), None) = (all.next(), all.next()) else { return None };
    value.to_str().ok()
}

/// A JSON response.
fn document(status: axum::http::StatusCode, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
