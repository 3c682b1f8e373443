//! Fault-injecting store port of one process: every write goes through its writer, and each caller waits
//! as long as the real store lets it.

use std::sync::Arc;
use std::time::Duration;

use haft_ledger::{
    BoxFuture, Disclosure, Draft, Error, Fence, IntentRecord, LedgerEntry, MemoryStore,
    OpenUndoing, QuestionFilter, QuestionRecord, Receipt, Run, RunFilter, Store, StoreHealth, Use,
    UseFilter, Wait,
};
use haft_model::{Digest, DualTime, Event, InvocationId, KeySource, StandingAnswer, Token};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::process::Process;
use crate::writer::{Deadline, Job, Queue, Task, broken};

/// How long a caller waits for the writer, however busy the store is.
const PATIENCE: Duration = Duration::from_secs(15);

/// The same while the store is down.
const SHORT: Duration = Duration::from_secs(1);

/// The shared store as one process reaches it, through its own writer.
pub(crate) struct FaultyStore {
    disk: Arc<MemoryStore>,
    process: Arc<Process>,
    queue: Queue,
}

/// What an entry is, in a word, for the story and for where faults strike most.
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
    pub(crate) fn new(disk: &Arc<MemoryStore>, process: &Arc<Process>) -> FaultyStore {
        let queue = Queue::start(process, disk.clone());
        FaultyStore { disk: disk.clone(), process: process.clone(), queue }
    }

    fn patience(&self) -> Duration {
        if self.process.health.is_up() { PATIENCE } else { SHORT }
    }

    fn late(&self) -> Error {
        let outage = self.process.health.outage().map(|outage| outage.cause);
        broken(&outage.unwrap_or_else(|| "it does not answer in time".to_owned()))
    }

    /// Hands a write to the writer and waits. A caller that gives up does not take it back.
    async fn ask<T: Send + 'static>(
        &self,
        kind: &'static str,
        work: impl FnOnce(Arc<MemoryStore>) -> BoxFuture<'static, Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = oneshot::channel();
        let write = Job::boxed(Some(answer), work);
        self.queue.push(Task { kind, accepted: None, heard: true, deadline: None, write })?;
        match tokio::time::timeout(self.patience(), answered).await {
            Ok(answered) => answered.unwrap_or(Err(Error::Closed)),
            Err(_) => Err(self.late()),
        }
    }

    /// Waits for an entry that is written by then, or never.
    async fn by_then(
        &self,
        deadline: &Deadline,
        until: Instant,
        mut answered: oneshot::Receiver<Result<Receipt, Error>>,
    ) -> Result<Receipt, Error> {
        let until = until.min(Instant::now() + self.patience());
        match tokio::time::timeout_at(until, &mut answered).await {
            Ok(answered) => answered.unwrap_or(Err(Error::Closed)),
            Err(_) if deadline.withdraw() => {
                let name = &self.process.name;
                self.process.scene.strike("withdrawn entry", &format!("{name}: it came too late"));
                Err(self.late())
            }
            // The writer has begun, so only the disk is in the way.
            Err(_) => match tokio::time::timeout(PATIENCE, answered).await {
                Ok(answered) => answered.unwrap_or(Err(Error::Closed)),
                Err(_) => Err(self.late()),
            },
        }
    }
}

impl Store for FaultyStore {
    fn health(&self) -> &StoreHealth {
        &self.process.health
    }

    fn append(&self, draft: Draft, wait: Wait) -> BoxFuture<'_, Result<Receipt, Error>> {
        Box::pin(async move {
            let (scene, name, kind) =
                (self.process.scene.clone(), self.process.name.clone(), kind(&draft));
            let accepted =
                draft.invocation.clone().filter(|_| kind == "end" && wait == Wait::Queue);
            let (answer, answered) = oneshot::channel();
            let heard = wait != Wait::Queue;
            let deadline = matches!(wait, Wait::Until(_)).then(|| Arc::new(Deadline::default()));
            let write = Job::boxed(heard.then_some(answer), move |disk: Arc<MemoryStore>| {
                Box::pin(async move {
                    let written = disk.append(draft, Wait::Disk).await;
                    let word = if written.is_ok() { "written" } else { "refused" };
                    scene.note(&format!("{name}: {kind} {word}"));
                    written
                })
            });
            if let Some(id) = &accepted {
                self.process.scene.accepted(id, &self.process);
            }
            let task = Task { kind, accepted, heard, deadline: deadline.clone(), write };
            self.queue.push(task)?;
            match (wait, deadline) {
                (Wait::Until(until), Some(deadline)) => {
                    self.by_then(&deadline, until.into(), answered).await
                }
                (Wait::Queue, _) => Ok(Receipt { seq: None, fence: None }),
                (Wait::Disk | Wait::Until(_), _) => {
                    match tokio::time::timeout(self.patience(), answered).await {
                        Ok(answered) => answered.unwrap_or(Err(Error::Closed)),
                        Err(_) => Err(self.late()),
                    }
                }
            }
        })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(self.ask("flush", |_| Box::pin(async { Ok(()) })))
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
            self.process.scene.disk_time().await;
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
        let (id, owner) = (id.clone(), owner.to_owned());
        Box::pin(self.ask("lease", move |disk| {
            Box::pin(async move { disk.lease(&id, &owner, now, until).await })
        }))
    }

    fn renew<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
        until: DualTime,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        let id = id.clone();
        Box::pin(
            self.ask("lease", move |disk| {
                Box::pin(async move { disk.renew(&id, fence, until).await })
            }),
        )
    }

    fn release<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
        disclosure: Disclosure,
    ) -> BoxFuture<'a, Result<(), Error>> {
        let id = id.clone();
        Box::pin(self.ask("release", move |disk| {
            Box::pin(async move { disk.release(&id, fence, disclosure).await })
        }))
    }
}
