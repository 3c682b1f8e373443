//! Body timeout: a request body arrives in time, or the connection is dropped.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_core::Stream;
use tokio::time::{Sleep, sleep};

use crate::rest::{LARGEST_BODY, Problem};

/// A body that fails when its timeout expires.
struct Timely {
    body: BodyDataStream,
    end: Pin<Box<Sleep>>,
    late: Arc<AtomicBool>,
}

impl Timely {
    /// Drains and discards the rest of a body, up to twice the size limit.
    async fn poured_away(mut self) {
        let mut left = 2 * LARGEST_BODY;
        while let Some(Ok(part)) = poll_fn(|context| Pin::new(&mut self).poll_next(context)).await {
            match left.checked_sub(part.len()) {
                Some(less) => left = less,
                None => return,
            }
        }
    }
}

impl Stream for Timely {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(part) = Pin::new(&mut self.body).poll_next(context) {
            return Poll::Ready(part);
        }
        if self.end.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.late.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err(axum::Error::new(io::Error::from(io::ErrorKind::TimedOut)))))
    }
}

/// Middleware: drops a request whose body does not arrive in time, and its connection with it.
pub(super) async fn body_within(
    State(limit): State<Duration>,
    request: Request,
    next: Next,
) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let too_large = request.body().size_hint().lower() > LARGEST_BODY as u64;
    let late = Arc::new(AtomicBool::new(false));
    let (parts, body) = request.into_parts();
    let (body, end) = (body.into_data_stream(), Box::pin(sleep(limit)));
    let body = Timely { body, end, late: late.clone() };
    if too_large {
        // A client that sends `Expect` reads the answer at once; any other reads none before it has
        // sent all.
        if !parts.headers.contains_key(header::EXPECT) {
            body.poured_away().await;
        }
        let words = format!("a body takes at most {LARGEST_BODY} bytes");
        return Problem::of_wire(StatusCode::PAYLOAD_TOO_LARGE, words).into_response();
    }
    let body = Body::from_stream(body);
    let response = next.run(Request::from_parts(parts, body)).await;
    if !late.load(Ordering::Relaxed) {
        return response;
    }
    too_late(limit)
}

/// The answer to a request whose body timed out.
pub(super) fn too_late(limit: Duration) -> Response {
    let words = format!("the body did not arrive within {} ms", limit.as_millis());
    let mut response = Problem::of_wire(StatusCode::REQUEST_TIMEOUT, words).into_response();
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
