//! Simulated history: processes, callers and faults, until everything has come to rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_driver::Cancel;
use haft_ledger::{MemoryStore, RunFilter, Store};
use haft_model::{Call, Code, InvocationId};
use haft_runtime::{BreakerOptions, CallOptions, Options, Receipt, Runtime, Unsent};
use haft_testkit::SeededRandom;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::backend::{Backend, Effect};
use crate::process::Process;
use crate::scene::{CallerReport, Recorded, Scene};
use crate::store::FaultyStore;
use crate::workspace::{Tool, Workspace};
use crate::writer::STOPS;

/// All that happened.
pub(crate) struct History {
    pub(crate) story: Vec<String>,
    pub(crate) struck: BTreeMap<&'static str, usize>,
    pub(crate) intents: usize,
    pub(crate) book: Vec<Effect>,
    pub(crate) told: Vec<CallerReport>,
    pub(crate) records: BTreeMap<InvocationId, Recorded>,
    /// Calls of living processes without an answer.
    pub(crate) unanswered: BTreeSet<InvocationId>,
    /// Calls whose end was accepted and never written, and whether their process was killed before.
    pub(crate) pending: BTreeMap<InvocationId, bool>,
    /// Living processes whose store is still down.
    pub(crate) down: Vec<String>,
}

/// A history in progress.
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
    let scene = Scene::new(random);
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
    let unanswered = scene.unanswered().into_iter().filter(|(_, killed)| !killed);
    let history = History {
        struck: scene.struck(),
        intents: intents as usize,
        book: backend.book(),
        told: scene.told(),
        records: play.records().await,
        unanswered: unanswered.map(|(id, _)| id).collect(),
        pending: scene.pending(),
        down: play.down(),
        story: scene.story(),
    };
    scene.dissolve();
    history
}

impl Play {
    /// A process over the store, which looks for what others left.
    fn started(&self, name: &str) -> Arc<Process> {
        let process = Process::new(name.to_owned(), &self.scene);
        let store = FaultyStore::new(&self.disk, &process);
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
                    scene.strike("slow fsync", "");
                    scene.slow.store(scene.of(&[300, 2000, 8000, 24_000]), Ordering::SeqCst);
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

    /// A caller with one intent: it retries until it hears that the effect took place, or gives up.
    async fn caller(self, intent: u64) {
        let scene = &self.scene;
        let read = scene.chance(200);
        let tool = if read { Tool::Look } else { scene.of(&Tool::WRITES) };
        scene.rest(0, 5000).await;
        for round in 0..6 {
            let told = self.sent(intent, round, tool).await;
            let slots = self.slots.lock().unwrap().len();
            (0..slots).for_each(|slot| self.restarted(slot));
            match told {
                Some(told) => {
                    let over = told.effect.is_done() || (read && !told.is_error);
                    if over {
                        return;
                    }
                }
                None => scene.note(&format!("the caller of inv_{intent}_{round} hears nothing")),
            }
            scene.rest(10, 20_000).await;
        }
    }

    /// Sends a call, sometimes to two processes at the same time, as a proxy or an impatient client does.
    async fn sent(&self, intent: u64, round: u64, tool: Tool) -> Option<CallerReport> {
        let id = format!("inv_{intent}_{round}");
        let first = self.any_process();
        if !self.scene.faults() || !self.scene.chance(150) {
            return self.called(&first, intent, &id, tool).await;
        }
        let (second, twin) = (self.any_process(), format!("{id}_twin"));
        self.scene.strike("duplicate request", &id);
        let (told, also_told) = tokio::join!(
            self.called(&first, intent, &id, tool),
            self.called(&second, intent, &twin, tool)
        );
        also_told.filter(|told| told.effect.is_done()).or(told)
    }

    /// One call; none where its caller gives up before the answer, or the process dies.
    async fn called(
        &self,
        process: &Arc<Process>,
        intent: u64,
        id: &str,
        tool: Tool,
    ) -> Option<CallerReport> {
        let scene = &self.scene;
        let id = InvocationId::from(id);
        scene.note(&format!("{id} calls {} of {}", tool.name(), process.name));
        let mut call = Call::new(self.workspace.1.clone(), tool.name(), json!({ "n": intent }));
        call.key = matches!(tool, Tool::Pay | Tool::Put).then(|| format!("k{intent}"));
        let (answer, answered) = oneshot::channel();
        scene.begins(&id, process);
        let (runtime, play, server) = (process.runtime(), self.clone(), process.clone());
        let cancel = Cancel::new();
        let gives_up = cancel.clone();
        process.spawn(async move {
            let manner =
                CallOptions { receipt: Receipt::Acknowledged, cancel, ..CallOptions::default() };
            let began_down = !server.health.is_up();
            let envelope = runtime.call_under(id.clone(), call, manner).await;
            let ended_down = !server.health.is_up() && !play.is_over(&envelope.invocation_id).await;
            let told = CallerReport {
                intent,
                id: envelope.invocation_id.clone(),
                effect: envelope.effect_state,
                at: 0,
                is_error: envelope.is_error,
                unrecorded: envelope.unrecorded.is_some(),
                began_down,
                ended_down,
                refused: envelope.error.as_ref().map(|error| error.error_code)
                    == Some(Code::StoreUnavailable),
            };
            play.scene.ends(&id);
            let answer_of = told.id.clone();
            if answer.send(told).is_ok() {
                runtime.confirm_delivery(&answer_of).await;
            }
        });
        let patience = Duration::from_millis(scene.of(&[2000, 12_000, 40_000, 100_000]));
        let told = tokio::time::timeout(patience, answered).await;
        if told.is_err() {
            // A client that leaves cancels its call, where that is still possible.
            gives_up.cancel();
        }
        let told = CallerReport { at: scene.machine.millis(), ..told.ok()?.ok()? };
        let flag = if told.unrecorded { ", unrecorded" } else { "" };
        let down = if told.ended_down { ", store down" } else { "" };
        scene.note(&format!("{} is told as {}{flag}{down}", told.id, told.effect));
        scene.tell(told.clone());
        Some(told)
    }

    /// Whether the end of a call is on the disk.
    async fn is_over(&self, id: &InvocationId) -> bool {
        self.records().await.get(id).is_some_and(|record| record.over)
    }

    /// The living processes whose store is down.
    fn down(&self) -> Vec<String> {
        let slots = self.slots.lock().unwrap();
        let down = slots.iter().filter(|process| !process.is_killed() && !process.health.is_up());
        down.map(|process| process.name.clone()).collect()
    }

    /// Stops all faults, and gives every process the time to resolve what is left.
    async fn come_to_rest(&self) {
        self.scene.calm();
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
