//! Simulated writer thread of one process: batches, a backlog, deadlines and health as the real store has
//! them. It dies and stops with its process, and with it everything that was only queued.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use haft_ledger::{BoxFuture, Error, MemoryStore, StoreHealth};
use haft_model::InvocationId;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::process::{Process, give_way};

/// How long entries without a waiting caller wait for others.
const LINGER: Duration = Duration::from_millis(5);

/// How long a store that is down is left alone, unless a caller waits.
const RETRY: Duration = Duration::from_secs(1);

/// How long a process may stand still: within its lease, and beyond it and every deadline.
pub(crate) const STOPS: [u64; 7] = [500, 1500, 3000, 9000, 11_000, 30_000, 90_000];

pub(crate) fn broken(cause: &str) -> Error {
    Error::Unwritable { cause: cause.to_owned() }
}

/// Settles a race at the deadline of an entry: either the writer has begun it or its caller withdrew it.
#[derive(Default)]
pub(crate) struct Deadline(AtomicU8);

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;

impl Deadline {
    /// Whether the entry will never be written.
    pub(crate) fn withdraw(&self) -> bool {
        let (kept, failed) = (Ordering::SeqCst, Ordering::SeqCst);
        self.0.compare_exchange(WAITING, WITHDRAWN, kept, failed).is_ok()
    }

    fn begin(&self) -> bool {
        let (kept, failed) = (Ordering::SeqCst, Ordering::SeqCst);
        self.0.compare_exchange(WAITING, BEGUN, kept, failed) != Err(WITHDRAWN)
    }
}

/// One write and the caller that waits for it.
pub(crate) trait Write: Send {
    fn apply(&mut self, disk: Arc<MemoryStore>) -> BoxFuture<'_, ()>;

    /// Tells the caller what became of it, or that it failed for this reason.
    fn answer(self: Box<Self>, fault: Option<&str>);
}

type Work<T> = Box<dyn FnOnce(Arc<MemoryStore>) -> BoxFuture<'static, Result<T, Error>> + Send>;

/// A write with a result.
pub(crate) struct Job<T> {
    work: Option<Work<T>>,
    result: Option<Result<T, Error>>,
    answer: Option<oneshot::Sender<Result<T, Error>>>,
}

impl<T: Send + 'static> Job<T> {
    pub(crate) fn boxed(
        answer: Option<oneshot::Sender<Result<T, Error>>>,
        work: impl FnOnce(Arc<MemoryStore>) -> BoxFuture<'static, Result<T, Error>> + Send + 'static,
    ) -> Box<dyn Write> {
        Box::new(Job { work: Some(Box::new(work)), result: None, answer })
    }
}

impl<T: Send + 'static> Write for Job<T> {
    fn apply(&mut self, disk: Arc<MemoryStore>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(work) = self.work.take() {
                self.result = Some(work(disk).await);
            }
        })
    }

    fn answer(self: Box<Self>, fault: Option<&str>) {
        let outcome = match (fault, self.result) {
            (Some(fault), _) => Err(broken(fault)),
            (None, result) => result.unwrap_or(Err(Error::Closed)),
        };
        if let Some(answer) = self.answer {
            let _ = answer.send(outcome);
        }
    }
}

/// A write in the queue.
pub(crate) struct Task {
    /// What it is, for the story and for where faults strike most.
    pub(crate) kind: &'static str,
    /// The call that it ends, where it was accepted without waiting for the disk.
    pub(crate) accepted: Option<InvocationId>,
    /// Whether a caller waits for it.
    pub(crate) heard: bool,
    pub(crate) deadline: Option<Arc<Deadline>>,
    pub(crate) write: Box<dyn Write>,
}

/// Where tasks are handed in.
pub(crate) struct Queue {
    tasks: mpsc::UnboundedSender<Task>,
    wake: Arc<Notify>,
}

impl Queue {
    /// Starts the writer of a process.
    pub(crate) fn start(process: &Arc<Process>, disk: Arc<MemoryStore>) -> Queue {
        let (tasks, receiver) = mpsc::unbounded_channel();
        let wake = Arc::<Notify>::default();
        let writer = Writer {
            process: process.clone(),
            disk,
            tasks: receiver,
            wake: wake.clone(),
            backlog: VecDeque::new(),
        };
        process.spawn(writer.run());
        Queue { tasks, wake }
    }

    pub(crate) fn push(&self, task: Task) -> Result<(), Error> {
        let heard = task.heard;
        self.tasks.send(task).map_err(|_| Error::Closed)?;
        if heard {
            self.wake.notify_one();
        }
        Ok(())
    }
}

struct Writer {
    process: Arc<Process>,
    disk: Arc<MemoryStore>,
    tasks: mpsc::UnboundedReceiver<Task>,
    wake: Arc<Notify>,
    /// What was accepted and could not be written yet, oldest first.
    backlog: VecDeque<Task>,
}

impl Writer {
    async fn run(mut self) {
        while let Some(batch) = self.receive().await {
            self.keep(batch).await;
        }
    }

    fn health(&self) -> &StoreHealth {
        &self.process.health
    }

    /// The next batch; an empty one while the store is down is a probe.
    async fn receive(&mut self) -> Option<VecDeque<Task>> {
        let mut batch = VecDeque::new();
        match self.health().is_up() {
            true => {
                batch.push_back(self.tasks.recv().await?);
                self.drain(&mut batch);
                if batch.iter().all(|task| !task.heard) {
                    self.pause(LINGER).await;
                }
            }
            false => self.pause(RETRY).await,
        }
        self.drain(&mut batch);
        Some(batch)
    }

    async fn pause(&mut self, at_most: Duration) {
        let _ = tokio::time::timeout(at_most, self.wake.notified()).await;
    }

    fn drain(&mut self, batch: &mut VecDeque<Task>) {
        while let Ok(task) = self.tasks.try_recv() {
            batch.push_back(task);
        }
    }

    /// Writes a batch in one transaction, and answers its callers.
    async fn keep(&mut self, mut batch: VecDeque<Task>) {
        std::mem::swap(&mut self.backlog, &mut batch);
        batch.append(&mut self.backlog);
        let kind = loudest(&batch);
        let (scene, name) = (self.process.scene.clone(), self.process.name.clone());
        scene.disk_time().await;
        if scene.faults() && scene.chance(3) {
            scene.strike("locked store", &format!("{name}: another program holds it"));
            scene.rest(9000, 14_000).await;
        }
        self.strikes(kind, "before").await;
        // From here on nothing can be withdrawn.
        batch.retain(|task| task.deadline.as_ref().is_none_or(|deadline| deadline.begin()));
        if scene.full.load(Ordering::SeqCst) {
            return self.put_off(batch, "the disk is full");
        }
        let whole = batch.len();
        let strikes = whole > 0 && scene.faults();
        match if strikes { scene.below(1000) } else { 1000 } {
            0..10 => {
                scene.strike("failed write", &format!("{name}: the {kind} is not written"));
                return self.put_off(batch, "an input/output error");
            }
            10..35 => {
                self.apply(batch.iter_mut()).await;
                scene.strike(
                    "failed fsync",
                    &format!("{name}: the {kind} is written, and it is told that it is not"),
                );
                return self.put_off(batch, "fsync failed");
            }
            // A torn batch: what was written before the tear stays, and no caller knows how much that is.
            35..135 if whole > 1 => {
                let cut = 1 + scene.below(whole as u64 - 1) as usize;
                self.apply(batch.iter_mut().take(cut)).await;
                scene.strike(
                    "short write",
                    &format!("{name}: {cut} of {whole} entries are written"),
                );
                if scene.chance(300) {
                    self.process.kill("with a torn batch");
                    give_way().await;
                }
                return self.put_off(batch, "a short write");
            }
            _ => {}
        }
        self.apply(batch.iter_mut()).await;
        scene.disk_time().await;
        self.strikes(kind, "after").await;
        self.health().set_pending(0);
        if !self.health().is_up() {
            scene.note(&format!("{name}: the store is up again"));
        }
        self.health().recover();
        batch.into_iter().for_each(|task| task.write.answer(None));
    }

    async fn apply(&mut self, tasks: impl Iterator<Item = &mut Task>) {
        for task in tasks {
            task.write.apply(self.disk.clone()).await;
            if let Some(id) = task.accepted.take() {
                self.process.scene.recorded(&id);
            }
            task.kind = DONE;
        }
    }

    /// Tells the callers that nothing was written, and holds on to what was accepted and is not there.
    fn put_off(&mut self, batch: VecDeque<Task>, cause: &str) {
        let (heard, accepted): (VecDeque<Task>, VecDeque<Task>) =
            batch.into_iter().partition(|task| task.heard);
        self.backlog.extend(accepted.into_iter().filter(|task| task.kind != DONE));
        self.health().set_pending(self.backlog.len());
        if self.health().is_up() {
            let name = &self.process.name;
            self.process.scene.strike("store down", &format!("{name}: {cause}"));
        }
        self.health().fail(cause);
        heard.into_iter().for_each(|task| task.write.answer(Some(cause)));
    }

    /// A process may stop or die at any write: before it, or after it and before it knows.
    async fn strikes(&mut self, kind: &str, when: &str) {
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
}

/// The kind of a task that is on the disk.
const DONE: &str = "done";

/// The kind of the entry of a batch at which faults strike most.
fn loudest(batch: &VecDeque<Task>) -> &'static str {
    let order = ["submission", "end", "release", "start", "lease"];
    let found = order.into_iter().find(|kind| batch.iter().any(|task| task.kind == *kind));
    found.unwrap_or("other")
}
