//! One history: processes, callers and faults, until everything has come to rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_driver::Cancel;
use haft_ledger::{MemoryStore, RunFilter, Store};
use haft_model::{Call, EffectState, Envelope, InvocationId};
use haft_runtime::{BreakerOptions, CallOptions, Options, Receipt, Runtime, Unsent};
use haft_testkit::SeededRandom;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::backend::{Backend, Effect};
use crate::machine::Machine;
use crate::process::Process;
use crate::store::{FaultyStore, STOPS};
use crate::workspace::{Tool, Workspace};

/// Every kind of fault that there is.
pub(crate) const FAULTS: [&str; 11] = [
    "kill",
    "pause",
    "clock ahead",
    "clock behind",
    "failed write",
    "short write",
    "failed fsync",
    "full disk",
    "slow disk",
    "lost answer",
    "delayed request",
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
    told: Mutex<Vec<Told>>,
    /// The calls that began and did not end, with their processes.
    open: Mutex<BTreeMap<InvocationId, Arc<Process>>>,
}

/// What a caller was told.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) intent: u64,
    pub(crate) id: InvocationId,
    pub(crate) effect: EffectState,
    /// When, in milliseconds.
    pub(crate) at: u64,
    /// Whether the answer says of itself that it is not on record.
    pub(crate) unrecorded: bool,
}

/// What is on record of one call in the end.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) effect: EffectState,
    pub(crate) over: bool,
    pub(crate) tool: String,
}

/// All that happened.
pub(crate) struct History {
    pub(crate) story: Vec<String>,
    pub(crate) struck: BTreeMap<&'static str, usize>,
    pub(crate) intents: usize,
    pub(crate) book: Vec<Effect>,
    pub(crate) told: Vec<Told>,
    pub(crate) records: BTreeMap<InvocationId, Recorded>,
    /// Calls of processes that live, which nobody answered.
    pub(crate) unanswered: BTreeSet<InvocationId>,
}

impl Scene {
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

    async fn rest(&self, least: u64, most: u64) {
        let millis = least + self.below(most - least + 1);
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }
}

/// A history under way.
#[derive(Clone)]
struct Play {
    scene: Arc<Scene>,
    disk: Arc<MemoryStore>,
    workspace: Arc<(haft_runtime::World, haft_model::Actor)>,
    slots: Arc<Mutex<Vec<Arc<Process>>>>,
    unsent: Unsent,
}

/// Plays the history of a seed.
pub(crate) fn play(workspace: &Workspace, seed: u64) -> History {
    let mut timers = tokio::runtime::Builder::new_current_thread();
    let timers = timers.enable_time().start_paused(true).build().unwrap();
    timers.block_on(played(workspace, seed))
}

async fn played(workspace: &Workspace, seed: u64) -> History {
    let mut random = SeededRandom::new(seed);
    let (slots, intents) = (2 + random.below(2), 3 + random.below(4) as u64);
    let unsent = random.choose(&[Unsent::Refuse, Unsent::Run]);
    let scene = Arc::new(Scene {
        machine: Machine::boot(),
        full: AtomicBool::new(false),
        slow: AtomicU64::new(0),
        calm: AtomicBool::new(false),
        random: Mutex::new(random),
        story: Mutex::default(),
        struck: Mutex::default(),
        told: Mutex::default(),
        open: Mutex::default(),
    });
    let backend = Backend::new(&scene);
    workspace.exchange.connect(backend.clone());
    let play = Play {
        scene: scene.clone(),
        disk: Arc::new(MemoryStore::new()),
        workspace: Arc::new((workspace.world.clone(), workspace.agent.clone())),
        slots: Arc::default(),
        unsent,
    };
    for slot in 0..slots {
        let process = play.started(&format!("p{slot}"));
        play.slots.lock().unwrap().push(process);
    }
    let chaos = tokio::spawn(play.clone().chaos());
    let callers: Vec<JoinHandle<()>> =
        (0..intents).map(|intent| tokio::spawn(play.clone().caller(intent))).collect();
    for caller in callers {
        caller.await.unwrap();
    }
    chaos.await.unwrap();
    play.come_to_rest().await;
    let open = scene.open.lock().unwrap().clone();
    let unanswered = open.into_iter().filter(|(_, process)| !process.is_killed());
    let records = play.records().await;
    History {
        struck: scene.struck.lock().unwrap().clone(),
        intents: intents as usize,
        book: backend.book(),
        told: scene.told.lock().unwrap().clone(),
        records,
        unanswered: unanswered.map(|(id, _)| id).collect(),
        story: scene.story.lock().unwrap().clone(),
    }
}

impl Play {
    /// A process over the store, which looks for what others left.
    fn started(&self, name: &str) -> Arc<Process> {
        let process = Process::new(name.to_owned(), &self.scene);
        let store = FaultyStore { disk: self.disk.clone(), process: process.clone() };
        let options = Options {
            node: name.to_owned(),
            look: Duration::from_millis(400),
            grace: Duration::from_millis(500),
            unsent: self.unsent,
            // Whether a backend is tried is no matter of truth.
            rest: BreakerOptions { failures: 0, ..BreakerOptions::default() },
            ..Options::default()
        };
        let world = self.workspace.0.clone();
        process.runs(Runtime::new(
            world,
            Arc::new(store),
            Arc::new(process.clock.clone()),
            options,
        ));
        let (runtime, scene) = (process.runtime(), self.scene.clone());
        process.spawn(async move {
            loop {
                let _ = runtime.recover().await;
                scene.rest(5000, 15_000).await;
            }
        });
        process
    }

    fn any_process(&self) -> Arc<Process> {
        let slots = self.slots.lock().unwrap();
        self.scene.of(&slots)
    }

    /// Faults that strike by themselves.
    async fn chaos(self) {
        let scene = &self.scene;
        for _ in 0..scene.below(7) {
            scene.rest(100, 20_000).await;
            let slot = scene.below(self.slots.lock().unwrap().len() as u64) as usize;
            let process = self.slots.lock().unwrap()[slot].clone();
            match scene.below(8) {
                0 | 1 => process.kill("by the dice"),
                2 | 3 => process.stop(scene.of(&STOPS), "by the dice"),
                4 => {
                    scene.strike("clock ahead", &format!("of {}", process.name));
                    process.clock.step(scene.of(&[5000, 20_000, 60_000, 100_000]));
                }
                5 => {
                    scene.strike("clock behind", &format!("of {}", process.name));
                    process.clock.step(-scene.of(&[5000, 20_000, 60_000, 100_000]));
                }
                6 => {
                    scene.strike("full disk", "");
                    scene.full.store(true, Ordering::SeqCst);
                    scene.rest(50, 8000).await;
                    scene.full.store(false, Ordering::SeqCst);
                    scene.note("the disk has room again");
                }
                _ => {
                    scene.strike("slow disk", "");
                    scene.slow.store(scene.of(&[300, 2000, 8000]), Ordering::SeqCst);
                    scene.rest(2000, 15_000).await;
                    scene.slow.store(0, Ordering::SeqCst);
                    scene.note("the disk is fast again");
                }
            }
            self.restarted(slot);
        }
    }

    /// A slot whose process was killed gets another.
    fn restarted(&self, slot: usize) {
        let mut slots = self.slots.lock().unwrap();
        if slots[slot].is_killed() {
            let name = format!("{}'", slots[slot].name);
            slots[slot] = self.started(&name);
        }
    }

    /// Wants one thing, and calls until it hears that it took place, or loses patience.
    async fn caller(self, intent: u64) {
        let scene = &self.scene;
        let read = scene.chance(100);
        let tool = if read { Tool::Look } else { scene.of(&Tool::WRITES) };
        scene.rest(0, 5000).await;
        for round in 0..6 {
            let process = self.any_process();
            let envelope = self.called(&process, intent, round, tool).await;
            let slots = self.slots.lock().unwrap().len();
            (0..slots).for_each(|slot| self.restarted(slot));
            match envelope {
                Some(envelope) => {
                    let told = Told {
                        intent,
                        id: envelope.invocation_id.clone(),
                        effect: envelope.effect_state,
                        at: scene.machine.millis(),
                        unrecorded: envelope.unrecorded.is_some(),
                    };
                    let flag = if told.unrecorded { ", unrecorded" } else { "" };
                    scene.note(&format!("{} is told as {}{flag}", told.id, told.effect));
                    let over = told.effect.is_done() || (read && !envelope.is_error);
                    scene.told.lock().unwrap().push(told);
                    if over {
                        return;
                    }
                }
                None => scene.note(&format!("whoever called inv_{intent}_{round} hears nothing")),
            }
            scene.rest(10, 20_000).await;
        }
    }

    /// One call; none where nobody answers while its caller waits.
    async fn called(
        &self,
        process: &Arc<Process>,
        intent: u64,
        round: u64,
        tool: Tool,
    ) -> Option<Envelope> {
        let scene = &self.scene;
        let id = InvocationId::from(format!("inv_{intent}_{round}").as_str());
        scene.note(&format!("{id} calls {} of {}", tool.name(), process.name));
        let mut call = Call::new(self.workspace.1.clone(), tool.name(), json!({ "n": intent }));
        call.key = matches!(tool, Tool::Pay | Tool::Put).then(|| format!("k{intent}"));
        let (answer, answered) = oneshot::channel();
        scene.open.lock().unwrap().insert(id.clone(), process.clone());
        let (runtime, shared) = (process.runtime(), scene.clone());
        let cancel = Cancel::new();
        let gives_up = cancel.clone();
        process.spawn(async move {
            let manner =
                CallOptions { receipt: Receipt::Acknowledged, cancel, ..CallOptions::default() };
            let envelope = runtime.call_under(id.clone(), call, manner).await;
            let answer_of = envelope.invocation_id.clone();
            shared.open.lock().unwrap().remove(&id);
            if answer.send(envelope).is_ok() {
                runtime.handed_over(&answer_of).await;
            }
        });
        let patience = Duration::from_millis(scene.of(&[2000, 12_000, 40_000, 100_000]));
        let told = tokio::time::timeout(patience, answered).await;
        if told.is_err() {
            // A client that leaves calls its call off, where that can still be.
            gives_up.cancel();
        }
        told.ok()?.ok()
    }

    /// No fault strikes any more, and everybody has the time to find out what is left.
    async fn come_to_rest(&self) {
        self.scene.note("no more faults");
        self.scene.calm.store(true, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(120)).await;
        let last = self.started("last");
        for _ in 0..4 {
            tokio::time::sleep(Duration::from_secs(20)).await;
            let runtime = last.runtime();
            let recovered =
                last.spawn(async move { runtime.recover().await.map_err(|stop| stop.message) });
            let recovered = recovered.await.unwrap();
            if let Some(Err(fault)) = recovered {
                self.scene.note(&format!("what is left cannot be settled: {fault}"));
            }
        }
    }

    async fn records(&self) -> BTreeMap<InvocationId, Recorded> {
        let all = RunFilter { most: 100_000, ..RunFilter::default() };
        let runs = self.disk.runs(&all).await.unwrap();
        let recorded = |run: haft_ledger::Run| {
            let (effect, over) = (run.effect_state, run.ended_at.is_some());
            (run.invocation_id, Recorded { effect, over, tool: run.tool_id })
        };
        runs.into_iter().map(recorded).collect()
    }
}
