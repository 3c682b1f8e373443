//! GET and DELETE: the standalone stream, the resumption and the end of a session of 2025.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use haft_model::Actor;

use super::post::is_modern;
use super::{HttpTransport, LAST_EVENT, Refusal, SESSION, event_stream, text};

impl HttpTransport {
    /// Opens the standalone stream, or resumes the one that a last event names.
    pub(super) fn get(&self, headers: &HeaderMap, actor: &Arc<Actor>) -> Result<Response, Refusal> {
        let accepts = text(headers, &header::ACCEPT);
        if !accepts.is_some_and(|accepts| accepts.contains("text/event-stream")) {
            return Err(Refusal::NotAcceptable(
                "Not Acceptable: Client must accept text/event-stream",
            ));
        }
        if is_modern(headers)? {
            return Err(Refusal::Method("POST"));
        }
        let visit = self.visit(headers, actor)?;
        let Some(last) = text(headers, &LAST_EVENT) else {
            return Ok(event_stream::standalone(visit, &self.stop));
        };
        Ok(match visit.live.resume(last) {
            Some(reader) => event_stream::resumed(reader, visit, &self.stop),
            // A client would retry an error with the same event for ever.
            None => event_stream::empty(),
        })
    }

    /// Ends a session. Another actor's is answered like a missing one.
    pub(super) fn delete(
        &self,
        headers: &HeaderMap,
        actor: &Arc<Actor>,
    ) -> Result<Response, Refusal> {
        if is_modern(headers)? {
            return Err(Refusal::Method("POST"));
        }
        let id = text(headers, &SESSION).ok_or(Refusal::SessionRequired)?;
        match self.sessions.end(id, actor) {
            // Python clients take any other status for a failure, and report it.
            true => Ok(StatusCode::NO_CONTENT.into_response()),
            false => Err(Refusal::SessionUnknown),
        }
    }
}
