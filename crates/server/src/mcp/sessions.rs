//! Sessions of clients of 2025, which end when nobody is there any more.
//!
//! The library ends a session in which nothing was said for a while, also where its client waits for news
//! or for a call that takes long. Here a session lasts for as long as somebody waits in it.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};

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
        Ok(self.held(id, self.library.create_stream(id, message).await?))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Error> {
        locked(&self.lives).touched(id);
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

/// Who is in which session.
#[derive(Default)]
struct Lives(HashMap<SessionId, Life>);

struct Life {
    waiting: usize,
    since: Instant,
}

impl Lives {
    fn touched(&mut self, id: &SessionId) -> &mut Life {
        let now = Instant::now();
        let life = self.0.entry(id.clone()).or_insert(Life { waiting: 0, since: now });
        life.since = now;
        life
    }

    fn joined(&mut self, id: &SessionId) {
        self.touched(id).waiting += 1;
    }

    fn went(&mut self, id: &SessionId) {
        // One that was ended meanwhile does not come back.
        if let Some(life) = self.0.get_mut(id) {
            life.waiting = life.waiting.saturating_sub(1);
            life.since = Instant::now();
        }
    }

    fn ended(&mut self, id: &SessionId) {
        self.0.remove(id);
    }

    /// Takes out those in which nobody has waited since then.
    fn left_before(&mut self, then: Option<Instant>) -> Vec<SessionId> {
        let Some(then) = then else { return Vec::new() };
        let left = |life: &Life| life.waiting == 0 && life.since < then;
        self.0.extract_if(|_, life| left(life)).map(|(id, _)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_lasts_while_somebody_waits_in_it() {
        let mut lives = Lives::default();
        let [waits, idle, gone] = ["waits", "idle", "gone"].map(SessionId::from);
        lives.joined(&waits);
        lives.touched(&idle);
        lives.joined(&gone);
        lives.ended(&gone);
        lives.went(&gone);
        let later = Some(Instant::now() + Duration::from_secs(1));
        assert_eq!(lives.left_before(Instant::now().checked_sub(KEPT)), []);
        assert_eq!(lives.left_before(later), [idle]);
        lives.went(&waits);
        assert_eq!(lives.left_before(later), [waits]);
        assert!(lives.0.is_empty());
    }
}
