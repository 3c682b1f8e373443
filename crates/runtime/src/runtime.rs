//! Runtime: options, shared state and the current world of a process that runs calls.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use haft_catalog::Viewer;
use haft_driver::Cancel;
use haft_ledger::Store;
use haft_model::{
    Code, Digest, DriverId, Forms, InvocationId, NonInteractive, Notice, Stop, Timestamp, ToolKey,
    Unsent,
};

use tokio::sync::{Notify, broadcast, watch};

use crate::circuit_breaker::{BreakerOptions, CircuitBreakers};
use crate::idempotency::SingleFlight;
use crate::queue::Queue;
use crate::quota::Quotas;
use crate::surface_state::SurfaceStates;
use crate::undelivered_results::UndeliveredResults;
use crate::wait::QUIET;
use crate::{Clock, SharedTimer, World};

/// Capacity of the feed of ended calls; a slower subscriber misses the oldest.
const MOST_ENDINGS: usize = 2048;

/// Runtime options, fixed at construction.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of this process in leases, unique among processes.
    pub node: String,
    /// Number of execution slots: calls that run in parallel.
    pub max_parallel: usize,
    /// Term of a lease without renewal; recovery takes a dead process's calls over after it.
    pub lease: Duration,
    /// How long past an attempt's timeout its backend may still act, unless the contract says more.
    /// A recorded submission is sent within this time or not at all.
    pub final_after: Duration,
    /// Time until an approval question expires.
    pub question: Duration,
    /// Who answers elicitation forms that the caller cannot show.
    pub forms: Forms,
    /// Time until such a form expires. The call keeps its driver and its locks meanwhile.
    pub form: Duration,
    /// Validity of a permit that the rules granted.
    pub permit: Duration,
    /// Grace period of a driver after cancellation, before it is stopped.
    pub grace: Duration,
    /// Polling interval for answers and usage of other processes.
    pub look: Duration,
    /// What becomes of a question where no approver is reachable.
    pub non_interactive: NonInteractive,
    /// What recovery does with a call that was allowed but not sent when its process died.
    pub unsent: Unsent,
    /// Circuit breaker: when it opens and for how long.
    pub rest: BreakerOptions,
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

/// Runs calls through the pipeline; share it through an `Arc`.
pub struct Runtime {
    pub(crate) options: Options,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) queue: Queue,
    pub(crate) single_flight: Arc<SingleFlight>,
    pub(crate) undelivered: Arc<UndeliveredResults>,
    /// Fires at shutdown, when the runtime stops accepting calls.
    pub(crate) shutdown: Cancel,
    /// Notifies when a call leaves the runtime.
    pub(crate) call_ended: Notify,
    /// Shared timer by which running calls are polled.
    pub(crate) timer: SharedTimer,
    pub(crate) quotas: Quotas,
    pub(crate) breakers: CircuitBreakers,
    world: RwLock<Arc<World>>,
    /// Revision of what callers see.
    changes: watch::Sender<u64>,
    /// Feed of the calls that end in this process.
    endings: broadcast::Sender<InvocationId>,
    pub(crate) surface_states: SurfaceStates,
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
            quotas: Quotas::new(store.clone(), options.look),
            breakers: CircuitBreakers::new(options.rest),
            options,
            store,
            clock,
            world: RwLock::new(Arc::new(world)),
            changes: watch::Sender::new(0),
            endings: broadcast::Sender::new(MOST_ENDINGS),
            single_flight: Arc::default(),
            undelivered: Arc::default(),
            shutdown: Cancel::new(),
            call_ended: Notify::new(),
            timer: SharedTimer::new(QUIET),
            surface_states: SurfaceStates::default(),
            running: Mutex::default(),
            declared: Mutex::default(),
        }
    }

    /// Replaces the world after a reload. Calls in flight keep theirs.
    pub fn replace_world(&self, world: World) {
        let looking = self.surface_states.looking();
        *self.world.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(world);
        self.surface_states.reset();
        for (actor, within) in &looking {
            self.see(&Viewer { actor, within });
        }
        self.ring();
    }

    /// Replaces the notices of the current world.
    pub fn replace_notices(&self, notices: Arc<[Notice]>) {
        let mut world = self.world.write().unwrap_or_else(PoisonError::into_inner);
        *world = Arc::new(World { notices, ..World::clone(&world) });
    }

    /// Reports a probe of a driver's backend. A healthy one closes its circuit breakers, and
    /// callers are notified of what they see now.
    pub fn backend_seen(&self, driver: &DriverId, well: bool) {
        if well {
            self.breakers.seen_well(driver, self.clock.now());
        }
        self.ring();
    }

    /// Subscribes to changes of what callers see.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Notifies subscribers that what callers see may have changed.
    pub(crate) fn ring(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Subscribes to the calls that end in this process, each once its end is queued for the
    /// ledger. A slow subscriber delays no call.
    pub fn endings(&self) -> broadcast::Receiver<InvocationId> {
        self.endings.subscribe()
    }

    /// Publishes the end of a call.
    pub(crate) fn ended(&self, id: &InvocationId) {
        // Without a subscriber the send fails, which is fine.
        let _ = self.endings.send(id.clone());
    }

    /// The current world.
    pub fn world(&self) -> Arc<World> {
        self.world.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Cancellation tokens of the calls in flight, by id.
    pub(crate) fn running(&self) -> MutexGuard<'_, HashMap<InvocationId, Cancel>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Declarations that this process has recorded.
    pub(crate) fn declared(&self) -> MutexGuard<'_, HashSet<(ToolKey, Digest)>> {
        self.declared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds a duration to a timestamp; an overflow returns it unchanged.
pub(crate) fn later(moment: Timestamp, by: Duration) -> Timestamp {
    moment
        .checked_add(haft_model::Span::new().microseconds(by.as_micros() as i64))
        .unwrap_or(moment)
}

/// Refusal of a cancelled call.
pub(crate) fn called_off(when: &str) -> Stop {
    Stop::new(Code::CanceledCaller, format!("called off {when}"))
}
