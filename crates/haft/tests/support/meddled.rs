//! Fault-injecting store: a meddler between the test and its store may fail, steal or stop any
//! write.

use std::sync::Arc;
use std::time::Duration;

use haft_ledger::{
    BoxFuture, Disclosure, Draft, Error, Fence, IntentRecord, LedgerEntry, OpenUndoing,
    QuestionFilter, QuestionRecord, Receipt, Run, RunFilter, Store, StoreHealth, Use, UseFilter,
    Wait,
};
use haft_model::{Digest, DualTime, InvocationId, KeySource, StandingAnswer, Token};

/// Hooks into the store of a test. By default each passes its operation on unchanged.
pub(crate) trait Meddler: Send + Sync {
    /// What becomes of an entry.
    fn append<'a>(
        &'a self,
        store: &'a dyn Store,
        draft: Draft,
        wait: Wait,
    ) -> BoxFuture<'a, Result<Receipt, Error>> {
        store.append(draft, wait)
    }

    /// What becomes of any other write, which takes place when it is awaited.
    fn around<'a>(&'a self, write: BoxFuture<'a, ()>) -> BoxFuture<'a, ()> {
        write
    }

    /// What happens between the read of a dedup entry and the moment when its reader has it.
    fn after_intent<'a>(&'a self, record: Option<&'a IntentRecord>) -> BoxFuture<'a, ()> {
        let _ = record;
        Box::pin(std::future::ready(()))
    }

    /// What becomes of waiting for the disk.
    fn flush<'a>(
        &'a self,
        flush: BoxFuture<'a, Result<(), Error>>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        flush
    }
}

/// A store with a meddler before it.
pub(crate) struct MeddledStore<M> {
    store: Arc<dyn Store>,
    meddler: M,
}

impl<M: Meddler> MeddledStore<M> {
    /// Wraps a store with a meddler.
    pub(crate) fn new(store: Arc<dyn Store>, meddler: M) -> MeddledStore<M> {
        MeddledStore { store, meddler }
    }

    /// Makes a write through the meddler, and gives what it gave.
    fn write<'a, T: Send + 'a>(
        &'a self,
        write: BoxFuture<'a, Result<T, Error>>,
    ) -> BoxFuture<'a, Result<T, Error>> {
        Box::pin(async move {
            let mut given = Err(Error::Closed);
            let slot = &mut given;
            self.meddler.around(Box::pin(async move { *slot = write.await })).await;
            given
        })
    }
}

impl<M: Meddler> Store for MeddledStore<M> {
    fn health(&self) -> &StoreHealth {
        self.store.health()
    }

    fn append(&self, draft: Draft, wait: Wait) -> BoxFuture<'_, Result<Receipt, Error>> {
        self.meddler.append(&*self.store, draft, wait)
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.meddler.flush(self.store.flush())
    }

    fn entries(
        &self,
        after: Option<u64>,
        most: usize,
    ) -> BoxFuture<'_, Result<Vec<LedgerEntry>, Error>> {
        self.store.entries(after, most)
    }

    fn wait_past(
        &self,
        seq: Option<u64>,
        at_most: Duration,
    ) -> BoxFuture<'_, Result<Option<u64>, Error>> {
        self.store.wait_past(seq, at_most)
    }

    fn story<'a>(&'a self, id: &'a InvocationId) -> BoxFuture<'a, Result<Vec<LedgerEntry>, Error>> {
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

    fn tokens(&self) -> BoxFuture<'_, Result<Vec<Token>, Error>> {
        self.store.tokens()
    }

    fn token<'a>(&'a self, hash: &'a Digest) -> BoxFuture<'a, Result<Option<Token>, Error>> {
        self.store.token(hash)
    }

    fn uses<'a>(&'a self, filter: &'a UseFilter) -> BoxFuture<'a, Result<Vec<Use>, Error>> {
        self.store.uses(filter)
    }

    fn intent<'a>(
        &'a self,
        intent: &'a Digest,
        source: KeySource,
    ) -> BoxFuture<'a, Result<Option<IntentRecord>, Error>> {
        Box::pin(async move {
            let record = self.store.intent(intent, source).await?;
            self.meddler.after_intent(record.as_ref()).await;
            Ok(record)
        })
    }

    fn undoings(&self) -> BoxFuture<'_, Result<Vec<OpenUndoing>, Error>> {
        self.store.undoings()
    }

    fn lease<'a>(
        &'a self,
        id: &'a InvocationId,
        owner: &'a str,
        now: DualTime,
        until: DualTime,
    ) -> BoxFuture<'a, Result<Option<Fence>, Error>> {
        self.write(self.store.lease(id, owner, now, until))
    }

    fn renew<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
        until: DualTime,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        self.write(self.store.renew(id, fence, until))
    }

    fn release<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
        disclosure: Disclosure,
    ) -> BoxFuture<'a, Result<(), Error>> {
        // A store may write before its future is awaited.
        self.write(Box::pin(async move { self.store.release(id, fence, disclosure).await }))
    }
}
