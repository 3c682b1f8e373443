//! One reader of the ledger for everybody who follows it, so that a thousand who wait cost what one does.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use haft_ledger::{RunFilter, events};
use haft_model::{Actor, Code, InvocationId, Stop};
use haft_runtime::Reader;
use serde_json::Value;
use tokio::sync::{Mutex, broadcast};

use super::place::Place;

/// How many entries are fetched at once, and how many events wait for those who are told last.
const AT_ONCE: usize = 256;
const MOST_WAITING: usize = 256;

/// How long one look for news lasts.
const LOOK: Duration = Duration::from_secs(1);

/// How many calls' owners are remembered.
const MOST_KNOWN: usize = 4096;

/// An event as everybody hears it.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) place: Place,
    pub(super) class: String,
    pub(super) record: String,
}

/// What somebody may hear of: of their tenant all, or only what they called themselves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ear {
    tenant: String,
    caller: Option<String>,
}

impl Ear {
    pub(super) fn of(actor: &Actor) -> Ear {
        let caller = (!actor.sees_all()).then(|| actor.id.to_string());
        Ear { tenant: actor.tenant.to_string(), caller }
    }

    fn hears(&self, of: &About) -> bool {
        let theirs = of.tenant.as_ref().is_none_or(|tenant| *tenant == self.tenant);
        // What is nobody's call is the business of those who see all.
        theirs && self.caller.as_ref().is_none_or(|caller| of.caller.as_ref() == Some(caller))
    }
}

/// Whose business an event is.
#[derive(Clone, Debug, Default)]
struct About {
    tenant: Option<String>,
    caller: Option<String>,
}

/// Those who follow, by what they may hear.
#[derive(Default)]
pub(crate) struct Bulletin(Arc<Mutex<Followers>>);

#[derive(Default)]
struct Followers {
    ears: HashMap<Ear, broadcast::Sender<Arc<Told>>>,
    is_read: bool,
}

impl Bulletin {
    /// What comes from now on: an entry that is not in the ledger yet will be heard.
    pub(super) async fn join(
        &self,
        ear: Ear,
        reader: &Reader,
    ) -> Result<broadcast::Receiver<Arc<Told>>, Stop> {
        let mut followers = self.0.lock().await;
        if !followers.is_read {
            let last = reader.wait_past(None, Duration::ZERO).await?;
            tokio::spawn(read_out(self.0.clone(), Pages::new(reader.clone(), last)));
            followers.is_read = true;
        }
        let told = followers.ears.entry(ear);
        Ok(told.or_insert_with(|| broadcast::channel(MOST_WAITING).0).subscribe())
    }
}

/// Tells what comes to whoever may hear it, until nobody follows or the ledger cannot be read.
async fn read_out(followers: Arc<Mutex<Followers>>, mut pages: Pages) {
    loop {
        let page = pages.wait().await;
        let mut followers = followers.lock().await;
        let Ok(page) = page else {
            // Their streams end, and they come back with the last that they heard.
            *followers = Followers::default();
            return;
        };
        for (about, told) in page {
            let ears = followers.ears.iter().filter(|(ear, _)| ear.hears(&about));
            ears.for_each(|(_, ear)| drop(ear.send(told.clone())));
        }
        followers.ears.retain(|_, ear| ear.receiver_count() > 0);
        if followers.ears.is_empty() {
            followers.is_read = false;
            return;
        }
    }
}

/// The ledger page by page, as events.
pub(super) struct Pages {
    reader: Reader,
    after: Option<u64>,
    /// Whose calls they are, as far as it was looked up.
    owners: HashMap<InvocationId, Option<About>>,
}

/// Events, and whose business each is.
type Page = Vec<(About, Arc<Told>)>;

impl Pages {
    pub(super) fn new(reader: Reader, after: Option<u64>) -> Pages {
        Pages { reader, after, owners: HashMap::new() }
    }

    /// What an ear may hear of the next page; none where there are no more.
    pub(super) async fn heard_by(&mut self, ear: &Ear) -> Result<Option<Vec<Arc<Told>>>, Stop> {
        let heard = |page: Page| {
            page.into_iter().filter(|(about, _)| ear.hears(about)).map(|(_, told)| told).collect()
        };
        Ok(self.turn().await?.map(heard))
    }

    /// The next page; an empty one where none came for a while.
    async fn wait(&mut self) -> Result<Page, Stop> {
        match self.turn().await? {
            Some(page) => Ok(page),
            None => self.reader.wait_past(self.after, LOOK).await.map(|_| Page::new()),
        }
    }

    async fn turn(&mut self) -> Result<Option<Page>, Stop> {
        let entries = self.reader.entries(self.after, AT_ONCE).await?;
        let mut page = Page::new();
        for entry in &entries {
            self.after = Some(entry.seq);
            let unread = |fault| Stop::new(Code::Internal, format!("entry {}: {fault}", entry.seq));
            let records = events(entry).map_err(unread)?;
            let last = records.len().saturating_sub(1);
            for (index, record) in records.into_iter().enumerate() {
                let Some(about) = self.about(&record).await? else { continue };
                let place = Place { entry: entry.seq, within: (index != last).then_some(index) };
                let class = record.get("event_type").and_then(Value::as_str).unwrap_or_default();
                let told = Told { place, class: class.to_owned(), record: record.to_string() };
                page.push((about, Arc::new(told)));
            }
        }
        Ok((!entries.is_empty()).then_some(page))
    }

    /// Whose business a record is; nobody's where it is of a call that is not there.
    async fn about(&mut self, record: &Value) -> Result<Option<About>, Stop> {
        let text = |name: &str| record.get(name).and_then(Value::as_str);
        let Some(id) = text("invocation_id").map(InvocationId::from) else {
            return Ok(Some(About { tenant: text("tenant").map(str::to_owned), caller: None }));
        };
        if let Some(owner) = self.owners.get(&id) {
            return Ok(owner.clone());
        }
        let filter = RunFilter { id: Some(id.clone()), ..RunFilter::default() };
        let run = self.reader.runs(&filter).await?.into_iter().next();
        let owner = run.map(|run| About { tenant: Some(run.tenant), caller: Some(run.actor) });
        if self.owners.len() >= MOST_KNOWN {
            self.owners.clear();
        }
        self.owners.insert(id, owner.clone());
        Ok(owner)
    }
}
