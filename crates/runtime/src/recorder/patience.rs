//! Ledger timeout: bounds how long a call waits for an append, and never beyond its own deadline.

use std::future::Future;
use std::time::Duration;

use haft_ledger::{Error, Outage};
use haft_model::{CauseDetail, Code, Stop};
use tokio::time::Instant;

use crate::Runtime;

/// Ledger timeout before the call's own timeout is known, and its upper bound.
const USUAL: Duration = Duration::from_secs(10);

/// Lower bound of the ledger timeout: a call past its deadline still records its end.
const LEAST: Duration = Duration::from_secs(1);

/// Ledger timeout of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    time: Duration,
    until: Option<Instant>,
}

impl Patience {
    /// The default, for a call whose contract is not resolved yet.
    pub(super) fn new() -> Patience {
        Patience { time: USUAL, until: None }
    }

    /// The timeout for a call with this timeout of its own.
    pub(super) fn of(time: Duration) -> Patience {
        Patience { time: time.min(USUAL), until: None }
    }

    /// Adds the call's deadline.
    pub(super) fn until(self, until: Instant) -> Patience {
        Patience { until: Some(until), ..self }
    }

    /// Deadline of a wait that begins now.
    pub(super) fn end(self) -> Instant {
        let now = Instant::now();
        let end = now + self.time;
        self.until.map_or(end, |until| until.min(end)).max(now + LEAST)
    }

    /// Deadline of an append that the call can do without.
    pub(super) fn short(self) -> Instant {
        self.end().min(Instant::now() + LEAST)
    }

    /// Waits for the ledger until the deadline; then the ledger counts as unwritable.
    pub(super) async fn hold<T>(
        self,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        match tokio::time::timeout_at(self.end(), asked).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::Unwritable { cause: "it does not answer in time".to_owned() }),
        }
    }
}

impl Runtime {
    /// Refuses a call while the store is down.
    pub(crate) fn is_recordable(&self) -> Result<(), Stop> {
        match self.store.health().outage() {
            None => Ok(()),
            Some(outage) => Err(unavailable(&outage)),
        }
    }
}

/// Refusal while the store is down.
fn unavailable(outage: &Outage) -> Stop {
    let Outage { cause, since } = outage;
    let words = format!("nothing can be put on record, so no calls are taken: {cause}");
    Stop::new(Code::StoreUnavailable, words)
        .help("call again once the store works; `haft doctor` tells what is wrong with it")
        .because(CauseDetail::Since(*since))
}

/// Refusal of a call that the ledger could not record.
pub(crate) fn unrecorded(fault: Error) -> Stop {
    Stop::new(code(&fault), format!("the call cannot be recorded: {fault}"))
        .help("`haft audit verify` tells what is wrong with the store")
}

/// Code of a ledger error: `StoreUnavailable` for outages, `Internal` for refused guards and
/// damage.
pub(crate) fn code(fault: &Error) -> Code {
    match fault {
        Error::Unopenable { .. }
        | Error::Unwritable { .. }
        | Error::Unreadable { .. }
        | Error::Closed => Code::StoreUnavailable,
        Error::Forbidden(_) | Error::Damaged { .. } => Code::Internal,
    }
}
