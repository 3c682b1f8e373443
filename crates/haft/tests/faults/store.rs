//! The store as one process reaches it: slow, full, failing, or the last thing that the process sees.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use haft_ledger::{
    BoxFuture, Disclosure, Draft, Error, Fence, IntentRecord, LedgerEntry, MemoryStore,
    OpenUndoing, QuestionFilter, QuestionRecord, Receipt, Run, RunFilter, Store, StoreHealth, Use,
    UseFilter, Wait,
};
use haft_model::{Digest, DualTime, Event, InvocationId, KeySource, StandingAnswer, Token};

use crate::process::{Process, give_way};

/// A store between which and a process faults strike.
pub(crate) struct FaultyStore {
    pub(crate) disk: Arc<MemoryStore>,
    pub(crate) process: Arc<Process>,
}

/// How long a process may stand still: within its lease, and beyond it and every deadline.
pub(crate) const STOPS: [u64; 7] = [500, 1500, 3000, 9000, 11_000, 30_000, 90_000];

fn broken(cause: &str) -> Error {
    Error::Unwritable { cause: cause.to_owned() }
}

/// What is written, in a word, for the story and for where faults strike most.
fn kind(draft: &Draft) -> &'static str {
    let any = |wanted: fn(&Event) -> bool| draft.facts.iter().any(|fact| wanted(&fact.event));
    match () {
        () if any(|event| event.end().is_some()) => "end",
        () if any(|event| matches!(event, Event::Submitted(_))) => "submission",
        () if any(|event| matches!(event, Event::Started(_))) => "start",
        () => "other",
    }
}

impl FaultyStore {
    async fn takes_a_while(&self) {
        let scene = &self.process.scene;
        let millis = match scene.slow.load(Ordering::SeqCst) {
            0 => scene.below(8),
            slow => slow / 2 + scene.below(slow),
        };
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    /// A process may stop or die at any write: before it, or after it and before it knows.
    async fn strikes(&self, kind: &str, when: &str) {
        let scene = &self.process.scene;
        let matters = matches!(kind, "submission" | "end");
        if !scene.faults() || !scene.chance(if matters { 60 } else { 8 }) {
            return;
        }
        let why = format!("{when} its {kind} is written");
        match scene.below(3) {
            0 => self.process.kill(&why),
            _ => self.process.stop(scene.of(&STOPS), &why),
        }
        give_way().await;
    }

    /// Any write but an entry.
    async fn written<T>(&self, write: BoxFuture<'_, Result<T, Error>>) -> Result<T, Error> {
        self.takes_a_while().await;
        if self.process.scene.full.load(Ordering::SeqCst) {
            return Err(broken("the disk is full"));
        }
        if self.process.scene.faults() && self.process.scene.chance(10) {
            self.process
                .scene
                .strike("failed write", &format!("{}: a lease is not written", self.process.name));
            return Err(broken("an input/output error"));
        }
        write.await
    }
}

impl Store for FaultyStore {
    fn health(&self) -> &StoreHealth {
        self.disk.health()
    }

    fn append(&self, draft: Draft, wait: Wait) -> BoxFuture<'_, Result<Receipt, Error>> {
        Box::pin(async move {
            let (kind, scene) = (kind(&draft), &self.process.scene);
            let name = &self.process.name;
            self.takes_a_while().await;
            self.strikes(kind, "before").await;
            if scene.full.load(Ordering::SeqCst) && draft.invocation.is_some() {
                return Err(broken("the disk is full"));
            }
            let fault = scene.faults() && draft.invocation.is_some() && scene.chance(25);
            match if fault { scene.below(3) } else { 3 } {
                0 => {
                    scene.strike("failed write", &format!("{name}: the {kind} is not written"));
                    return Err(broken("an input/output error"));
                }
                1 => {
                    scene.strike("short write", &format!("{name}: half of the {kind} is written"));
                    return Err(broken("a short write"));
                }
                2 => {
                    let applied = self.disk.append(draft, wait).await.is_ok();
                    scene.strike("failed fsync", &format!("{name}: the {kind} is written ({applied}), and it is told that it is not"));
                    return Err(broken("fsync failed"));
                }
                _ => {}
            }
            let written = self.disk.append(draft, wait).await;
            scene.note(&format!(
                "{name}: {kind} {}",
                if written.is_ok() { "written" } else { "refused" }
            ));
            self.takes_a_while().await;
            self.strikes(kind, "after").await;
            written
        })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.disk.flush()
    }

    fn entries(
        &self,
        after: Option<u64>,
        most: usize,
    ) -> BoxFuture<'_, Result<Vec<LedgerEntry>, Error>> {
        self.disk.entries(after, most)
    }

    fn wait_past(
        &self,
        seq: Option<u64>,
        at_most: Duration,
    ) -> BoxFuture<'_, Result<Option<u64>, Error>> {
        self.disk.wait_past(seq, at_most)
    }

    fn story<'a>(&'a self, id: &'a InvocationId) -> BoxFuture<'a, Result<Vec<LedgerEntry>, Error>> {
        self.disk.story(id)
    }

    fn payload<'a>(
        &'a self,
        id: &'a InvocationId,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, Error>> {
        self.disk.payload(id, digest)
    }

    fn forget<'a>(
        &'a self,
        id: &'a InvocationId,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        self.disk.forget(id, digest)
    }

    fn runs<'a>(&'a self, filter: &'a RunFilter) -> BoxFuture<'a, Result<Vec<Run>, Error>> {
        self.disk.runs(filter)
    }

    fn questions<'a>(
        &'a self,
        filter: &'a QuestionFilter,
    ) -> BoxFuture<'a, Result<Vec<QuestionRecord>, Error>> {
        self.disk.questions(filter)
    }

    fn standing<'a>(
        &'a self,
        tenant: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<StandingAnswer>, Error>> {
        self.disk.standing(tenant)
    }

    fn tokens(&self) -> BoxFuture<'_, Result<Vec<Token>, Error>> {
        self.disk.tokens()
    }

    fn token<'a>(&'a self, hash: &'a Digest) -> BoxFuture<'a, Result<Option<Token>, Error>> {
        self.disk.token(hash)
    }

    fn uses<'a>(&'a self, filter: &'a UseFilter) -> BoxFuture<'a, Result<Vec<Use>, Error>> {
        self.disk.uses(filter)
    }

    fn intent<'a>(
        &'a self,
        intent: &'a Digest,
        source: KeySource,
    ) -> BoxFuture<'a, Result<Option<IntentRecord>, Error>> {
        Box::pin(async move {
            let found = self.disk.intent(intent, source).await;
            // What was read may be old by the time it is used.
            self.takes_a_while().await;
            found
        })
    }

    fn undoings(&self) -> BoxFuture<'_, Result<Vec<OpenUndoing>, Error>> {
        self.disk.undoings()
    }

    fn lease<'a>(
        &'a self,
        id: &'a InvocationId,
        owner: &'a str,
        now: DualTime,
        until: DualTime,
    ) -> BoxFuture<'a, Result<Option<Fence>, Error>> {
        Box::pin(
            self.written(Box::pin(async move { self.disk.lease(id, owner, now, until).await })),
        )
    }

    fn renew<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
        until: DualTime,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(self.written(Box::pin(async move { self.disk.renew(id, fence, until).await })))
    }

    fn release<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
        disclosure: Disclosure,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(
            self.written(Box::pin(async move { self.disk.release(id, fence, disclosure).await })),
        )
    }
}
