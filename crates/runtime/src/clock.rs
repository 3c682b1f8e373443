//! Time, as an argument: the wiring hands in the real one, tests one that they move themselves.

use std::sync::Mutex;

use haft_model::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The moment it is.
    fn now(&self) -> Timestamp;
}

/// The clock on the wall.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
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
}
