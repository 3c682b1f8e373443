//! Write-ahead log checkpoints: a second thread moves SQLite's log into the tables, so that commits
//! do not wait for it.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;

use crate::sqlite::busy::Busy;
use crate::sqlite::schema;

/// Bytes written between two checkpoints.
const ROUND: usize = 4 << 20;

/// If the thread cannot keep up, the writer checkpoints after this many pages.
const TOO_MANY: i64 = 16_384;

/// The checkpoint thread.
pub(super) struct Cleaner {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    written: usize,
}

impl Cleaner {
    /// Starts the thread; the writing connection leaves checkpoints to it.
    pub(super) fn start(path: &Path, writer: &Connection, busy: &Busy) -> Result<Cleaner, String> {
        writer
            .pragma_update(None, "wal_autocheckpoint", TOO_MANY)
            .map_err(|fault| fault.to_string())?;
        let db = schema::writer(path, &busy.apart())?;
        let (wake, woken) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("haft-ledger-cleaner".to_owned())
            .spawn(move || clean(&db, &woken))
            .map_err(|fault| fault.to_string())?;
        Ok(Cleaner { wake: Some(wake), thread: Some(thread), written: 0 })
    }

    /// Counts written bytes.
    pub(super) fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
        if self.written >= ROUND
            && let Some(wake) = &self.wake
        {
            self.written = 0;
            // A pending round covers this one too.
            let _due = wake.try_send(());
        }
    }
}

impl Drop for Cleaner {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn clean(db: &Connection, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        // The next round, or the writer, makes up for a failed one.
        drop(db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())));
    }
}
