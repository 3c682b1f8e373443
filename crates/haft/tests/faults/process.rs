//! Simulated process: it can be paused and killed, and all of its work stops or dies with it.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use haft_ledger::StoreHealth;
use haft_runtime::Runtime;
use tokio::task::JoinHandle;

use crate::machine::Machine;
use crate::scene::Scene;

/// One incarnation of a process.
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) clock: Machine,
    pub(crate) scene: Arc<Scene>,
    /// Whether its store can be written, as far as it knows.
    pub(crate) health: Arc<StoreHealth>,
    runtime: OnceLock<Arc<Runtime>>,
    killed: AtomicBool,
    /// How many stops are not over yet.
    stops: AtomicU64,
    /// Of all of its work, by number.
    wakers: Mutex<BTreeMap<u64, Waker>>,
    begun: AtomicU64,
}

impl Process {
    pub(crate) fn new(name: String, scene: &Arc<Scene>) -> Arc<Process> {
        Arc::new(Process {
            name,
            clock: scene.machine.apart(),
            scene: scene.clone(),
            health: Arc::default(),
            runtime: OnceLock::new(),
            killed: AtomicBool::new(false),
            stops: AtomicU64::new(0),
            wakers: Mutex::default(),
            begun: AtomicU64::new(0),
        })
    }

    pub(crate) fn runs(&self, runtime: Runtime) {
        assert!(self.runtime.set(Arc::new(runtime)).is_ok());
    }

    pub(crate) fn runtime(&self) -> Arc<Runtime> {
        self.runtime.get().unwrap().clone()
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.killed.load(Ordering::SeqCst)
    }

    pub(crate) fn kill(&self, why: &str) {
        if !self.killed.swap(true, Ordering::SeqCst) {
            self.scene.strike("kill", &format!("{} is killed {why}", self.name));
            self.wake();
        }
    }

    /// Stops it for a while. Its clocks go on.
    pub(crate) fn stop(self: &Arc<Process>, millis: u64, why: &str) {
        self.scene.strike("pause", &format!("{} stands still for {millis} ms {why}", self.name));
        self.stops.fetch_add(1, Ordering::SeqCst);
        let process = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            process.stops.fetch_sub(1, Ordering::SeqCst);
            process.wake();
        });
    }

    fn wake(&self) {
        let wakers = std::mem::take(&mut *self.wakers.lock().unwrap());
        wakers.into_values().for_each(Waker::wake);
    }

    /// Begins some work of the process; nothing comes of it where the process is killed.
    pub(crate) fn spawn<F>(self: &Arc<Process>, work: F) -> JoinHandle<Option<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        let number = self.begun.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(Work { process: self.clone(), number, work: Some(Box::pin(work)) })
    }
}

/// Work of a process.
struct Work<F> {
    process: Arc<Process>,
    number: u64,
    work: Option<Pin<Box<F>>>,
}

impl<F: Future> Future for Work<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<F::Output>> {
        let process = self.process.clone();
        if process.is_killed() {
            self.work = None;
            return Poll::Ready(None);
        }
        process.wakers.lock().unwrap().insert(self.number, context.waker().clone());
        if process.stops.load(Ordering::SeqCst) > 0 {
            return Poll::Pending;
        }
        match &mut self.work {
            Some(work) => work.as_mut().poll(context).map(Some),
            None => Poll::Ready(None),
        }
    }
}

/// Gives way once, so that a process that was stopped or killed goes no further.
pub(crate) async fn give_way() {
    let mut given = false;
    std::future::poll_fn(move |context| match std::mem::replace(&mut given, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}
