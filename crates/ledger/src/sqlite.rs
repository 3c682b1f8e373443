//! SQLite store: one database file, with large payloads beside it. Several processes may share it.

mod apply;
mod asking;
pub(crate) mod busy;
pub(crate) mod identity;
pub(crate) mod lists;
pub(crate) mod payloads;
mod placing;
mod readers;
mod rebuild;
pub(crate) mod schema;
mod task;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use haft_model::{Digest, DualTime, InvocationId, KeySource, StandingAnswer, Token};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

pub(crate) use self::apply::found_by;
use self::busy::Busy;
use self::placing::Placing;
use self::readers::Readers;
pub use self::rebuild::rebuild_store;
use self::task::{Ready, Task};
use self::writer::{MemoFile, Writer};
use crate::chain::Loose;
use crate::{
    BoxFuture, Disclosure, Draft, Error, Fence, IntentRecord, LedgerEntry, LogHead, OpenUndoing,
    QuestionFilter, QuestionRecord, Receipt, Run, RunFilter, Store, StoreHealth, Use, UseFilter,
    Wait,
};

/// Poll interval for entries of other processes.
const GLANCE: Duration = Duration::from_millis(50);

/// Most accepted entries that may wait for a store that is down; further appends are refused.
const MOST_PENDING: u64 = 4096;

/// Default of `open_timeout`.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Location and tuning of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// Path of the database. Keys and the signed checkpoint lie in its folder.
    pub db: PathBuf,
    /// The folder of large payloads.
    pub payloads: PathBuf,
    /// Capacity of the writer's queue; appends beyond it wait (backpressure).
    pub queue: usize,
    /// Most tasks in one transaction.
    pub batch: usize,
    /// The largest payload, in bytes, that lies in the database.
    pub inline: usize,
    /// Most concurrent readers.
    pub readers: usize,
    /// How long opening waits for a store that another program holds locked.
    pub open_timeout: Duration,
}

impl SqliteOptions {
    /// A store in a folder of its own, with default tuning.
    pub fn at(folder: impl AsRef<Path>) -> SqliteOptions {
        let folder = folder.as_ref();
        SqliteOptions {
            db: folder.join("ledger.db"),
            payloads: folder.join("payloads"),
            queue: 1024,
            batch: 512,
            inline: 32 * 1024,
            readers: 4,
            open_timeout: OPEN_TIMEOUT,
        }
    }

    /// The folder of the database.
    pub(crate) fn folder(&self) -> PathBuf {
        let parent = self.db.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or(Path::new(".")).to_owned()
    }
}

/// A store on disk. Dropping it writes and signs what is left, which may take a moment.
#[derive(Debug)]
pub struct SqliteStore {
    options: SqliteOptions,
    tasks: Option<mpsc::Sender<Task>>,
    thread: Option<JoinHandle<()>>,
    readers: Arc<Readers>,
    placing: Placing,
    last: watch::Receiver<Option<u64>>,
    busy: Busy,
    identity: String,
    key: String,
    memo: MemoFile,
}

impl SqliteStore {
    /// Opens or creates a store; creates missing folders too.
    pub fn open(options: SqliteOptions) -> Result<SqliteStore, Error> {
        let unopenable =
            |cause: String| Error::Unopenable { place: options.db.display().to_string(), cause };
        for folder in [&options.folder(), &options.payloads] {
            payloads::make_folder(folder).map_err(|fault| unopenable(fault.to_string()))?;
        }
        let (tell, last) = watch::channel(None);
        let (tasks, asked) = mpsc::channel(options.queue.max(1));
        let placing = Placing::new(&options);
        let (busy, memo) = (Busy::opening(options.open_timeout), MemoFile::default());
        let writer = Writer::open(&options, placing.clone(), tell, busy.clone(), memo.clone());
        let writer = writer.map_err(unopenable)?;
        busy.opened();
        let (identity, key) = (writer.identity().to_owned(), writer.key().to_owned());
        let thread = std::thread::Builder::new()
            .name("haft-ledger".to_owned())
            .spawn(move || writer.run(asked))
            .map_err(|fault| unopenable(fault.to_string()))?;
        Ok(SqliteStore {
            readers: Arc::new(Readers::new(&options)),
            placing,
            tasks: Some(tasks),
            thread: Some(thread),
            last,
            busy,
            identity,
            key,
            memo,
            options,
        })
    }

    /// Location and tuning of the store.
    pub fn options(&self) -> &SqliteOptions {
        &self.options
    }

    /// Identity of the store: a random name from its creation.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The fingerprint of the key that signs checkpoints here.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Copies signed heads into a memo from now on: on close, and every thousand entries. A memo of
    /// another store, and one whose head this log does not hold, stays as it is.
    pub fn remember_in(&self, file: PathBuf) {
        // The first file stays: a store has one memo.
        let _named = self.memo.set(file);
    }

    /// The furthest signed head of its log.
    pub async fn signed_head(&self) -> Result<Option<LogHead>, Error> {
        self.readers.read(lists::signed_head).await
    }

    /// Writes and signs what is left, and reports whether that succeeded.
    pub async fn close(self) -> Result<(), Error> {
        let flushed = self.flush().await;
        // Joining the thread here would block the other tasks of this runtime thread.
        let closed = tokio::task::spawn_blocking(move || drop(self)).await;
        flushed.and(closed.map_err(|_| Error::Closed))
    }

    async fn ready(&self, draft: Draft) -> Result<Ready, Error> {
        if self.placing.is_quick(&draft) {
            return self.placing.ready(draft);
        }
        let placing = self.placing.clone();
        let ready = tokio::task::spawn_blocking(move || placing.ready(draft)).await;
        let ready = ready.map_err(|fault| Error::Unwritable { cause: fault.to_string() });
        ready.flatten().map_err(|fault| self.failed(fault))
    }

    async fn news(&self, seq: Option<u64>, until: Instant) -> Result<Option<u64>, Error> {
        let mut last = self.last.clone();
        loop {
            let known = *last.borrow_and_update();
            if known > seq {
                return Ok(known);
            }
            let stored = self.readers.read_here(lists::last)?;
            let now = Instant::now();
            if stored > seq || now >= until {
                return Ok(stored);
            }
            let pause = GLANCE.min(until - now);
            // A writer thread that ended sends no notification; polling continues.
            if let Ok(Err(_)) = tokio::time::timeout(pause, last.changed()).await {
                tokio::time::sleep(pause).await;
            }
        }
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.busy.closing.store(true, Ordering::Relaxed);
        drop(self.tasks.take());
        self.wake();
        // The writing connection closes last: SQLite checkpoints on the last close.
        self.readers.close();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Store for SqliteStore {
    fn health(&self) -> &StoreHealth {
        &self.busy.health
    }

    fn append(&self, draft: Draft, wait: Wait) -> BoxFuture<'_, Result<Receipt, Error>> {
        Box::pin(async move {
            if wait == Wait::Queue && self.busy.health.pending() >= MOST_PENDING {
                return Err(self.late());
            }
            if wait == Wait::Queue && self.placing.is_quick(&draft) {
                // A caller that does not wait does not pay for the writing either.
                self.queue(Task::Queued(Box::new(draft))).await?;
                return Ok(Receipt { seq: None, fence: None });
            }
            let ready = Box::new(self.ready(draft).await?);
            match wait {
                Wait::Disk => self.ask(|answer| Task::Append(ready, Some(answer))).await,
                Wait::Until(until) => self.ask_until(ready, until.into()).await,
                Wait::Queue => {
                    self.queue(Task::Append(ready, None)).await?;
                    Ok(Receipt { seq: None, fence: None })
                }
            }
        })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(self.ask(Task::Flush))
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(self.ask(Task::Probe))
    }

    fn entries(
        &self,
        after: Option<u64>,
        most: usize,
    ) -> BoxFuture<'_, Result<Vec<LedgerEntry>, Error>> {
        Box::pin(self.readers.read(move |db| lists::entries(db, after, most)))
    }

    fn wait_past(
        &self,
        seq: Option<u64>,
        at_most: Duration,
    ) -> BoxFuture<'_, Result<Option<u64>, Error>> {
        Box::pin(self.news(seq, Instant::now() + at_most))
    }

    fn story<'a>(&'a self, id: &'a InvocationId) -> BoxFuture<'a, Result<Vec<LedgerEntry>, Error>> {
        let id = id.clone();
        Box::pin(self.readers.read(move |db| lists::story(db, &id)))
    }

    fn payload<'a>(
        &'a self,
        id: &'a InvocationId,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, Error>> {
        let (id, digest, placing) = (id.clone(), digest.clone(), self.placing.clone());
        Box::pin(self.readers.read(move |db| placing.read(db, &id, &digest)))
    }

    fn forget<'a>(
        &'a self,
        id: &'a InvocationId,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            let loose = Box::new(Loose::forgetting(id.as_str(), digest)?);
            let (id, digest) = (id.clone(), digest.clone());
            self.ask(|answer| Task::Forget { id, digest, loose, answer }).await
        })
    }

    fn runs<'a>(&'a self, filter: &'a RunFilter) -> BoxFuture<'a, Result<Vec<Run>, Error>> {
        let filter = filter.clone();
        Box::pin(self.readers.read(move |db| lists::runs(db, &filter)))
    }

    fn questions<'a>(
        &'a self,
        filter: &'a QuestionFilter,
    ) -> BoxFuture<'a, Result<Vec<QuestionRecord>, Error>> {
        let filter = filter.clone();
        Box::pin(self.readers.read(move |db| lists::questions(db, &filter)))
    }

    fn standing<'a>(
        &'a self,
        tenant: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<StandingAnswer>, Error>> {
        // A short list that every call reads: sending it to another thread costs more.
        Box::pin(async move { self.readers.read_here(|db| lists::standing(db, tenant)) })
    }

    fn tokens(&self) -> BoxFuture<'_, Result<Vec<Token>, Error>> {
        Box::pin(self.readers.read(lists::tokens))
    }

    fn token<'a>(&'a self, hash: &'a Digest) -> BoxFuture<'a, Result<Option<Token>, Error>> {
        // One row by its key, read by every request: sending it to another thread costs more.
        Box::pin(async move { self.readers.read_here(|db| lists::token(db, hash)) })
    }

    fn uses<'a>(&'a self, filter: &'a UseFilter) -> BoxFuture<'a, Result<Vec<Use>, Error>> {
        let filter = filter.clone();
        Box::pin(self.readers.read(move |db| lists::uses(db, &filter)))
    }

    fn intent<'a>(
        &'a self,
        intent: &'a Digest,
        source: KeySource,
    ) -> BoxFuture<'a, Result<Option<IntentRecord>, Error>> {
        // One row by its key, read by every write: sending it to another thread costs more.
        Box::pin(async move { self.readers.read_here(|db| lists::intent(db, intent, source)) })
    }

    fn undoings(&self) -> BoxFuture<'_, Result<Vec<OpenUndoing>, Error>> {
        Box::pin(self.readers.read(lists::undoings))
    }

    fn lease<'a>(
        &'a self,
        id: &'a InvocationId,
        owner: &'a str,
        now: DualTime,
        until: DualTime,
    ) -> BoxFuture<'a, Result<Option<Fence>, Error>> {
        let (id, owner, times) = (id.clone(), owner.to_owned(), [now, until]);
        Box::pin(self.ask(move |answer| Task::Lease { id, owner, times, answer }))
    }

    fn renew<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
        until: DualTime,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        let id = id.clone();
        Box::pin(self.ask(move |answer| Task::Renew { id, fence, until, answer }))
    }

    fn release_all(
        &self,
        leases: Vec<(InvocationId, Fence, Disclosure)>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(self.ask(move |answer| Task::Release { leases, answer }))
    }

    fn release<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
        disclosure: Disclosure,
    ) -> BoxFuture<'a, Result<(), Error>> {
        self.release_all(vec![(id.clone(), fence, disclosure)])
    }
}
