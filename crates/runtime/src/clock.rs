//! Time, as an argument: the wiring hands in the real one, tests one that they move themselves.

use std::sync::{Mutex, OnceLock};

use haft_model::{BootTime, DualTime, Timestamp};

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The moment it is.
    fn now(&self) -> Timestamp;

    /// The same by both clocks of the machine. What decides who may act goes by this: it counts
    /// suspension, and nothing sets it.
    fn time(&self) -> DualTime;
}

/// The clock on the wall.
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

/// The time since the machine booted, sleep included; none where no boot can be told from another.
fn since_boot() -> Option<BootTime> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let id = BOOT.get_or_init(boot).clone()?;
    let since = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(since.tv_sec).ok()?;
    let micros = u64::try_from(since.tv_nsec).ok()? / 1000;
    Some(BootTime { id, micros: seconds.checked_mul(1_000_000)?.checked_add(micros)? })
}

/// What tells this boot from all others. A time namespace has a clock of its own, and so a name.
fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = std::fs::read_link("/proc/self/ns/time").ok();
    let space = space.map(|space| format!("/{}", space.display())).unwrap_or_default();
    Some(format!("{}{space}", id.trim()))
}

/// A clock that stands still until somebody moves it.
#[derive(Debug)]
pub struct StoppedClock(Mutex<Timestamp>);

impl StoppedClock {
    /// A clock that shows one moment.
    pub fn at(moment: Timestamp) -> StoppedClock {
        StoppedClock(Mutex::new(moment))
    }

    /// Moves it to another moment.
    pub fn set(&self, moment: Timestamp) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = moment;
    }
}

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Whoever moves it moves the time since boot with it.
    fn time(&self) -> DualTime {
        let at = self.now();
        let micros = u64::try_from(at.as_microsecond()).unwrap_or(0);
        DualTime { at, boot: Some(BootTime { id: "stopped".to_owned(), micros }) }
    }
}
