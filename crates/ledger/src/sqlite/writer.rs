//! Group commit: one writer thread turns all queued tasks into one transaction.

mod cleaner;
mod file;
mod memory;
mod sweep;
mod turn;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, params};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, watch};

use self::cleaner::Cleaner;
use self::file::StoreFile;
use self::memory::Checkpoint;
pub(crate) use self::memory::MemoFile;
use self::turn::{Transaction, last_link};
use super::busy::Busy;
use super::payloads::{PayloadFolder, fault};
use super::placing::Placing;
use super::task::{Task, TaskOutcome};
use super::{identity, schema};
use crate::StoreHealth;
use crate::chain::Head;
use crate::signed_checkpoint::{HEAD, SignedHead, Signer};

/// How long drafts without a waiting caller may wait for others, so that they share a transaction.
const LINGER: Duration = Duration::from_millis(5);

/// Retry interval of a store that is down, unless a task arrives.
const RETRY: Duration = Duration::from_secs(1);

/// Writes a meaningless probe row.
const PROBE: &str = "INSERT INTO marks(name, value) VALUES ('probe', 1)
    ON CONFLICT(name) DO UPDATE SET value = value + 1";

/// After this many entries the head is signed, even without a flush.
const SIGNED_EVERY: u64 = 1000;

/// State of the writer thread.
pub(crate) struct Writer {
    db: Connection,
    files: PayloadFolder,
    placing: Placing,
    folder: PathBuf,
    signer: Signer,
    cleaner: Cleaner,
    last: watch::Sender<Option<u64>>,
    most: usize,
    /// The head of the chain, and the data version at which it was read.
    known: Option<(i64, Option<Head>)>,
    /// Sequence number of the last signed head.
    signed: Option<u64>,
    /// Why an entry without a waiting caller was lost.
    lost: Option<String>,
    /// Accepted entries that could not be written yet, oldest first. It is short: while the store
    /// is down no calls are accepted.
    backlog: Vec<Task>,
    health: Arc<StoreHealth>,
    busy: Busy,
    file: StoreFile,
    identity: String,
    /// Whether the log names the key that signs it here.
    named: bool,
    checkpoint: Checkpoint,
}

/// Outcome of a transaction.
struct CommittedBatch {
    done: Vec<TaskOutcome>,
    head: Option<Head>,
    version: i64,
    signed: Option<SignedHead>,
    bytes: usize,
    named: bool,
}

impl Writer {
    /// Opens the store, and reads the head of the chain.
    pub(crate) fn open(
        options: &super::SqliteOptions,
        placing: Placing,
        last: watch::Sender<Option<u64>>,
        busy: Busy,
        memo: MemoFile,
    ) -> Result<Writer, String> {
        let folder = options.folder();
        let db = schema::writer(&options.db, &busy)?;
        let failed = |fault: rusqlite::Error| fault.to_string();
        let seq = |text: &str| db.query_row(text, [], |row| row.get::<_, Option<i64>>(0));
        let end = seq("SELECT max(seq) FROM entries").map_err(failed)?;
        let signed = seq("SELECT max(seq) FROM heads").map_err(failed)?;
        let identity = identity::store_or_new(&db)?;
        last.send_replace(end.and_then(|seq| u64::try_from(seq).ok()));
        Ok(Writer {
            files: PayloadFolder::new(&options.payloads),
            placing,
            signer: Signer::load_or_make(&folder).map_err(|fault| fault.to_string())?,
            cleaner: Cleaner::start(&options.db, &db, &busy)?,
            folder,
            last,
            most: options.batch.max(1),
            known: None,
            signed: signed.and_then(|seq| u64::try_from(seq).ok()),
            lost: None,
            backlog: Vec::new(),
            health: busy.health.clone(),
            file: StoreFile::opened(&options.db)?,
            identity,
            named: false,
            checkpoint: Checkpoint::new(memo),
            busy,
            db,
        })
    }

    /// The store's identity.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// The fingerprint of the key that signs here.
    pub(crate) fn key(&self) -> &str {
        self.signer.fingerprint()
    }

    /// Runs until every sender is dropped, then signs the head.
    pub(crate) fn run(mut self, mut tasks: mpsc::Receiver<Task>) {
        // Retries the sweep of a process that died; if it fails, the next process retries.
        drop(self.sweep());
        let mut batch = Vec::with_capacity(self.most);
        while self.receive(&mut batch, &mut tasks) {
            self.linger(&mut batch, &mut tasks);
            self.keep(&mut batch);
        }
        let (answer, _nobody) = tokio::sync::oneshot::channel();
        self.keep(&mut vec![Task::Flush(answer)]);
        self.health.lose(self.backlog.len());
        self.health.set_pending(0);
        self.checkpoint.advance(&self.db, &self.identity);
    }

    /// Waits for tasks; while the store is down, no longer than until the next retry. False once
    /// every sender is dropped.
    fn receive(&mut self, batch: &mut Vec<Task>, tasks: &mut mpsc::Receiver<Task>) -> bool {
        if self.health.is_up() {
            return tasks.blocking_recv_many(batch, self.most) > 0;
        }
        std::thread::park_timeout(RETRY);
        while batch.len() < self.most {
            match tasks.try_recv() {
                Ok(task) => batch.push(task),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return !batch.is_empty(),
            }
        }
        true
    }

    /// Lingers for more tasks where no caller waits for the batch. A caller that waits for a reply
    /// wakes the thread.
    fn linger(&self, batch: &mut Vec<Task>, tasks: &mut mpsc::Receiver<Task>) {
        let hurried = tasks.is_closed() || !self.health.is_up();
        if hurried || !batch.iter().all(Task::is_unheard) {
            return;
        }
        std::thread::park_timeout(LINGER);
        while batch.len() < self.most
            && let Ok(task) = tasks.try_recv()
        {
            batch.push(task);
        }
    }

    /// Prepares the drafts without a waiting caller. One that cannot be prepared is lost, and the
    /// next flush reports it; one whose key is not available yet is deferred.
    fn make_ready(&mut self, batch: &mut Vec<Task>) {
        let placing = &self.placing;
        let (lost, health, backlog) = (&mut self.lost, &self.health, &mut self.backlog);
        let give_way = giving_way(batch);
        let made = batch.drain(..).filter_map(|task| match task {
            Task::Queued(draft) => {
                give_way();
                if let Err(fault) = placing.has_keys_for(&draft) {
                    health.fail(fault.to_string());
                    backlog.push(Task::Queued(draft));
                    return None;
                }
                match placing.ready(*draft) {
                    Ok(ready) => Some(Task::Append(Box::new(ready), None)),
                    Err(fault) => {
                        health.lose(1);
                        *lost = Some(fault.to_string());
                        None
                    }
                }
            }
            task => Some(task),
        });
        *batch = made.collect();
    }

    /// Group commit: runs a batch of tasks in one transaction and replies to all callers. The
    /// backlog goes first.
    fn keep(&mut self, batch: &mut Vec<Task>) {
        self.backlog.append(batch);
        std::mem::swap(&mut self.backlog, batch);
        self.make_ready(batch);
        match self.commit(batch) {
            Ok(kept) => self.told(batch, kept),
            Err(fault) => {
                self.known = None;
                match (is_of_the_draft(&fault), batch.len()) {
                    // One bad entry does not fail the others: each is tried alone.
                    (true, 2..) => std::mem::take(batch)
                        .into_iter()
                        .for_each(|task| self.keep(&mut vec![task])),
                    (true, _) => self.given_up(batch, &fault.to_string()),
                    (false, _) => self.put_off(batch, &fault.to_string()),
                }
            }
        }
    }

    /// Gives up a draft that no store could accept.
    fn given_up(&mut self, batch: &mut Vec<Task>, cause: &str) {
        let unheard = batch.iter().filter(|task| task.is_unheard()).count();
        self.health.lose(unheard);
        if unheard > 0 {
            self.lost = Some(cause.to_owned());
        }
        batch.drain(..).for_each(|task| task.fail(cause));
    }

    /// Replies to waiting callers that nothing was written, and keeps the accepted entries as a
    /// backlog.
    fn put_off(&mut self, batch: &mut Vec<Task>, cause: &str) {
        let (accepted, heard): (Vec<Task>, Vec<Task>) = batch.drain(..).partition(Task::is_unheard);
        self.backlog.extend(accepted);
        // A caller that learns of the failure finds the store down, and the backlog counted.
        self.health.set_pending(self.backlog.len());
        self.health.fail(cause);
        heard.into_iter().for_each(|task| task.fail(cause));
    }

    fn told(&mut self, batch: &mut Vec<Task>, kept: CommittedBatch) {
        if let Some(signed) = kept.signed {
            self.signed = Some(signed.head.seq);
            // The table has the head as well, so a failed file write loses nothing.
            let text = haft_model::canonical(&signed);
            drop(haft_seal::replace(&self.folder.join(HEAD), &text));
            if self.checkpoint.is_due(signed.head.seq, SIGNED_EVERY) {
                self.checkpoint.advance(&self.db, &self.identity);
            }
        }
        let seq = kept.head.as_ref().map(|head| head.seq);
        self.known = Some((kept.version, kept.head));
        self.named |= kept.named;
        self.health.set_pending(self.backlog.len());
        if self.backlog.is_empty() {
            self.health.recover();
        }
        let forgot = kept.done.iter().any(|done| matches!(done, TaskOutcome::Forgot(true)));
        let swept = if forgot { self.sweep() } else { Ok(()) };
        for (task, done) in batch.drain(..).zip(kept.done) {
            let lost = if task.is_flush() { self.lost.take() } else { None };
            match (lost, &swept) {
                (Some(cause), _) => {
                    task.fail(&format!("something queued before was lost: {cause}"));
                }
                (None, Err(fault)) if matches!(done, TaskOutcome::Forgot(true)) => {
                    task.fail(&format!("it is forgotten, and its file is still there: {fault}"));
                }
                (None, _) => task.finish(done),
            }
        }
        self.last.send_if_modified(|last| {
            let newer = *last < seq;
            *last = (*last).max(seq);
            newer
        });
        if forgot {
            // The write-ahead log still holds the forgotten bytes. If a reader is in the way, the
            // next round truncates it.
            drop(schema::empty_log(&mut self.db, &self.busy));
        }
        self.cleaner.wrote(kept.bytes);
    }

    fn sweep(&self) -> rusqlite::Result<()> {
        sweep::sweep(&self.db, &self.files, &self.busy)
    }

    fn commit(&mut self, batch: &[Task]) -> rusqlite::Result<CommittedBatch> {
        // INVARIANT: nothing is written into a file that the store's path no longer names.
        self.file.check().map_err(fault)?;
        self.busy.patiently(|| self.db.execute_batch("BEGIN IMMEDIATE"))?;
        let kept = self.perform(batch);
        let kept = kept.and_then(|kept| {
            self.db.execute_batch("COMMIT")?;
            Ok(kept)
        });
        if kept.is_err() {
            // SQLite may have rolled back already, and then reports an error.
            drop(self.db.execute_batch("ROLLBACK"));
        }
        kept
    }

    fn perform(&self, batch: &[Task]) -> rusqlite::Result<CommittedBatch> {
        let version = self.db.prepare_cached("PRAGMA data_version")?.query_row([], |r| r.get(0))?;
        let head = match &self.known {
            Some((known, head)) if *known == version => head.clone(),
            Some(_) | None => last_link(&self.db)?,
        };
        if !self.health.is_up() || batch.iter().any(|task| matches!(task, Task::Probe(_))) {
            // An empty transaction would prove nothing.
            self.db.execute_batch(PROBE)?;
        }
        let key = self.signer.fingerprint();
        let names = !self.named && identity::key(&self.db)?.as_deref() != Some(key);
        let names = names.then_some(key);
        let mut turn = Transaction { db: &self.db, files: &self.files, head, bytes: 0, names };
        let give_way = giving_way(batch);
        let performed = batch.iter().map(|task| {
            give_way();
            turn.perform(task)
        });
        let done: rusqlite::Result<Vec<TaskOutcome>> = performed.collect();
        let done = done?;
        let Transaction { head, bytes, names, .. } = turn;
        let asked = batch.iter().any(Task::is_flush);
        let signed = head.as_ref().filter(|head| self.is_due(head.seq, asked));
        let signed = signed.map(|head| self.signer.sign(head));
        if let Some(signed) = &signed {
            let text = String::from_utf8(haft_model::canonical(signed)).unwrap_or_default();
            self.db
                .prepare_cached("INSERT OR IGNORE INTO heads(seq, head) VALUES (?1, ?2)")?
                .execute(params![signed.head.seq as i64, text])?;
        }
        Ok(CommittedBatch { done, head, version, signed, bytes, named: names.is_none() })
    }

    /// Whether a head is due for signing: the first one, after many, or when a caller asks.
    fn is_due(&self, seq: u64, asked: bool) -> bool {
        match self.signed {
            Some(signed) => (asked && seq > signed) || seq >= signed + SIGNED_EVERY,
            None => true,
        }
    }
}

/// Yields to threads that answer calls, where no caller waits for the batch: a thread that becomes
/// ready on this processor would otherwise wait for all of a batch, while other processors are
/// idle.
fn giving_way(batch: &[Task]) -> impl Fn() + use<> {
    let is_unheard = batch.iter().all(Task::is_unheard);
    move || {
        if is_unheard {
            std::thread::yield_now();
        }
    }
}

/// Whether a fault belongs to the written data, so that another entry would succeed.
fn is_of_the_draft(fault: &rusqlite::Error) -> bool {
    matches!(
        fault.sqlite_error_code(),
        Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig)
    )
}
