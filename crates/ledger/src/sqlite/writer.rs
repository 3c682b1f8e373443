//! The one thread that writes: whatever has queued up meanwhile becomes one transaction.

mod cleaner;

use std::path::PathBuf;
use std::time::Duration;

use haft_model::{Digest, InvocationId};
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::{mpsc, watch};

use self::cleaner::Cleaner;
use super::payloads::{Files, fault, pack, unpack};
use super::placing::Placing;
use super::schema::patiently;
use super::task::{Done, Ready, Task};
use super::{apply, schema};
use crate::chain::{Head, Loose};
use crate::head::{HEAD, SignedHead, Signer};
use crate::line::Line;
use crate::{Claim, Error, Fence, Guard, Receipt};

/// How long drafts that nobody waits for may wait for others, so that they share a transaction.
const LINGER: Duration = Duration::from_millis(5);

/// After so many entries the end of the chain is signed, even if nobody asks for it.
const SIGNED_EVERY: u64 = 1000;

/// What the writing thread works with.
pub(crate) struct Writer {
    db: Connection,
    files: Files,
    placing: Placing,
    folder: PathBuf,
    signer: Signer,
    cleaner: Cleaner,
    last: watch::Sender<Option<u64>>,
    most: usize,
    /// The end of the chain, and the version of the data at which it was that.
    known: Option<(i64, Option<Head>)>,
    /// The last end that was signed.
    signed: Option<u64>,
    /// Why something was lost that nobody waited for.
    lost: Option<String>,
}

/// What a transaction did.
struct Kept {
    done: Vec<Done>,
    head: Option<Head>,
    version: i64,
    signed: Option<SignedHead>,
    bytes: usize,
}

impl Writer {
    /// Opens the store, and reads where the chain ends.
    pub(crate) fn open(
        options: &super::SqliteOptions,
        placing: Placing,
        last: watch::Sender<Option<u64>>,
    ) -> Result<Writer, String> {
        let folder = options.folder();
        let db = schema::writer(&options.db)?;
        let failed = |fault: rusqlite::Error| fault.to_string();
        let seq = |text: &str| db.query_row(text, [], |row| row.get::<_, Option<i64>>(0));
        let end = seq("SELECT max(seq) FROM entries").map_err(failed)?;
        let signed = seq("SELECT max(seq) FROM heads").map_err(failed)?;
        last.send_replace(end.and_then(|seq| u64::try_from(seq).ok()));
        Ok(Writer {
            files: Files::new(&options.payloads),
            placing,
            signer: Signer::load_or_make(&folder).map_err(|fault| fault.to_string())?,
            cleaner: Cleaner::start(&options.db, &db)?,
            folder,
            last,
            most: options.batch.max(1),
            known: None,
            signed: signed.and_then(|seq| u64::try_from(seq).ok()),
            lost: None,
            db,
        })
    }

    /// Works until nobody can ask for anything any more, and signs the end.
    pub(crate) fn run(mut self, mut tasks: mpsc::Receiver<Task>) {
        let mut batch = Vec::with_capacity(self.most);
        while tasks.blocking_recv_many(&mut batch, self.most) > 0 {
            self.linger(&mut batch, &mut tasks);
            self.make_ready(&mut batch);
            self.keep(&mut batch);
        }
        let (answer, _nobody) = tokio::sync::oneshot::channel();
        self.keep(&mut vec![Task::Flush(answer)]);
    }

    /// Waits a moment for more where nobody waits for what is there. Whoever wants an answer wakes the
    /// thread.
    fn linger(&self, batch: &mut Vec<Task>, tasks: &mut mpsc::Receiver<Task>) {
        if tasks.is_closed() || !batch.iter().all(Task::is_unheard) {
            return;
        }
        std::thread::park_timeout(LINGER);
        while batch.len() < self.most
            && let Ok(task) = tasks.try_recv()
        {
            batch.push(task);
        }
    }

    /// Makes lines of the drafts that nobody waits for. One of which no line can be made is lost, and
    /// whoever flushes hears of it.
    fn make_ready(&mut self, batch: &mut Vec<Task>) {
        let placing = &self.placing;
        let lost = &mut self.lost;
        let give_way = giving_way(batch);
        let made = batch.drain(..).filter_map(|task| match task {
            Task::Queued(draft) => {
                give_way();
                match placing.ready(*draft) {
                    Ok(ready) => Some(Task::Append(Box::new(ready), None)),
                    Err(fault) => {
                        *lost = Some(fault.to_string());
                        None
                    }
                }
            }
            task => Some(task),
        });
        *batch = made.collect();
    }

    /// Does a batch of tasks in one transaction, and tells everybody.
    fn keep(&mut self, batch: &mut Vec<Task>) {
        match self.commit(batch) {
            Ok(kept) => self.told(batch, kept),
            Err(fault) => {
                let cause = fault.to_string();
                self.known = None;
                // Whoever asked for a flush in the same batch hears of what was before it.
                let later = batch.iter().rev().take_while(|task| !task.is_flush());
                if later.into_iter().any(Task::is_unheard) {
                    self.lost = Some(cause.clone());
                }
                batch.drain(..).for_each(|task| task.fail(&cause));
            }
        }
    }

    fn told(&mut self, batch: &mut Vec<Task>, kept: Kept) {
        if let Some(signed) = kept.signed {
            self.signed = Some(signed.head.seq);
            // The table has it as well, so a file that cannot be written loses nothing.
            let text = haft_model::canonical(&signed);
            drop(haft_seal::replace(&self.folder.join(HEAD), &text));
        }
        let seq = kept.head.as_ref().map(|head| head.seq);
        self.known = Some((kept.version, kept.head));
        let forgot = kept.done.iter().any(|done| matches!(done, Done::Forgot(true)));
        for (task, done) in batch.drain(..).zip(kept.done) {
            let lost = if task.is_flush() { self.lost.take() } else { None };
            match lost {
                Some(cause) => task.fail(&format!("something queued before was lost: {cause}")),
                None => task.finish(done),
            }
        }
        self.last.send_if_modified(|last| {
            let newer = *last < seq;
            *last = (*last).max(seq);
            newer
        });
        if forgot {
            // The log of changes still holds what was forgotten. If somebody reads from it, the next
            // round takes it away.
            drop(schema::empty_log(&mut self.db));
        }
        self.cleaner.wrote(kept.bytes);
    }

    fn commit(&mut self, batch: &[Task]) -> rusqlite::Result<Kept> {
        patiently(|| self.db.execute_batch("BEGIN IMMEDIATE"))?;
        let kept = self.perform(batch);
        let kept = kept.and_then(|kept| {
            self.db.execute_batch("COMMIT")?;
            Ok(kept)
        });
        if kept.is_err() {
            // SQLite may have rolled back already, and then says so.
            drop(self.db.execute_batch("ROLLBACK"));
        }
        kept
    }

    fn perform(&self, batch: &[Task]) -> rusqlite::Result<Kept> {
        let version = self.db.prepare_cached("PRAGMA data_version")?.query_row([], |r| r.get(0))?;
        let head = match &self.known {
            Some((known, head)) if *known == version => head.clone(),
            Some(_) | None => last_link(&self.db)?,
        };
        let mut turn = Turn { db: &self.db, files: &self.files, head, bytes: 0 };
        let give_way = giving_way(batch);
        let performed = batch.iter().map(|task| {
            give_way();
            turn.perform(task)
        });
        let done: rusqlite::Result<Vec<Done>> = performed.collect();
        let done = done?;
        let Turn { head, bytes, .. } = turn;
        let asked = batch.iter().any(Task::is_flush);
        let signed = head.as_ref().filter(|head| self.is_due(head.seq, asked));
        let signed = signed.map(|head| self.signer.sign(head));
        if let Some(signed) = &signed {
            let text = String::from_utf8(haft_model::canonical(signed)).unwrap_or_default();
            self.db
                .prepare_cached("INSERT OR IGNORE INTO heads(seq, head) VALUES (?1, ?2)")?
                .execute(params![signed.head.seq as i64, text])?;
        }
        Ok(Kept { done, head, version, signed, bytes })
    }

    /// Whether an end has to be signed: the first one, or after many, or when somebody asks.
    fn is_due(&self, seq: u64, asked: bool) -> bool {
        match self.signed {
            Some(signed) => (asked && seq > signed) || seq >= signed + SIGNED_EVERY,
            None => true,
        }
    }
}

/// Lets whoever answers calls go first, where nobody waits for what is written: a thread that becomes
/// ready on the processor of this one waits for all of a batch otherwise, while the others are idle.
fn giving_way(batch: &[Task]) -> impl Fn() + use<> {
    let is_unheard = batch.iter().all(Task::is_unheard);
    move || {
        if is_unheard {
            std::thread::yield_now();
        }
    }
}

/// The end of the chain as the table has it.
fn last_link(db: &Connection) -> rusqlite::Result<Option<Head>> {
    let text = "SELECT line FROM entries ORDER BY seq DESC LIMIT 1";
    let line: Option<String> = db.prepare_cached(text)?.query_row([], |r| r.get(0)).optional()?;
    let Some(line) = line else { return Ok(None) };
    let line = Line::parse(&line).map_err(|cause| fault(cause.to_string()))?;
    Ok(Some(Head { seq: line.seq, hash: line.hash, ts: line.ts }))
}

/// One transaction under way.
struct Turn<'a> {
    db: &'a Connection,
    files: &'a Files,
    head: Option<Head>,
    bytes: usize,
}

impl Turn<'_> {
    fn perform(&mut self, task: &Task) -> rusqlite::Result<Done> {
        match task {
            Task::Append(ready, _) => self.append(ready).map(Done::Appended),
            // Made ready before the transaction began.
            Task::Queued(_) => Ok(Done::Nothing),
            Task::Lease { id, owner, times: [now, until], .. } => {
                let token = apply::lease(self.db, id.as_str(), owner, now, until)?;
                Ok(Done::Leased(token.map(Fence)))
            }
            Task::Renew { id, fence, until, .. } => {
                apply::renew(self.db, id.as_str(), fence.0, until).map(Done::Renewed)
            }
            Task::Release { leases, .. } => {
                let mut each = leases.iter();
                each.try_for_each(|(id, fence)| apply::release(self.db, id.as_str(), fence.0))?;
                Ok(Done::Nothing)
            }
            Task::Forget { id, digest, loose, .. } => {
                self.forget(id, digest, loose).map(Done::Forgot)
            }
            Task::Flush(_) => Ok(Done::Nothing),
        }
    }

    fn append(&mut self, ready: &Ready) -> rusqlite::Result<Result<Receipt, Error>> {
        let id = ready.invocation.as_ref();
        for guard in &ready.guards {
            if !apply::holds(self.db, id, guard)? {
                return Ok(Err(Error::Forbidden(guard.clone())));
            }
        }
        // Somebody may have had the same bytes forgotten since they were written.
        if let Some((digest, _)) =
            ready.files.iter().find(|(digest, s)| !self.files.has(digest, *s))
        {
            let cause = format!("the payload `{digest}` was forgotten meanwhile");
            return Ok(Err(Error::Unwritable { cause }));
        }
        let fence = match (&ready.claim, id) {
            (Some(claim), Some(id)) => {
                let Claim { owner, now, until } = claim;
                match apply::lease(self.db, id.as_str(), owner, now, until)? {
                    Some(token) => Some(Fence(token)),
                    None => return Ok(Err(Error::Forbidden(Guard::Free))),
                }
            }
            (Some(_) | None, _) => None,
        };
        if let (Some(Fence(token)), Some(id)) = (ready.release, id) {
            apply::release(self.db, id.as_str(), token)?;
        }
        let seq = self.link(&ready.loose, id, ready.packed.as_deref())?;
        apply::apply(self.db, seq, id, &ready.changes)?;
        for (digest, sealed) in &ready.files {
            let text =
                "INSERT OR IGNORE INTO files(digest, sealed, invocation) VALUES (?1, ?2, ?3)";
            let id = id.map_or("", InvocationId::as_str);
            self.db.prepare_cached(text)?.execute(params![digest.as_str(), sealed, id])?;
        }
        Ok(Ok(Receipt { seq: Some(seq), fence }))
    }

    fn link(
        &mut self,
        loose: &Loose,
        id: Option<&InvocationId>,
        packed: Option<&[u8]>,
    ) -> rusqlite::Result<u64> {
        let (line, head) = loose.link(self.head.as_ref());
        let text = "INSERT INTO entries(seq, line, invocation, blobs) VALUES (?1, ?2, ?3, ?4)";
        let id = id.map(InvocationId::as_str);
        self.db.prepare_cached(text)?.execute(params![head.seq as i64, line, id, packed])?;
        self.bytes += line.len() + packed.map_or(0, <[u8]>::len);
        let seq = head.seq;
        self.head = Some(head);
        Ok(seq)
    }

    fn forget(
        &mut self,
        id: &InvocationId,
        digest: &Digest,
        loose: &Loose,
    ) -> rusqlite::Result<bool> {
        let in_rows = self.forget_rows(id, digest)?;
        let in_files = self.forget_files(id, digest)?;
        if !in_rows && !in_files {
            return Ok(false);
        }
        let id = Some(id).filter(|id| !id.as_str().is_empty());
        self.link(loose, id, None)?;
        Ok(true)
    }

    fn forget_rows(&self, id: &InvocationId, digest: &Digest) -> rusqlite::Result<bool> {
        let mut gone = false;
        for (seq, packed) in super::lists::packed(self.db, id)? {
            let Some(mut all) = unpack(&packed) else { continue };
            let before = all.len();
            all.retain(|stored| stored.digest != *digest);
            if all.len() < before {
                let text = "UPDATE entries SET blobs = ?2 WHERE seq = ?1";
                self.db.prepare_cached(text)?.execute(params![seq, pack(&all)])?;
                gone = true;
            }
        }
        Ok(gone)
    }

    /// Takes away what nobody else needs. It happens before the transaction is kept, so that whoever
    /// is told that bytes are gone can rely on it.
    fn forget_files(&self, id: &InvocationId, digest: &Digest) -> rusqlite::Result<bool> {
        let mut gone = false;
        for sealed in [false, true] {
            let text = "DELETE FROM files WHERE digest = ?1 AND sealed = ?2 AND invocation = ?3";
            let key = params![digest.as_str(), sealed, id.as_str()];
            if self.db.prepare_cached(text)?.execute(key)? == 0 {
                continue;
            }
            gone = true;
            let text = "SELECT 1 FROM files WHERE digest = ?1 AND sealed = ?2";
            if !self.db.prepare_cached(text)?.exists(params![digest.as_str(), sealed])? {
                let removed = self.files.remove(digest, sealed);
                removed.map_err(|cause| fault(cause.to_string()))?;
            }
        }
        Ok(gone)
    }
}
