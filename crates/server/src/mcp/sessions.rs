//! MCP session manager for clients of 2025: ownership, limits and suspension of idle sessions.
//!
//! A session belongs to the actor and tenant that opened it. An idle one is suspended: the
//! library's worker ends and a small record stays, from which the library restores the session when
//! its client comes back. The library alone would end it, even while its client waits for
//! notifications.

mod entrance;
mod lives;
mod presence;
mod record;

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;
use haft_driver::Cancel;
use haft_model::Actor;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::RestoreOutcome;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};

use lives::Full;
pub(crate) use lives::Lives;
pub(crate) use lives::SessionCounts;
pub(super) use lives::{Habits, Memory, Owner};
pub(super) use presence::Presence;
pub(super) use record::Records;

use crate::listen::SessionLimits;

/// How long an idle session is kept.
const KEPT: Duration = Duration::from_secs(30 * 60);

/// Interval of the idle sweep.
const SWEEP: Duration = Duration::from_secs(5);

tokio::task_local! {
    /// The caller of the library's current request, and whether it may open a session. The session
    /// manager gets neither as an argument, and runs in the task of the request.
    static CALLER: Caller;
}

#[derive(Clone)]
struct Caller {
    owner: Owner,
    may_open: bool,
}

/// The session table, for code that does not use the library.
pub(crate) type SharedLives = Arc<Mutex<Lives>>;

/// The sessions of a server.
pub(super) struct Sessions {
    library: LocalSessionManager,
    lives: SharedLives,
    limits: SessionLimits,
}

impl Sessions {
    /// An empty table. A sweep handles idle sessions until the server stops.
    pub(super) fn new(lives: SharedLives, limits: SessionLimits, stop: &Cancel) -> Arc<Sessions> {
        let mut library = LocalSessionManager::default();
        library.session_config.keep_alive = None;
        library.session_config.completed_cache_ttl = limits.rest;
        let sessions = Arc::new(Sessions { library, lives, limits });
        tokio::spawn(sweep(Arc::downgrade(&sessions), limits.rest.min(SWEEP), stop.child_token()));
        sessions
    }

    /// Keeps the session of a stream for as long as its client is connected.
    fn held<S>(&self, id: &SessionId, stream: S) -> HeldStream<S> {
        HeldStream { stream: Box::pin(stream), _presence: Presence::new(&self.lives, id) }
    }

    /// Enters an actor's session with a fast-path request, which the library does not see. `None`
    /// where the actor has no such session, or its client has not sent `initialized`.
    pub(super) fn enter(&self, id: &str, actor: &Actor, request: &RequestId) -> Option<Visit> {
        let id = SessionId::from(id);
        let mut lives = locked(&self.lives);
        let habits = lives.habits(&id, &Owner::of(actor))?.clone();
        let cancel = Cancel::new();
        lives.calls(&id, request, cancel.clone());
        drop(lives);
        Some(Visit { habits, cancel, id, request: request.clone(), lives: self.lives.clone() })
    }

    /// Ends sessions past their lifetime, and suspends those that are idle or too many.
    async fn see_to_idle(&self) {
        let now = Instant::now();
        let over = locked(&self.lives).left_before(now.checked_sub(KEPT));
        for id in over {
            let _ = self.library.close_session(&id).await;
        }
        let resting = now.checked_sub(self.limits.rest);
        let drowsy = locked(&self.lives).drowsy(resting, self.limits.awake);
        for (id, _asleep) in drowsy {
            // The record stays locked meanwhile, so that a returning client waits for the end.
            let _ = self.library.close_session(&id).await;
        }
    }

    /// Ends a session that cannot continue.
    async fn give_up(&self, id: &SessionId) {
        locked(&self.lives).ended(id, true);
        let _ = self.library.close_session(id).await;
    }

    fn owned(&self, id: &SessionId) -> bool {
        CALLER.try_with(|caller| locked(&self.lives).is_of(id, &caller.owner)).unwrap_or(false)
    }
}

async fn sweep(sessions: Weak<Sessions>, every: Duration, stop: Cancel) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
        let Some(sessions) = sessions.upgrade() else { return };
        sessions.see_to_idle().await;
    }
}

fn locked(lives: &Mutex<Lives>) -> std::sync::MutexGuard<'_, Lives> {
    lives.lock().unwrap_or_else(PoisonError::into_inner)
}

type Library = LocalSessionManager;
type Error = LocalSessionManagerError;

impl SessionManager for Sessions {
    type Error = Error;
    type Transport = <Library as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Error> {
        let caller = CALLER.try_with(Clone::clone).ok().filter(|caller| caller.may_open);
        let nobody = || Error::SessionNotFound(SessionId::from("not opened"));
        let Caller { owner, .. } = caller.ok_or_else(nobody)?;
        self.see_to_idle().await;
        let (id, transport) = self.library.create_session().await?;
        locked(&self.lives).opened(&id, owner);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Error> {
        locked(&self.lives).heard(id, &message);
        self.library.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Error> {
        Ok(self.owned(id) && self.library.has_session(id).await?)
    }

    /// Ends a session: by its client's request, or because its worker ended. The worker of a
    /// suspended session ends as well, and leaves the session as it is.
    async fn close_session(&self, id: &SessionId) -> Result<(), Error> {
        let by_client = CALLER.try_with(|_| ()).is_ok();
        if by_client && !self.owned(id) {
            return Ok(());
        }
        let over = locked(&self.lives).ended(id, by_client);
        if over { self.library.close_session(id).await } else { Ok(()) }
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        locked(&self.lives).heard(id, &message);
        Ok(self.held(id, self.library.create_stream(id, message).await?))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Error> {
        locked(&self.lives).heard(id, &message);
        self.library.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        Ok(self.held(id, self.library.create_standalone_stream(id).await?))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        Ok(self.held(id, self.library.resume(id, last_event_id).await?))
    }

    async fn restore_session(
        &self,
        id: SessionId,
    ) -> Result<RestoreOutcome<Self::Transport>, Error> {
        let wakes = self.owned(&id) && locked(&self.lives).woken(&id);
        match wakes {
            true => self.library.restore_session(id).await,
            false => Ok(RestoreOutcome::NotSupported),
        }
    }
}

/// A stream with a connected client.
struct HeldStream<S> {
    stream: Pin<Box<S>>,
    _presence: Presence,
}

impl<S: Stream> Stream for HeldStream<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.stream.as_mut().poll_next(context)
    }
}

/// A fast-path request in a session.
pub(super) struct Visit {
    pub(super) habits: Habits,
    /// Fires when its client cancels it.
    pub(super) cancel: Cancel,
    id: SessionId,
    request: RequestId,
    lives: SharedLives,
}

impl Drop for Visit {
    fn drop(&mut self) {
        locked(&self.lives).answered(&self.id, &self.request);
    }
}
