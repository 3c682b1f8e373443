//! Crash injection: kills the process at the n-th write to its store.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_ledger::{BoxFuture, Draft, Error, Receipt, Store, Wait};

use crate::meddled::Meddler;

/// Before or after the write that is fatal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Before,
    After,
}

/// Ends the process at one write; at the 0th it never does.
pub(crate) struct Killer {
    writes: AtomicUsize,
    at: usize,
    when: When,
}

impl Killer {
    pub(crate) fn new(at: usize, when: When) -> Killer {
        Killer { writes: AtomicUsize::new(0), at, when }
    }

    async fn fatal<T>(&self, write: BoxFuture<'_, T>) -> T {
        let number = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        if number == self.at && self.when == When::Before {
            die();
        }
        let done = write.await;
        if number == self.at && self.when == When::After {
            die();
        }
        done
    }
}

impl Meddler for Killer {
    fn append<'a>(
        &'a self,
        store: &'a dyn Store,
        draft: Draft,
        wait: Wait,
    ) -> BoxFuture<'a, Result<Receipt, Error>> {
        Box::pin(self.fatal(store.append(draft, wait)))
    }

    fn around<'a>(&'a self, write: BoxFuture<'a, ()>) -> BoxFuture<'a, ()> {
        Box::pin(self.fatal(write))
    }
}

fn die() -> ! {
    let _ = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
    std::process::abort()
}
