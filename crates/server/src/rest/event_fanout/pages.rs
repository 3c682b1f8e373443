//! Ledger pages: events page by page; subscribers at the same position share a page.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use axum::body::Bytes;
use haft_ledger::{RunFilter, events};
use haft_model::{Audience, Code, InvocationId, Stop};
use haft_runtime::Reader;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::{About, Ear, Owners, WireEvent};
use crate::rest::event_cursor::EventCursor;

/// Entries fetched at once, and the size after which a page ends.
const AT_ONCE: usize = 64;
const LARGEST_PAGE: usize = 64 * 1024;

/// Duration of one wait for new entries.
const LOOK: Duration = Duration::from_secs(1);

/// Most cached owners of calls, shared by all.
const MOST_KNOWN: usize = 4096;

/// Events, and the owner of each.
pub(super) struct EventPage {
    events: Vec<(About, Arc<WireEvent>)>,
    /// Its last entry.
    last: u64,
}

/// Most concurrent ledger reads. A crowd at one position waits for the first of it, and shares its
/// page.
const MOST_READING: usize = 4;

/// What all readers of the ledger share.
pub(super) struct Shelf {
    reading: Semaphore,
    /// Pages in use, by the entry before them.
    pages: Mutex<HashMap<Option<u64>, Weak<EventPage>>>,
    owners: Mutex<Owners>,
}

impl Default for Shelf {
    fn default() -> Shelf {
        let reading = Semaphore::new(MOST_READING);
        Shelf { reading, pages: Mutex::default(), owners: Mutex::default() }
    }
}

impl Shelf {
    fn pages(&self) -> MutexGuard<'_, HashMap<Option<u64>, Weak<EventPage>>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn owners(&self) -> MutexGuard<'_, Owners> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, after: Option<u64>, page: &Arc<EventPage>) {
        let mut pages = self.pages();
        if pages.len() >= 64 {
            pages.retain(|_, page| page.strong_count() > 0);
        }
        pages.insert(after, Arc::downgrade(page));
    }

    /// Size of the pages in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let size =
            |page: &EventPage| page.events.iter().map(|(_, told)| told.frame.len()).sum::<usize>();
        self.pages().values().filter_map(Weak::upgrade).map(|page| size(&page)).sum()
    }
}

/// A page as one subscriber sees it. It holds the page until its last event, so that others at the
/// same position share it.
pub(in crate::rest) struct SubscriberPage {
    page: Arc<EventPage>,
    ear: Ear,
    at: usize,
}

impl Iterator for SubscriberPage {
    type Item = Arc<WireEvent>;

    fn next(&mut self) -> Option<Arc<WireEvent>> {
        loop {
            let (about, told) = self.page.events.get(self.at)?;
            self.at += 1;
            if self.ear.hears(about) {
                return Some(told.clone());
            }
        }
    }
}

/// The ledger from an entry on.
pub(in crate::rest) struct Pages {
    reader: Reader,
    after: Option<u64>,
    shelf: Arc<Shelf>,
}

impl Pages {
    pub(super) fn new(reader: Reader, after: Option<u64>, shelf: Arc<Shelf>) -> Pages {
        Pages { reader, after, shelf }
    }

    /// The visible part of the next page; `None` where there are no more.
    pub(in crate::rest) async fn heard_by(
        &mut self,
        ear: &Ear,
    ) -> Result<Option<SubscriberPage>, Stop> {
        Ok(self.turn().await?.map(|page| SubscriberPage { page, ear: ear.clone(), at: 0 }))
    }

    /// The next events; empty where none came for a while.
    pub(super) async fn wait(&mut self) -> Result<Vec<(About, Arc<WireEvent>)>, Stop> {
        match self.turn().await? {
            Some(page) => Ok(page.events.clone()),
            None => self.reader.wait_past(self.after, LOOK).await.map(|_| Vec::new()),
        }
    }

    async fn turn(&mut self) -> Result<Option<Arc<EventPage>>, Stop> {
        let page = match self.shared() {
            Some(page) => page,
            None => {
                // The semaphore is never closed.
                let _reading = self.shelf.reading.acquire().await.ok();
                match self.shared() {
                    Some(page) => page,
                    None => {
                        let Some(page) = self.read().await? else { return Ok(None) };
                        let page = Arc::new(page);
                        self.shelf.put(self.after, &page);
                        page
                    }
                }
            }
        };
        self.after = Some(page.last);
        Ok(Some(page))
    }

    /// The next page, where another reader holds it already.
    fn shared(&self) -> Option<Arc<EventPage>> {
        self.shelf.pages().get(&self.after).and_then(Weak::upgrade)
    }

    async fn read(&self) -> Result<Option<EventPage>, Stop> {
        let entries = self.reader.entries(self.after, AT_ONCE).await?;
        let (mut page, mut bytes) = (Vec::new(), 0);
        let mut end = None;
        for entry in &entries {
            if bytes >= LARGEST_PAGE {
                break;
            }
            end = Some(entry.seq);
            let unread = |fault| Stop::new(Code::Internal, format!("entry {}: {fault}", entry.seq));
            let records = events(entry).map_err(unread)?;
            let last = records.len().saturating_sub(1);
            for (index, record) in records.into_iter().enumerate() {
                let Some(about) = self.about(&record).await? else { continue };
                // Programs read it that pass it on to models.
                let record = Audience::Agent.value(record);
                let place =
                    EventCursor { entry: entry.seq, within: (index != last).then_some(index) };
                let class = record.get("event_type").and_then(Value::as_str).unwrap_or_default();
                // A JSON record is one line.
                let frame = format!("id: {place}\nevent: {class}\ndata: {record}\n\n");
                bytes += frame.len();
                page.push((about, Arc::new(WireEvent { place, frame: Bytes::from(frame) })));
            }
        }
        Ok(end.map(|last| EventPage { events: page, last }))
    }

    /// The owner of a record; `None` where its call is missing.
    async fn about(&self, record: &Value) -> Result<Option<About>, Stop> {
        let text = |name: &str| record.get(name).and_then(Value::as_str);
        let Some(id) = text("invocation_id").map(InvocationId::from) else {
            return Ok(Some(About { tenant: text("tenant").map(Arc::from), caller: None }));
        };
        if let Some(owner) = self.shelf.owners().get(&id) {
            return Ok(owner.clone());
        }
        let filter = RunFilter { id: Some(id.clone()), ..RunFilter::default() };
        let run = self.reader.runs(&filter).await?.into_iter().next();
        let owner = run
            .map(|run| About { tenant: Some(run.tenant.into()), caller: Some(run.actor.into()) });
        let mut owners = self.shelf.owners();
        if owners.len() >= MOST_KNOWN {
            owners.clear();
        }
        owners.insert(id, owner.clone());
        Ok(owner)
    }
}
