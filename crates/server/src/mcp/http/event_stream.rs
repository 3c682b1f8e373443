//! Event streams: server-sent events of a request, and of a session.

use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use haft_driver::Cancel;
use rmcp::model::ServerJsonRpcMessage;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::mcp::exchange::{Exchange, ExchangeStep};
use crate::mcp::in_flight::InFlightRequest;
use crate::mcp::protocol;
use crate::mcp::sessions::{LogReader, SessionVisit};
use crate::rest::{self, ALIVE, STILL_THERE};

/// Most events buffered for a slow client.
const MOST_WAITING: usize = 16;

/// After how many milliseconds a client that lost a stream comes back.
const RETRY_MS: u64 = 3000;

/// The rest of an exchange as a stream. A client that leaves it cancels its request.
pub(super) fn request_scoped(
    mut exchange: Exchange,
    first: Option<Box<ServerJsonRpcMessage>>,
    within: Option<(SessionVisit, InFlightRequest)>,
) -> Response {
    let (sender, frames) = mpsc::channel(MOST_WAITING);
    tokio::spawn(async move {
        let _within = within;
        let mut next = first.map(|first| frame(&first));
        let mut is_last = false;
        loop {
            if let Some(frame) = next
                && sender.send(frame).await.is_err()
            {
                return;
            }
            if is_last {
                return;
            }
            next = tokio::select! {
                step = exchange.next() => match step {
                    ExchangeStep::Message(message) => Some(frame(&message)),
                    ExchangeStep::Response(response) => {
                        is_last = true;
                        Some(frame(&response))
                    }
                },
                // Dropping the exchange cancels its call.
                () = sender.closed() => return,
                () = sleep(ALIVE) => Some(STILL_THERE),
            };
        }
    });
    response(frames)
}

/// An exchange in a session as a stream that its client may resume. It goes on after its client
/// lost the stream, until the session ends. A cancelled request gets no response.
pub(super) fn resumable(
    mut exchange: Exchange,
    request: InFlightRequest,
    visit: SessionVisit,
    stop: &Cancel,
) -> Response {
    let primes = protocol::has_priming(visit.session.version().as_str());
    let (log, over) = (visit.live.open(), visit.live.over.clone());
    let reader = log.read(None);
    tokio::spawn(async move {
        let _visit = visit;
        loop {
            let step = tokio::select! {
                step = exchange.next() => step,
                () = over.cancelled() => break,
            };
            match step {
                ExchangeStep::Message(message) => log.push(&message),
                ExchangeStep::Response(response) => {
                    if !request.cancel.is_cancelled() {
                        log.push(&response);
                    }
                    break;
                }
            }
        }
        log.close();
    });
    follow(reader, primes, None, stop.clone())
}

/// The standalone stream of a session.
pub(super) fn standalone(visit: SessionVisit, stop: &Cancel) -> Response {
    let primes = protocol::has_priming(visit.session.version().as_str());
    follow(visit.live.standalone.read(None), primes, Some(visit), stop.clone())
}

/// The rest of a stream that its client lost.
pub(super) fn resumed(reader: LogReader, visit: SessionVisit, stop: &Cancel) -> Response {
    follow(reader, false, Some(visit), stop.clone())
}

/// A stream that ends at once.
pub(super) fn empty() -> Response {
    response(mpsc::channel(1).1)
}

/// The events of a log, until it is closed, the client leaves or the server stops.
fn follow(
    mut reader: LogReader,
    primes: bool,
    visit: Option<SessionVisit>,
    stop: Cancel,
) -> Response {
    let (sender, frames) = mpsc::channel(MOST_WAITING);
    tokio::spawn(async move {
        let over = visit.as_ref().map(|visit| visit.live.over.clone()).unwrap_or_default();
        let mut next = primes.then(|| priming(&reader.log().event_id(0)));
        loop {
            if let Some(frame) = next
                && sender.send(frame).await.is_err()
            {
                return;
            }
            next = tokio::select! {
                logged = reader.next() => {
                    let Some(logged) = logged else { return };
                    let id = reader.log().event_id(logged.number);
                    Some(format!("id: {id}\ndata: {}\n\n", logged.data).into())
                }
                () = sender.closed() => return,
                () = over.cancelled() => return,
                () = stop.cancelled() => return,
                () = sleep(ALIVE) => Some(STILL_THERE),
            };
        }
    });
    response(frames)
}

/// The event without data that tells a client where and when to resume.
fn priming(id: &str) -> Bytes {
    format!("id: {id}\nretry: {RETRY_MS}\ndata: \n\n").into()
}

fn frame(message: &ServerJsonRpcMessage) -> Bytes {
    format!("data: {}\n\n", serde_json::to_string(message).unwrap_or_default()).into()
}

fn response(frames: mpsc::Receiver<Bytes>) -> Response {
    let mut response = rest::event_stream(frames);
    // A proxy that buffers would hold back events until the stream ends.
    let name = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(name, HeaderValue::from_static("no"));
    response
}
