//! What is recorded, as it is recorded: server-sent events that go on where somebody left.

use std::collections::{HashMap, VecDeque};
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
use haft_ledger::events;
use haft_model::{Actor, InvocationId, Stop};
use haft_runtime::Reader;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;

use super::ask::{Asked, By};
use super::native::text;
use super::problem::Problem;
use crate::Desk;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How many entries are fetched at once, and how many events wait for a client.
const AT_ONCE: usize = 256;
const MOST_WAITING: usize = 64;

/// How long one look for news lasts, and how long a client may take for one event.
const LOOK: Duration = Duration::from_secs(1);
const SLOWEST: Duration = Duration::from_secs(30);

/// How often a silent connection is told that we are there.
const ALIVE: Duration = Duration::from_secs(15);

/// How many calls are remembered as theirs or not.
const MOST_KNOWN: usize = 4096;

/// From where on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct From {
    after: Option<String>,
}

/// A place between two events. An entry of the ledger may be several: all but its last have a number
/// of their own behind that of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    entry: u64,
    /// The last event of the entry that was seen; none where all were.
    within: Option<usize>,
}

impl Place {
    fn parse(text: &str) -> Option<Place> {
        match text.split_once('.') {
            None => Some(Place { entry: text.parse().ok()?, within: None }),
            Some((entry, within)) => {
                Some(Place { entry: entry.parse().ok()?, within: Some(within.parse().ok()?) })
            }
        }
    }
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
    let place = match said.as_deref() {
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
    let teller = Teller { reader, actor, sender, theirs: HashMap::new() };
    tokio::spawn(teller.tell(place));
    let alive = KeepAlive::new().interval(ALIVE);
    Ok(Sse::new(Events(receiver)).keep_alive(alive))
}

/// The events of one connection.
struct Events(mpsc::Receiver<Event>);

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// Tells one client, at its own pace and from its own place, so that nobody waits for another.
struct Teller {
    reader: Reader,
    actor: Arc<Actor>,
    sender: mpsc::Sender<Event>,
    /// Which calls the actor may see, as far as it was looked up.
    theirs: HashMap<InvocationId, bool>,
}

impl Teller {
    async fn tell(mut self, from: Option<Place>) {
        // Of the entry in the middle of which they left, the rest comes first.
        let mut after = match from {
            Some(Place { entry, within: Some(_) }) => entry.checked_sub(1),
            Some(Place { entry, within: None }) => Some(entry),
            None => None,
        };
        let mut entries = VecDeque::new();
        while !self.sender.is_closed() {
            let Some(entry) = entries.pop_front() else {
                match self.more(after).await {
                    Ok(found) => entries = found,
                    Err(_) => return,
                }
                continue;
            };
            let haft_ledger::Entry { seq, .. } = entry;
            after = Some(seq);
            let seen = from.filter(|place| place.entry == seq).and_then(|place| place.within);
            let Ok(records) = events(&entry) else { return };
            let last = records.len().saturating_sub(1);
            for (index, record) in records.into_iter().enumerate() {
                if seen.is_some_and(|seen| index <= seen) || !self.may_see(&record).await {
                    continue;
                }
                let id = if index == last { seq.to_string() } else { format!("{seq}.{index}") };
                let class = record.get("event_type").and_then(Value::as_str).unwrap_or_default();
                let event = Event::default().id(id).event(class).data(record.to_string());
                // A client that takes nothing for so long comes back and goes on where it was.
                if self.sender.send_timeout(event, SLOWEST).await.is_err() {
                    return;
                }
            }
        }
    }

    /// The next entries; none where none came for a while.
    async fn more(&self, after: Option<u64>) -> Result<VecDeque<haft_ledger::Entry>, Stop> {
        let found = self.reader.entries(after, AT_ONCE).await?;
        if !found.is_empty() {
            return Ok(found.into());
        }
        tokio::select! {
            news = self.reader.wait_past(after, LOOK) => news.map(|_| VecDeque::new()),
            () = self.sender.closed() => Ok(VecDeque::new()),
        }
    }

    /// Whether an event is the actor's business: of its tenant and, for plain agents, of its own calls.
    async fn may_see(&mut self, record: &Value) -> bool {
        let text = |name: &str| record.get(name).and_then(Value::as_str);
        if text("tenant").is_some_and(|tenant| tenant != &*self.actor.tenant) {
            return false;
        }
        let Some(id) = text("invocation_id").map(InvocationId::from) else {
            return self.actor.sees_all();
        };
        if let Some(known) = self.theirs.get(&id) {
            return *known;
        }
        let theirs = self.reader.run(&id, &self.actor).await.is_ok_and(|run| run.is_some());
        if self.theirs.len() >= MOST_KNOWN {
            self.theirs.clear();
        }
        self.theirs.insert(id, theirs);
        theirs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_entry_or_an_event_in_it() {
        let place = |entry, within| Some(Place { entry, within });
        assert_eq!(Place::parse("7"), place(7, None));
        assert_eq!(Place::parse("7.2"), place(7, Some(2)));
        for bad in ["", "x", "7.", "7.x", "-1", "1.2.3"] {
            assert_eq!(Place::parse(bad), None, "{bad}");
        }
    }
}
