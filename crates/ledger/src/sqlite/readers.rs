//! Reader connection pool: SQLite connections that all readers share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::busy::Busy;
use super::{SqliteOptions, schema};
use crate::Error;

/// Idle connections, and a limit on those in use.
#[derive(Debug)]
pub(crate) struct Readers {
    db: PathBuf,
    idle: Mutex<Vec<Connection>>,
    room: Semaphore,
    busy: Busy,
}

impl Readers {
    /// Connections to a store, none of them open yet.
    pub(crate) fn new(options: &SqliteOptions) -> Readers {
        Readers {
            db: options.db.clone(),
            idle: Mutex::default(),
            room: Semaphore::new(options.readers.max(1)),
            busy: Busy::reading(),
        }
    }

    /// Reads on a blocking thread.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let _room = self.room.acquire().await.map_err(|_| Error::Closed)?;
        let readers = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || readers.read_here(work));
        read.await.map_err(|fault| Error::Unreadable { cause: fault.to_string() })?
    }

    /// Reads on this thread; only for quick queries.
    pub(crate) fn read_here<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let unreadable = |fault: rusqlite::Error| Error::Unreadable { cause: fault.to_string() };
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => schema::reader(&self.db, &self.busy).map_err(unreadable)?,
        };
        let read = work(&connection).map_err(unreadable);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        read
    }

    /// Closes the idle connections.
    pub(crate) fn close(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
