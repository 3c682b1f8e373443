//! Session admission: every request to the library enters a session of its sender, or opens one.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use haft_model::Actor;
use rmcp::transport::streamable_http_server::{SessionId, SessionManager as _};
use serde::Deserialize;
use tokio::sync::OwnedMutexGuard;

use super::presence::SessionReservation;
use super::{CALLER, Caller, Full, Owner, Presence, Sessions, locked};
use crate::rest::Problem;

/// `Retry-After` of a client that found no room, in seconds.
const RETRY_AFTER: &str = "30";

/// The part of a request that names its method.
#[derive(Deserialize)]
struct RequestHead {
    #[serde(default)]
    method: String,
}

/// A request on its way to the library.
pub(in crate::mcp) struct AdmittedRequest {
    caller: Caller,
    /// Its session, where that belongs to its sender.
    session: Option<(SessionId, Presence)>,
    /// Held by the first request that resumes a suspended session; others wait for it.
    waking: Option<OwnedMutexGuard<()>>,
    _opening: Option<SessionReservation>,
}

impl Sessions {
    /// Admits a request, or refuses it for lack of room.
    pub(in crate::mcp) async fn entered(
        &self,
        head: &Parts,
        body: &[u8],
    ) -> Result<AdmittedRequest, Box<Response>> {
        let actor = head.extensions.get::<Arc<Actor>>();
        let unknown = || Problem::of_wire(StatusCode::UNAUTHORIZED, "no actor is known to call");
        let owner = actor
            .map(|actor| Owner::of(actor))
            .ok_or_else(|| Box::new(unknown().into_response()))?;
        let named = head.headers.get("mcp-session-id").and_then(|name| name.to_str().ok());
        let Some(id) = named.map(SessionId::from) else {
            let opening = match opens(head, body) {
                true => Some(self.room_for(&owner).await?),
                false => None,
            };
            let caller = Caller { owner, may_open: opening.is_some() };
            return Ok(AdmittedRequest { caller, session: None, waking: None, _opening: opening });
        };
        let caller = Caller { owner, may_open: false };
        let owned = locked(&self.lives).is_of(&id, &caller.owner);
        let presence = owned.then(|| Presence::new(&self.lives, &id));
        let waking = match &presence {
            Some(_) => self.turn_to_wake(&id).await,
            None => None,
        };
        let session = presence.map(|presence| (id, presence));
        Ok(AdmittedRequest { caller, session, waking, _opening: None })
    }

    /// The right to resume a suspended session; `None` where it is awake.
    async fn turn_to_wake(&self, id: &SessionId) -> Option<OwnedMutexGuard<()>> {
        loop {
            let asleep = locked(&self.lives).asleep(id)?;
            let turn = asleep.lock_owned().await;
            if locked(&self.lives).asleep(id).is_some() {
                return Some(turn);
            }
        }
    }

    /// Reserves a session: evicts the oldest idle one where the limit is reached.
    async fn room_for(&self, owner: &Owner) -> Result<SessionReservation, Box<Response>> {
        let admitted = SessionReservation::new(&self.lives, owner, &self.limits);
        let (opening, left) = admitted.map_err(|full| Box::new(refused(&full)))?;
        for id in left {
            let _ = self.library.close_session(&id).await;
        }
        Ok(opening)
    }
}

impl AdmittedRequest {
    /// Passes the request on. A session that is being resumed is resumed even if its client stops
    /// waiting: a half-resumed session would answer no request.
    pub(in crate::mcp) async fn go_on(
        self,
        sessions: &Arc<Sessions>,
        head: Parts,
        body: Bytes,
        next: Next,
    ) -> Response {
        let ends = head.method == Method::DELETE;
        let (known, waked) = (self.session.is_some(), self.waking.is_some());
        let id = self.session.as_ref().map(|(id, _)| id.clone());
        let request = Request::from_parts(head, body.into());
        let caller = self.caller.clone();
        let run = async move {
            let _entered = self;
            next.run(request).await
        };
        let run = CALLER.scope(caller, run);
        let answer = match waked {
            false => run.await,
            true => match tokio::spawn(run).await {
                Ok(answer) => answer,
                Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            },
        };
        if let Some(id) = id.filter(|_| waked && answer.status().is_server_error()) {
            // It cannot be resumed: its client opens another.
            sessions.give_up(&id).await;
        }
        match ends && answer.status() == StatusCode::ACCEPTED {
            // Another actor's session is answered like a missing one.
            true if !known => not_found(),
            // Python clients take the library's status for a failure, and report it.
            true => StatusCode::NO_CONTENT.into_response(),
            false => answer,
        }
    }
}

/// Whether a request opens a session.
fn opens(head: &Parts, body: &[u8]) -> bool {
    head.method == Method::POST
        && serde_json::from_slice::<RequestHead>(body).is_ok_and(|wish| wish.method == "initialize")
}

/// The library's answer for an unknown session.
fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response()
}

fn refused(full: &Full) -> Response {
    let (status, words) = match full {
        Full::Actor(most) => (
            StatusCode::TOO_MANY_REQUESTS,
            format!("{most} sessions of yours are in use; end one, or come back later"),
        ),
        Full::All(most) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("{most} sessions are in use; come back later"),
        ),
    };
    let mut response = Problem::of_wire(status, words).into_response();
    let after = HeaderValue::from_static(RETRY_AFTER);
    response.headers_mut().insert(header::RETRY_AFTER, after);
    response
}
