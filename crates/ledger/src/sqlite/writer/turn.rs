//! Write transaction: what each task does in it, and how an entry joins the hash chain.

use haft_model::{Digest, InvocationId};
use rusqlite::{Connection, OptionalExtension, params};

use super::sweep;
use crate::chain::{Head, Loose};
use crate::line::EntryLine;
use crate::sqlite::payloads::{PayloadFolder, fault, pack, unpack};
use crate::sqlite::task::{Ready, Task, TaskOutcome};
use crate::sqlite::{apply, identity, lists};
use crate::{Disclosure, Error, Fence, Guard, LeaseClaim, Receipt};

/// The head of the chain, read from the table.
pub(super) fn last_link(db: &Connection) -> rusqlite::Result<Option<Head>> {
    let text = "SELECT line FROM entries ORDER BY seq DESC LIMIT 1";
    let line: Option<String> = db.prepare_cached(text)?.query_row([], |r| r.get(0)).optional()?;
    let Some(line) = line else { return Ok(None) };
    let line = EntryLine::parse(&line).map_err(|cause| fault(cause.to_string()))?;
    Ok(Some(Head { seq: line.seq, hash: line.hash, ts: line.ts }))
}

/// One open transaction.
pub(super) struct Transaction<'a> {
    pub(super) db: &'a Connection,
    pub(super) files: &'a PayloadFolder,
    pub(super) head: Option<Head>,
    pub(super) bytes: usize,
    /// The key that the next entry names, because the log does not name it yet.
    pub(super) names: Option<&'a str>,
}

impl Transaction<'_> {
    /// Runs one task.
    pub(super) fn perform(&mut self, task: &Task) -> rusqlite::Result<TaskOutcome> {
        match task {
            Task::Append(ready, _) if !ready.begins() => Ok(TaskOutcome::Nothing),
            Task::Append(ready, _) => self.append(ready).map(TaskOutcome::Appended),
            // Prepared before the transaction began.
            Task::Queued(_) => Ok(TaskOutcome::Nothing),
            // A lease whose requester stopped waiting would block a call for nothing.
            Task::Lease { answer, .. } if answer.is_closed() => Ok(TaskOutcome::Nothing),
            Task::Lease { id, owner, times: [now, until], .. } => {
                let token = apply::lease(self.db, id.as_str(), owner, now, until)?;
                Ok(TaskOutcome::Leased(token.map(Fence)))
            }
            Task::Renew { id, fence, until, .. } => {
                apply::renew(self.db, id.as_str(), fence.0, until).map(TaskOutcome::Renewed)
            }
            Task::Release { leases, .. } => {
                let mut each = leases.iter();
                each.try_for_each(|(id, fence, disclosure)| {
                    apply::release(self.db, id.as_str(), fence.0, *disclosure)
                })?;
                Ok(TaskOutcome::Nothing)
            }
            Task::Forget { id, digest, loose, .. } => {
                self.forget(id, digest, loose).map(TaskOutcome::Forgot)
            }
            Task::Flush(_) | Task::Probe(_) => Ok(TaskOutcome::Nothing),
        }
    }

    fn append(&mut self, ready: &Ready) -> rusqlite::Result<Result<Receipt, Error>> {
        let id = ready.invocation.as_ref();
        for guard in &ready.guards {
            if !apply::holds(self.db, id, guard)? {
                return Ok(Err(Error::Forbidden(guard.clone())));
            }
        }
        // Another caller may have had the same bytes forgotten since they were written.
        if let Some((digest, _)) =
            ready.files.iter().find(|(digest, s)| !self.files.has(digest, *s))
        {
            let cause = format!("the payload `{digest}` was forgotten meanwhile");
            return Ok(Err(Error::Unwritable { cause }));
        }
        let fence = match (&ready.claim, id) {
            (Some(claim), Some(id)) => {
                let LeaseClaim { owner, now, until } = claim;
                match apply::lease(self.db, id.as_str(), owner, now, until)? {
                    Some(token) => Some(Fence(token)),
                    None => return Ok(Err(Error::Forbidden(Guard::Free))),
                }
            }
            (Some(_) | None, _) => None,
        };
        if let (Some(Fence(token)), Some(id)) = (ready.release, id) {
            apply::release(self.db, id.as_str(), token, Disclosure::Outcome)?;
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
        let names = self.names.take();
        let (line, head) = loose.link(self.head.as_ref(), names);
        if let Some(key) = names {
            identity::set_key(self.db, key)?;
        }
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
        for (seq, packed) in lists::packed(self.db, id)? {
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

    /// Marks a payload file for deletion once no other entry needs it. The caller learns that the
    /// bytes are gone after that.
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
                sweep::doom(self.db, digest, sealed)?;
            }
        }
        Ok(gone)
    }
}
