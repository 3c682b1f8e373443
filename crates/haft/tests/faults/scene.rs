//! Shared state of one history: the random numbers, the machine's clock, the disk, and what was
//! seen.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_model::{EffectState, InvocationId};
use haft_testkit::SeededRandom;

use crate::machine::Machine;
use crate::process::Process;

/// Every kind of fault, and what a store does because of them.
pub(crate) const FAULTS: [&str; 19] = [
    "kill",
    "pause",
    "clock ahead",
    "clock behind",
    "failed write",
    "short write",
    "failed fsync",
    "slow fsync",
    "full disk",
    "locked store",
    "store down",
    "withdrawn entry",
    "lost answer",
    "lost request",
    "duplicate request",
    "delayed request",
    "delayed answer",
    "slow backend",
    "late effect",
];

/// What all of a history share.
pub(crate) struct Scene {
    pub(crate) machine: Machine,
    /// Whether the disk is full.
    pub(crate) full: AtomicBool,
    /// About how many milliseconds a write takes, where that is long.
    pub(crate) slow: AtomicU64,
    calm: AtomicBool,
    random: Mutex<SeededRandom>,
    story: Mutex<Vec<String>>,
    struck: Mutex<BTreeMap<&'static str, usize>>,
    told: Mutex<Vec<CallerReport>>,
    /// The calls that began and did not end, with their processes.
    open: Mutex<BTreeMap<InvocationId, Arc<Process>>>,
    /// The calls whose end was accepted and is not on the disk, with their processes.
    accepted: Mutex<BTreeMap<InvocationId, Arc<Process>>>,
}

/// What a caller was told.
#[derive(Clone, Debug)]
pub(crate) struct CallerReport {
    pub(crate) intent: u64,
    pub(crate) id: InvocationId,
    pub(crate) effect: EffectState,
    /// When, in milliseconds.
    pub(crate) at: u64,
    pub(crate) is_error: bool,
    /// Whether the answer says of itself that it is not on record.
    pub(crate) unrecorded: bool,
    /// Whether the store of its process was down when the call arrived.
    pub(crate) began_down: bool,
    /// Whether the store was down when it was answered, and its end was not on the disk.
    pub(crate) ended_down: bool,
    /// Whether it is the refusal of a call that nothing can be recorded of.
    pub(crate) refused: bool,
}

/// What is on record of one call in the end.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) effect: EffectState,
    pub(crate) over: bool,
    pub(crate) tool: String,
}

impl Scene {
    pub(crate) fn new(random: SeededRandom) -> Arc<Scene> {
        Arc::new(Scene {
            machine: Machine::boot(),
            full: AtomicBool::new(false),
            slow: AtomicU64::new(0),
            calm: AtomicBool::new(false),
            random: Mutex::new(random),
            story: Mutex::default(),
            struck: Mutex::default(),
            told: Mutex::default(),
            open: Mutex::default(),
            accepted: Mutex::default(),
        })
    }

    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.random.lock().unwrap().below(bound as usize) as u64
    }

    pub(crate) fn chance(&self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    pub(crate) fn of<T: Clone>(&self, several: &[T]) -> T {
        self.random.lock().unwrap().choose(several)
    }

    /// Whether faults strike.
    pub(crate) fn faults(&self) -> bool {
        !self.calm.load(Ordering::SeqCst)
    }

    pub(crate) fn note(&self, what: &str) {
        self.story.lock().unwrap().push(format!("{:>7} {what}", self.machine.millis()));
    }

    pub(crate) fn strike(&self, kind: &'static str, what: &str) {
        *self.struck.lock().unwrap().entry(kind).or_default() += 1;
        self.note(&format!("[{kind}] {what}"));
    }

    pub(crate) async fn rest(&self, least: u64, most: u64) {
        let millis = least + self.below(most - least + 1);
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    /// Waits as long as the disk takes for one step of a write.
    pub(crate) async fn disk_time(&self) {
        let millis = match self.slow.load(Ordering::SeqCst) {
            0 => self.below(8),
            slow => slow / 2 + self.below(slow),
        };
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    /// No fault strikes any more.
    pub(crate) fn calm(&self) {
        self.note("no more faults");
        self.calm.store(true, Ordering::SeqCst);
    }

    pub(crate) fn accepted(&self, id: &InvocationId, process: &Arc<Process>) {
        self.accepted.lock().unwrap().insert(id.clone(), process.clone());
    }

    pub(crate) fn recorded(&self, id: &InvocationId) {
        self.accepted.lock().unwrap().remove(id);
    }

    /// The calls whose end is accepted and not on the disk, and whether their processes were killed.
    pub(crate) fn pending(&self) -> BTreeMap<InvocationId, bool> {
        killed(&self.accepted)
    }

    pub(crate) fn begins(&self, id: &InvocationId, process: &Arc<Process>) {
        self.open.lock().unwrap().insert(id.clone(), process.clone());
    }

    pub(crate) fn ends(&self, id: &InvocationId) {
        self.open.lock().unwrap().remove(id);
    }

    /// The calls that were not answered, and whether their processes were killed.
    pub(crate) fn unanswered(&self) -> BTreeMap<InvocationId, bool> {
        killed(&self.open)
    }

    /// Lets go of the processes, which hold the scene.
    pub(crate) fn dissolve(&self) {
        self.open.lock().unwrap().clear();
        self.accepted.lock().unwrap().clear();
    }

    pub(crate) fn tell(&self, told: CallerReport) {
        self.told.lock().unwrap().push(told);
    }

    pub(crate) fn told(&self) -> Vec<CallerReport> {
        self.told.lock().unwrap().clone()
    }

    pub(crate) fn story(&self) -> Vec<String> {
        self.story.lock().unwrap().clone()
    }

    pub(crate) fn struck(&self) -> BTreeMap<&'static str, usize> {
        self.struck.lock().unwrap().clone()
    }
}

fn killed(calls: &Mutex<BTreeMap<InvocationId, Arc<Process>>>) -> BTreeMap<InvocationId, bool> {
    let calls = calls.lock().unwrap();
    calls.iter().map(|(id, process)| (id.clone(), process.is_killed())).collect()
}
