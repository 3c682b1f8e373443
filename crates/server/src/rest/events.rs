//! What is recorded, as it is recorded: server-sent events that go on where somebody left.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_core::Stream;
use haft_runtime::Reader;
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};

use super::ask::{Asked, By};
use super::bulletin::{Ear, Pages, Told};
use super::native::text;
use super::place::Place;
use super::problem::Problem;
use crate::Desk;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How many events wait for a client.
const MOST_WAITING: usize = 64;

/// How long a client may take for one event.
const SLOWEST: Duration = Duration::from_secs(30);

/// How often a silent connection is told that we are there.
pub(crate) const ALIVE: Duration = Duration::from_secs(15);

/// From where on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct From {
    after: Option<String>,
}

/// `GET /v1/events`.
pub(super) async fn follow(
    State(desk): State<Arc<Desk>>,
    By(actor): By,
    headers: HeaderMap,
    Asked(from): Asked<From>,
) -> Result<impl IntoResponse, Problem> {
    let seen = text(&headers, LAST_EVENT_ID).filter(|seen| !seen.is_empty());
    let said = seen.map(str::to_owned).or(from.after);
    let reader = desk.runtime.reader();
    let ear = Ear::of(&actor);
    // Joined before anything is read, so that nothing falls between what is read and what is told.
    let news = desk.bulletin.join(ear.clone(), &reader).await?;
    let seen = match said.as_deref() {
        Some(text) => {
            let unread = || Problem::malformed(format!("`{text}` is no event's id"));
            Some(Place::parse(text).ok_or_else(unread)?)
        }
        // Whoever names no place wants what comes from now on.
        None => {
            let last = reader.wait_past(None, Duration::ZERO).await?;
            last.map(|entry| Place { entry, within: None })
        }
    };
    let (sender, receiver) = mpsc::channel(MOST_WAITING);
    tokio::spawn(Teller { reader, ear, seen, sender }.tell(news));
    let alive = KeepAlive::new().interval(ALIVE);
    Ok(Sse::new(Events(receiver)).keep_alive(alive))
}

/// The events of one connection.
pub(crate) struct Events(mpsc::Receiver<Event>);

impl Events {
    pub(crate) fn new(events: mpsc::Receiver<Event>) -> Events {
        Events(events)
    }
}

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// Tells one client, at its own pace and from its own place, so that nobody waits for another.
struct Teller {
    reader: Reader,
    ear: Ear,
    /// What the client has; none where the ledger was empty.
    seen: Option<Place>,
    sender: mpsc::Sender<Event>,
}

/// The client is gone, or too slow: it comes back and goes on where it was.
struct Gone;

impl Teller {
    async fn tell(mut self, mut news: broadcast::Receiver<Arc<Told>>) {
        // Whoever is behind reads the ledger, and so does whoever was told more than could wait.
        while self.catch_up().await.is_ok() {
            loop {
                let told = tokio::select! {
                    told = news.recv() => told,
                    () = self.sender.closed() => return,
                };
                match told {
                    Ok(told) => {
                        if self.say(&told).await.is_err() {
                            return;
                        }
                    }
                    Err(RecvError::Lagged(_)) => break,
                    Err(RecvError::Closed) => return,
                }
            }
        }
    }

    async fn catch_up(&mut self) -> Result<(), Gone> {
        let mut pages = Pages::new(self.reader.clone(), self.seen.and_then(Place::last_whole));
        while let Some(page) = pages.heard_by(&self.ear).await.map_err(|_| Gone)? {
            for told in page {
                self.say(&told).await?;
            }
        }
        Ok(())
    }

    async fn say(&mut self, told: &Told) -> Result<(), Gone> {
        if self.seen.is_some_and(|seen| !told.place.is_after(seen)) {
            return Ok(());
        }
        let event =
            Event::default().id(told.place.to_string()).event(&told.class).data(&told.record);
        self.sender.send_timeout(event, SLOWEST).await.map_err(|_| Gone)?;
        self.seen = Some(told.place);
        Ok(())
    }
}
