//! Busy timeout: waits for a store that another process or program holds locked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use crate::StoreHealth;

/// Busy timeout of the writing connection.
const PATIENCE: Duration = Duration::from_secs(60);

/// Busy timeout of a reading connection: some read where calls are answered, and block others.
const READING: Duration = Duration::from_secs(5);

/// Busy timeout once the store is closing.
const CLOSING: Duration = Duration::from_secs(1);

/// After this long the store counts as down: our own processes hold it for milliseconds.
const STALL: Duration = Duration::from_secs(3);

/// State that the connections of one store share while they wait for a lock.
#[derive(Clone, Debug)]
pub(crate) struct Busy {
    pub(super) health: Arc<StoreHealth>,
    pub(super) closing: Arc<AtomicBool>,
    patience: Duration,
    /// When opening the store gives up; `None` once it is open.
    opening: Arc<Mutex<Option<Instant>>>,
}

impl Default for Busy {
    fn default() -> Busy {
        Busy {
            health: Arc::default(),
            closing: Arc::default(),
            patience: PATIENCE,
            opening: Arc::default(),
        }
    }
}

impl Busy {
    /// Makes a connection wait in small steps: SQLite's usual long steps would starve it beside a
    /// process that writes without a pause.
    pub(super) fn queue_up(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let mut since = Instant::now();
        let busy = self.clone();
        connection.busy_handler(Some(move |times: i32| {
            if times == 0 {
                since = Instant::now();
            }
            let step = u64::try_from(times).unwrap_or(0).clamp(1, 8);
            std::thread::sleep(Duration::from_millis(step));
            busy.goes_on(since)
        }))
    }

    /// Retries while the store is merely busy: not every operation calls the busy handler.
    pub(super) fn patiently<T>(
        &self,
        mut work: impl FnMut() -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let since = Instant::now();
        loop {
            match work() {
                Err(fault) if is_busy(&fault) && self.goes_on(since) => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                done => return done,
            }
        }
    }

    /// The same for a connection whose waiting says nothing about the writer.
    pub(super) fn apart(&self) -> Busy {
        Busy { health: Arc::default(), ..self.clone() }
    }

    /// The same for a store that is being opened: all steps together wait no longer than this.
    pub(super) fn opening(within: Duration) -> Busy {
        let busy = Busy::default();
        busy.set_opening(Instant::now().checked_add(within));
        busy
    }

    /// From now on each transaction waits as long as the writer does.
    pub(super) fn opened(&self) {
        self.set_opening(None);
    }

    fn set_opening(&self, until: Option<Instant>) {
        *self.opening.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    /// The same for connections that read.
    pub(super) fn reading() -> Busy {
        Busy { patience: READING, ..Busy::default() }
    }

    fn goes_on(&self, since: Instant) -> bool {
        let waited = since.elapsed();
        if waited >= STALL && self.health.is_up() {
            let seconds = STALL.as_secs();
            self.health.fail(format!("another program has held the store for {seconds} s"));
        }
        let opening = *self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if opening.is_some_and(|until| Instant::now() >= until) {
            return false;
        }
        waited < if self.closing.load(Ordering::Relaxed) { CLOSING } else { self.patience }
    }
}

/// Whether a fault only says that another connection holds the lock.
pub(super) fn is_busy(fault: &rusqlite::Error) -> bool {
    matches!(fault.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
