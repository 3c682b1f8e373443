//! Server-sent events: streams ledger events, resumable from the last event id.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse as _, Response};
use futures_core::Stream;
use haft_runtime::Reader;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::event_cursor::EventCursor;
use super::event_fanout::{Ear, Follower, NextEvents, WireEvent};
use super::extract::{By, QueryParams};
use super::native::text;
use super::problem::Problem;
use crate::AppState;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How long a client may take to read one event.
const SLOWEST: Duration = Duration::from_secs(30);

/// Keep-alive interval of a silent connection.
pub(crate) const ALIVE: Duration = Duration::from_secs(15);

/// Keep-alive comment.
pub(crate) const STILL_THERE: Bytes = Bytes::from_static(b":\n\n");

/// Start position of a stream.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct From {
    after: Option<String>,
}

/// `GET /v1/events`.
pub(super) async fn follow(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    headers: HeaderMap,
    QueryParams(from): QueryParams<From>,
) -> Result<Response, Problem> {
    let seen = text(&headers, LAST_EVENT_ID).filter(|seen| !seen.is_empty());
    let said = seen.map(str::to_owned).or(from.after);
    let reader = desk.runtime.reader();
    let ear = Ear::of(&actor);
    // Subscribed before the first read, so that no event falls between the two.
    let news = desk.bulletin.join(&reader).await?;
    let seen = match said.as_deref() {
        Some(text) => {
            let unread = || Problem::malformed(format!("`{text}` is no event's id"));
            Some(EventCursor::parse(text).ok_or_else(unread)?)
        }
        // A client without a position starts now.
        None => {
            let last = reader.wait_past(None, Duration::ZERO).await?;
            last.map(|entry| EventCursor { entry, within: None })
        }
    };
    // One event is buffered for a client, shared with all others.
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(Teller { desk, reader, ear, seen, sender }.tell(news));
    Ok(event_stream(receiver))
}

/// A response with the frames of an event stream.
pub(crate) fn event_stream(frames: mpsc::Receiver<Bytes>) -> Response {
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (head, Body::from_stream(Frames(frames))).into_response()
}

/// The frames of one connection, as they go over the wire.
struct Frames(mpsc::Receiver<Bytes>);

impl Stream for Frames {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|frame| frame.map(Ok))
    }
}

/// Streams to one client, at its own pace and position, so that none waits for another.
struct Teller {
    desk: Arc<AppState>,
    reader: Reader,
    ear: Ear,
    /// The client's position; `None` where the ledger was empty.
    seen: Option<EventCursor>,
    sender: mpsc::Sender<Bytes>,
}

/// The client is gone or too slow: it reconnects and resumes.
struct ClientGone;

impl Teller {
    async fn tell(mut self, mut news: Follower) {
        // A client that lags reads the ledger, and so does one that fell behind the buffer.
        while self.catch_up().await.is_ok() {
            loop {
                let told = match news.turn(&self.ear) {
                    NextEvents::Told(told) => self.say(&told).await,
                    NextEvents::Wait => self.wait(&mut news).await,
                    NextEvents::Behind => break,
                    NextEvents::Over => return,
                };
                if told.is_err() {
                    return;
                }
            }
        }
    }

    /// Waits for more, and sends keep-alives meanwhile.
    async fn wait(&self, news: &mut Follower) -> Result<(), ClientGone> {
        let more = tokio::select! {
            more = timeout(ALIVE, news.more()) => more,
            () = self.sender.closed() => return Err(ClientGone),
        };
        match more {
            Ok(()) => Ok(()),
            Err(_) => self.sender.send_timeout(STILL_THERE, SLOWEST).await.map_err(|_| ClientGone),
        }
    }

    async fn catch_up(&mut self) -> Result<(), ClientGone> {
        let after = self.seen.and_then(EventCursor::last_whole);
        let mut pages = self.desk.bulletin.pages(self.reader.clone(), after);
        while let Some(page) = pages.heard_by(&self.ear).await.map_err(|_| ClientGone)? {
            for told in page {
                self.say(&told).await?;
            }
        }
        Ok(())
    }

    async fn say(&mut self, told: &WireEvent) -> Result<(), ClientGone> {
        if self.seen.is_some_and(|seen| !told.place.is_after(seen)) {
            return Ok(());
        }
        self.sender.send_timeout(told.frame.clone(), SLOWEST).await.map_err(|_| ClientGone)?;
        self.seen = Some(told.place);
        Ok(())
    }
}
