//! Streams that end with the right to read them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::header;
use axum::response::Response;
use futures_core::Stream;
use haft_model::{Actor, Secret};
use tokio::sync::oneshot;

use super::{AuthRefusal, Doorkeeper};

/// How often it is looked whether a token is still in force.
const LOOK: Duration = Duration::from_millis(500);

/// A body that ends when whoever reads it is not let in any more.
struct AuthorizedBody {
    body: BodyDataStream,
    /// Fires, or is dropped, when it has to end; nobody looks any more once this is gone.
    gone: oneshot::Receiver<()>,
}

impl Stream for AuthorizedBody {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match Pin::new(&mut self.gone).poll(context) {
            Poll::Ready(_) => Poll::Ready(None),
            Poll::Pending => Pin::new(&mut self.body).poll_next(context),
        }
    }
}

/// An answer as it is, unless it goes on for longer than tokens may last.
pub(super) fn guarded(
    response: Response,
    keeper: Arc<Doorkeeper>,
    actor: Arc<Actor>,
    token: Secret,
) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
        return response;
    }
    let (mut ends, gone) = oneshot::channel();
    tokio::spawn(async move {
        let look = async {
            loop {
                tokio::time::sleep(LOOK).await;
                match keeper.bearer(token.expose()).await {
                    Ok(now) if now == *actor => {}
                    // Whoever cannot be asked about takes nothing back.
                    Err(AuthRefusal::Unknown(_)) => {}
                    Ok(_) | Err(_) => return,
                }
            }
        };
        tokio::select! {
            () = look => {}
            () = ends.closed() => {}
        }
    });
    response.map(|body| Body::from_stream(AuthorizedBody { body: body.into_data_stream(), gone }))
}
