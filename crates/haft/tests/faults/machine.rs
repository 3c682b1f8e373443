//! Simulated machine: one boot clock, and a calendar for each process that can be set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use haft_model::{BootTime, DualTime, Timestamp};
use haft_runtime::Clock;
use tokio::time::Instant;

/// The clocks as one process reads them.
#[derive(Clone)]
pub(crate) struct Machine {
    boot: Instant,
    /// Milliseconds by which its calendar is ahead.
    ahead: Arc<AtomicI64>,
}

impl Machine {
    pub(crate) fn boot() -> Machine {
        Machine { boot: Instant::now(), ahead: Arc::default() }
    }

    /// The same machine with a calendar of its own.
    pub(crate) fn apart(&self) -> Machine {
        Machine { boot: self.boot, ahead: Arc::default() }
    }

    pub(crate) fn millis(&self) -> u64 {
        self.boot.elapsed().as_millis() as u64
    }

    pub(crate) fn step(&self, millis: i64) {
        self.ahead.store(millis, Ordering::SeqCst);
    }
}

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        let since = self.boot.elapsed().as_micros() as i64;
        let ahead = self.ahead.load(Ordering::SeqCst) * 1000;
        Timestamp::from_microsecond(1_767_225_600_000_000 + since + ahead).unwrap()
    }

    fn time(&self) -> DualTime {
        let micros = self.boot.elapsed().as_micros() as u64;
        DualTime { at: self.now(), boot: Some(BootTime { id: "machine".into(), micros }) }
    }
}
