//! Checkpoint outside of the store: copies the last signed head into the machine's memo, so that a
//! log which is cut afterwards shows without an earlier check.
//!
//! INVARIANT: a remembered head is replaced only while the log still holds its entry; a log that
//! was cut and grew again never covers its own traces.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rusqlite::{Connection, OptionalExtension};

use crate::line::EntryLine;
use crate::sqlite::lists;
use crate::{LogHead, StoreMemo};

/// Path of the memo; unset until a file is named.
pub(crate) type MemoFile = Arc<OnceLock<PathBuf>>;

/// The memo of one store, as far as the writer advanced it.
#[derive(Default)]
pub(super) struct Checkpoint {
    file: MemoFile,
    /// Sequence number of the last copied head.
    seq: Option<u64>,
}

impl Checkpoint {
    pub(super) fn new(file: MemoFile) -> Checkpoint {
        Checkpoint { file, seq: None }
    }

    /// Whether enough entries were signed since the last copy that the next is due.
    pub(super) fn is_due(&self, seq: u64, every: u64) -> bool {
        self.file.get().is_some() && self.seq.is_none_or(|known| seq >= known + every)
    }

    /// Copies the last signed head. A memo that cannot be read or written stays as it is: the store
    /// has the head as well, and `haft doctor` reports the memo.
    pub(super) fn advance(&mut self, db: &Connection, store: &str) {
        let Some(file) = self.file.get() else { return };
        let Ok(Some(head)) = lists::signed_head(db) else { return };
        let Ok(Some(mut memo)) = StoreMemo::read(file) else { return };
        let is_ours = memo.store == store && memo.head.as_ref().is_none_or(|seen| holds(db, seen));
        if is_ours && memo.advance(&head) && memo.write(file).is_err() {
            return;
        }
        self.seq = Some(head.seq);
    }
}

/// Whether the log holds the entry of a head.
fn holds(db: &Connection, head: &LogHead) -> bool {
    let text = "SELECT line FROM entries WHERE seq = ?1";
    let seq = i64::try_from(head.seq).unwrap_or(i64::MAX);
    let line = db.query_row(text, [seq], |row| row.get::<_, String>(0)).optional();
    let line = line.ok().flatten().and_then(|line| EntryLine::parse(&line).ok());
    line.is_some_and(|line| line.hash == head.hash)
}
