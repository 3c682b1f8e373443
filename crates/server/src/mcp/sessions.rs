//! Sessions of clients of 2025, which end when nobody is there any more.
//!
//! The library ends a session in which nothing was said for a while, also where its client waits for news
//! or for a call that takes long. Here a session lasts for as long as somebody waits in it.

mod lives;

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;
use haft_driver::Cancel;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};

pub(super) use lives::Habits;
use lives::Lives;

/// How long a session is kept in which nobody waits.
const KEPT: Duration = Duration::from_secs(30 * 60);

/// The sessions of a server.
pub(super) struct Sessions {
    library: LocalSessionManager,
    lives: Arc<Mutex<Lives>>,
}

impl Default for Sessions {
    fn default() -> Sessions {
        let mut library = LocalSessionManager::default();
        library.session_config.keep_alive = None;
        Sessions { library, lives: Arc::default() }
    }
}

impl Sessions {
    /// Keeps the session of a stream for as long as somebody waits at the other end.
    fn held<S>(&self, id: &SessionId, stream: S) -> Held<S> {
        locked(&self.lives).joined(id);
        Held { stream: Box::pin(stream), id: id.clone(), lives: self.lives.clone() }
    }

    /// Enters a session with a request that the library does not hear of. Nobody can where there is no
    /// such session, or its client has not said that it is ready.
    pub(super) fn enter(&self, id: &str, request: &RequestId) -> Option<Visit> {
        let id = SessionId::from(id);
        let mut lives = locked(&self.lives);
        let habits = lives.habits(&id)?.clone();
        let cancel = Cancel::new();
        lives.calls(&id, request, cancel.clone());
        drop(lives);
        Some(Visit { habits, cancel, id, request: request.clone(), lives: self.lives.clone() })
    }

    /// Ends what nobody is in; whoever comes next clears up after those who left.
    async fn clear_up(&self) {
        let left = locked(&self.lives).left_before(Instant::now().checked_sub(KEPT));
        for id in left {
            let _ = self.library.close_session(&id).await;
        }
    }
}

fn locked(lives: &Mutex<Lives>) -> std::sync::MutexGuard<'_, Lives> {
    lives.lock().unwrap_or_else(PoisonError::into_inner)
}

type Library = LocalSessionManager;
type Error = <Library as SessionManager>::Error;

impl SessionManager for Sessions {
    type Error = Error;
    type Transport = <Library as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Error> {
        self.clear_up().await;
        let (id, transport) = self.library.create_session().await?;
        locked(&self.lives).touched(&id);
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
        self.library.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Error> {
        locked(&self.lives).ended(id);
        self.library.close_session(id).await
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
}

/// A stream at whose end somebody waits.
struct Held<S> {
    stream: Pin<Box<S>>,
    id: SessionId,
    lives: Arc<Mutex<Lives>>,
}

impl<S: Stream> Stream for Held<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.stream.as_mut().poll_next(context)
    }
}

impl<S> Drop for Held<S> {
    fn drop(&mut self) {
        locked(&self.lives).went(&self.id);
    }
}

/// A request in a session that the library does not hear of.
pub(super) struct Visit {
    pub(super) habits: Habits,
    /// Fires when its client calls it off.
    pub(super) cancel: Cancel,
    id: SessionId,
    request: RequestId,
    lives: Arc<Mutex<Lives>>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        locked(&self.lives).answered(&self.id, &self.request);
    }
}
