//! Clock: production uses the wall clock, tests use a stopped clock that they set.

use std::sync::{Arc, Mutex, OnceLock};

use haft_model::{BootTime, Digest, DualTime, Timestamp};

/// Source of time.
pub trait Clock: Send + Sync {
    /// The current wall-clock time.
    fn now(&self) -> Timestamp;

    /// The current time by the wall clock and the boot clock. Leases and submission deadlines use
    /// it: the boot clock counts suspension and cannot be set.
    fn time(&self) -> DualTime;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn time(&self) -> DualTime {
        DualTime { at: Timestamp::now(), boot: since_boot() }
    }
}

/// Time since boot, suspension included; `None` where the boot id is unreadable.
fn since_boot() -> Option<BootTime> {
    static BOOT: OnceLock<Option<Arc<str>>> = OnceLock::new();
    let id = BOOT.get_or_init(boot).clone()?;
    let since = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(since.tv_sec).ok()?;
    let micros = u64::try_from(since.tv_nsec).ok()? / 1000;
    Some(BootTime { id, micros: seconds.checked_mul(1_000_000)?.checked_add(micros)? })
}

/// Id of this boot, short because every write records it. A time namespace has a clock of its own, so
/// the id covers it.
fn boot() -> Option<Arc<str>> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = std::fs::read_link("/proc/self/ns/time").ok();
    let space = space.map(|space| space.display().to_string()).unwrap_or_default();
    let half = Digest::of_parts(&[id.trim().as_bytes(), space.as_bytes()]).half()?;
    Some(format!("{:016x}", half >> 64).into())
}

/// A clock that stands still until a test sets it.
#[derive(Debug)]
pub struct StoppedClock(Mutex<Timestamp>);

impl StoppedClock {
    /// A clock that shows `moment`.
    pub fn at(moment: Timestamp) -> StoppedClock {
        StoppedClock(Mutex::new(moment))
    }

    /// Sets the clock to `moment`.
    pub fn set(&self, moment: Timestamp) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = moment;
    }
}

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The boot clock moves with the wall clock.
    fn time(&self) -> DualTime {
        let at = self.now();
        let micros = u64::try_from(at.as_microsecond()).unwrap_or(0);
        DualTime { at, boot: Some(BootTime { id: "stopped".into(), micros }) }
    }
}
