//! A store that kills its own process at the n-th write.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_ledger::{
    BoxFuture, Draft, Entry, Error, Fence, QuestionFilter, QuestionRecord, Receipt, Run, RunFilter,
    SqliteStore, Store, UsageFilter, Wait,
};
use haft_model::{Digest, InvocationId, StandingAnswer, Timestamp};

/// Before or after the write that is fatal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Before,
    After,
}

/// A store that ends its process at one write; at the 0th it never does.
pub(crate) struct Dying {
    store: SqliteStore,
    writes: AtomicUsize,
    at: usize,
    when: When,
}

impl Dying {
    pub(crate) fn new(store: SqliteStore, at: usize, when: When) -> Dying {
        Dying { store, writes: AtomicUsize::new(0), at, when }
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

fn die() -> ! {
    let _ = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
    std::process::abort()
}

impl Store for Dying {
    fn append(&self, draft: Draft, wait: Wait) -> BoxFuture<'_, Result<Receipt, Error>> {
        Box::pin(self.fatal(self.store.append(draft, wait)))
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.store.flush()
    }

    fn entries(&self, after: Option<u64>, most: usize) -> BoxFuture<'_, Result<Vec<Entry>, Error>> {
        self.store.entries(after, most)
    }

    fn wait_past(
        &self,
        seq: Option<u64>,
        at_most: Duration,
    ) -> BoxFuture<'_, Result<Option<u64>, Error>> {
        self.store.wait_past(seq, at_most)
    }

    fn story<'a>(&'a self, id: &'a InvocationId) -> BoxFuture<'a, Result<Vec<Entry>, Error>> {
        self.store.story(id)
    }

    fn payload<'a>(
        &'a self,
        id: &'a InvocationId,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, Error>> {
        self.store.payload(id, digest)
    }

    fn forget<'a>(
        &'a self,
        id: &'a InvocationId,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        self.store.forget(id, digest)
    }

    fn runs<'a>(&'a self, filter: &'a RunFilter) -> BoxFuture<'a, Result<Vec<Run>, Error>> {
        self.store.runs(filter)
    }

    fn questions<'a>(
        &'a self,
        filter: &'a QuestionFilter,
    ) -> BoxFuture<'a, Result<Vec<QuestionRecord>, Error>> {
        self.store.questions(filter)
    }

    fn standing<'a>(
        &'a self,
        tenant: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<StandingAnswer>, Error>> {
        self.store.standing(tenant)
    }

    fn usage<'a>(&'a self, filter: &'a UsageFilter) -> BoxFuture<'a, Result<u64, Error>> {
        self.store.usage(filter)
    }

    fn lease<'a>(
        &'a self,
        id: &'a InvocationId,
        owner: &'a str,
        now: Timestamp,
        until: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Fence>, Error>> {
        Box::pin(self.fatal(self.store.lease(id, owner, now, until)))
    }

    fn renew<'a>(&'a self, owner: &'a str, until: Timestamp) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.fatal(self.store.renew(owner, until)))
    }

    fn release<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.fatal(self.store.release(id, fence)))
    }
}
