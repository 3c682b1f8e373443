//! Stream revocation: ends a response stream when the right to read it ends.

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

/// Interval at which a token is checked again.
const LOOK: Duration = Duration::from_millis(500);

/// A body that ends when its reader's credentials are revoked.
struct AuthorizedBody {
    body: BodyDataStream,
    /// Fires, or is dropped, when the stream has to end; dropping it stops the checks.
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

/// The response as it is, unless it may outlast a token.
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
                    // An authority that cannot be asked revokes nothing.
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
