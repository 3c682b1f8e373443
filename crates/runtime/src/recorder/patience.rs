//! How long a call waits for the ledger: never longer than the call itself may take.

use std::future::Future;
use std::time::Duration;

use haft_ledger::{Error, Outage};
use haft_model::{Code, Stop};
use serde_json::json;
use tokio::time::Instant;

use crate::Runtime;

/// What a call waits before its own time is known, and the most it waits at once.
const USUAL: Duration = Duration::from_secs(10);

/// What it waits even where its time is over: an end has to be written after it.
const LEAST: Duration = Duration::from_secs(1);

/// How long the ledger may take, for one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    time: Duration,
    until: Option<Instant>,
}

impl Patience {
    /// That of a call of which nothing is known yet.
    pub(super) fn new() -> Patience {
        Patience { time: USUAL, until: None }
    }

    /// That of a call that may take so long.
    pub(super) fn of(time: Duration) -> Patience {
        Patience { time: time.min(USUAL), until: None }
    }

    /// The same for a call whose time runs out then.
    pub(super) fn until(self, until: Instant) -> Patience {
        Patience { until: Some(until), ..self }
    }

    /// When waiting that begins now ends.
    pub(super) fn end(self) -> Instant {
        let now = Instant::now();
        let end = now + self.time;
        self.until.map_or(end, |until| until.min(end)).max(now + LEAST)
    }

    /// When waiting ends that a call can do without.
    pub(super) fn short(self) -> Instant {
        self.end().min(Instant::now() + LEAST)
    }

    /// Waits for the ledger, and no longer than that.
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
    /// Refuses a call that nothing could be recorded of.
    pub(crate) fn is_recordable(&self) -> Result<(), Stop> {
        match self.store.health().outage() {
            None => Ok(()),
            Some(outage) => Err(unavailable(&outage)),
        }
    }
}

/// What a caller hears while the store is down.
fn unavailable(outage: &Outage) -> Stop {
    let Outage { cause, since } = outage;
    let words = format!("nothing can be put on record, so no calls are taken: {cause}");
    Stop::new(Code::StoreUnavailable, words)
        .help("call again once the store works; `haft doctor` tells what is wrong with it")
        .because(json!({ "since": since }))
}

/// What a caller hears when the ledger cannot be written.
pub(crate) fn unrecorded(fault: Error) -> Stop {
    Stop::new(code(&fault), format!("the call cannot be recorded: {fault}"))
        .help("`haft audit verify` tells what is wrong with the store")
}

/// Whether a fault of the ledger passes by itself, or once a person sees to the disk.
pub(crate) fn code(fault: &Error) -> Code {
    match fault {
        Error::Unopenable { .. }
        | Error::Unwritable { .. }
        | Error::Unreadable { .. }
        | Error::Closed => Code::StoreUnavailable,
        Error::Forbidden(_) | Error::Damaged { .. } => Code::Internal,
    }
}
