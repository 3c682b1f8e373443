//! The runtime: what is fixed, what is living, and the door through which calls come in.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use haft_catalog::Viewer;
use haft_driver::Cancel;
use haft_ledger::Store;
use haft_model::{Code, Digest, DriverId, InvocationId, Notice, Stop, Timestamp, ToolKey};

use tokio::sync::{Notify, broadcast, watch};

use crate::circuit_breaker::{BreakerOptions, CircuitBreakers};
use crate::idempotency::SingleFlight;
use crate::queue::Queue;
use crate::quota::Quotas;
use crate::surface_state::SurfaceStates;
use crate::undelivered_results::UndeliveredResults;
use crate::wait::QUIET;
use crate::{Clock, SharedTimer, World};

/// How many calls that ended wait to be heard of; whoever is slower misses the oldest.
const MOST_ENDINGS: usize = 2048;

/// What is set once.
#[derive(Clone, Debug)]
pub struct Options {
    /// What this process is called in leases; no two may share it.
    pub node: String,
    /// How many calls run at once.
    pub max_parallel: usize,
    /// How long a lease lasts unless it is renewed: so long a dead process keeps its calls.
    pub lease: Duration,
    /// How long after the time of an attempt its backend may still carry it out, where no contract
    /// says more. What is on record as submitted is sent within this time, or not at all.
    pub final_after: Duration,
    /// How long a question may be answered.
    pub question: Duration,
    /// Who fills in forms of backends that a caller cannot show.
    pub forms: Forms,
    /// How long such a form may wait. The driver, and all that the call touches, are held meanwhile.
    pub form: Duration,
    /// How long a yes of the rules holds.
    pub permit: Duration,
    /// How long a driver that is to stop may take before it is stopped.
    pub grace: Duration,
    /// How often other processes' answers are looked for.
    pub look: Duration,
    /// What an ask becomes where nobody is at hand.
    pub non_interactive: NonInteractive,
    /// What becomes of a call whose process died after it was allowed and before anything was sent.
    pub unsent: Unsent,
    /// When a driver that fails is left alone.
    pub rest: BreakerOptions,
}

/// What an ask becomes where nobody is at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonInteractive {
    /// It waits in the inbox.
    Ask,
    /// The call ends.
    Deny,
}

/// Who fills in forms of backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forms {
    /// Whoever called, or nobody.
    Off,
    /// People, in the inbox, where whoever called cannot show a form.
    Inbox,
    /// People, in the inbox, for every call that no person made.
    People,
}

/// What becomes of a call whose process died before anything was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// It ends, and whoever made it may call again.
    Refuse,
    /// It runs, if the rules still allow it.
    Run,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            node: format!("node_{}", uuid::Uuid::now_v7().simple()),
            max_parallel: 10,
            lease: Duration::from_secs(10),
            final_after: Duration::from_secs(5),
            question: Duration::from_secs(24 * 60 * 60),
            forms: Forms::Inbox,
            form: Duration::from_secs(10 * 60),
            permit: Duration::from_secs(60 * 60),
            grace: Duration::from_secs(5),
            look: Duration::from_millis(100),
            non_interactive: NonInteractive::Ask,
            unsent: Unsent::Refuse,
            rest: BreakerOptions::default(),
        }
    }
}

/// Takes calls through the rooms. Cheap to share.
pub struct Runtime {
    pub(crate) options: Options,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) queue: Queue,
    pub(crate) under_way: Arc<SingleFlight>,
    pub(crate) delivery: Arc<UndeliveredResults>,
    /// Fires when no more calls are taken.
    pub(crate) closing: Cancel,
    /// Rings whenever a call is no longer under way.
    pub(crate) left: Notify,
    /// When calls that run are looked at.
    pub(crate) pulse: SharedTimer,
    pub(crate) limits: Quotas,
    pub(crate) rests: CircuitBreakers,
    world: RwLock<Arc<World>>,
    /// Counts how often what callers see changed.
    changes: watch::Sender<u64>,
    /// The calls that end here.
    endings: broadcast::Sender<InvocationId>,
    pub(crate) scopes: SurfaceStates,
    running: Mutex<HashMap<InvocationId, Cancel>>,
    declared: Mutex<HashSet<(ToolKey, Digest)>>,
}

impl Runtime {
    /// A runtime over a world and a store.
    pub fn new(
        world: World,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Runtime {
        Runtime {
            queue: Queue::new(options.max_parallel),
            limits: Quotas::new(store.clone(), options.look),
            rests: CircuitBreakers::new(options.rest),
            options,
            store,
            clock,
            world: RwLock::new(Arc::new(world)),
            changes: watch::Sender::new(0),
            endings: broadcast::Sender::new(MOST_ENDINGS),
            under_way: Arc::default(),
            delivery: Arc::default(),
            closing: Cancel::new(),
            left: Notify::new(),
            pulse: SharedTimer::new(QUIET),
            scopes: SurfaceStates::default(),
            running: Mutex::default(),
            declared: Mutex::default(),
        }
    }

    /// Puts another world in place. Calls that are under way keep theirs.
    pub fn replace_world(&self, world: World) {
        let looking = self.scopes.looking();
        *self.world.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(world);
        self.scopes.reset();
        for (actor, within) in &looking {
            self.see(&Viewer { actor, within });
        }
        self.ring();
    }

    /// Says something else about the same world.
    pub fn replace_notices(&self, notices: Arc<[Notice]>) {
        let mut world = self.world.write().unwrap_or_else(PoisonError::into_inner);
        *world = Arc::new(World { notices, ..World::clone(&world) });
    }

    /// Somebody looked at the backend of a driver. One that answers rests no longer, and callers are
    /// told where they see something else now.
    pub fn backend_seen(&self, driver: &DriverId, well: bool) {
        if well {
            self.rests.seen_well(driver, self.clock.now());
        }
        self.ring();
    }

    /// Rings whenever what callers see may have changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Says that what callers see may have changed.
    pub(crate) fn ring(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Hears of each call that ends here, once it is on its way to the ledger. No call waits for
    /// whoever listens.
    pub fn endings(&self) -> broadcast::Receiver<InvocationId> {
        self.endings.subscribe()
    }

    /// Says that a call ended.
    pub(crate) fn ended(&self, id: &InvocationId) {
        // Nobody has to listen.
        let _ = self.endings.send(id.clone());
    }

    /// The world as it is now.
    pub fn world(&self) -> Arc<World> {
        self.world.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The calls that run here, by id.
    pub(crate) fn running(&self) -> MutexGuard<'_, HashMap<InvocationId, Cancel>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The declarations that this process has put on record.
    pub(crate) fn declared(&self) -> MutexGuard<'_, HashSet<(ToolKey, Digest)>> {
        self.declared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A moment so much later.
pub(crate) fn later(moment: Timestamp, by: Duration) -> Timestamp {
    moment
        .checked_add(haft_model::Span::new().microseconds(by.as_micros() as i64))
        .unwrap_or(moment)
}

/// The refusal of a call that was called off.
pub(crate) fn called_off(when: &str) -> Stop {
    Stop::new(Code::CanceledCaller, format!("called off {when}"))
}
