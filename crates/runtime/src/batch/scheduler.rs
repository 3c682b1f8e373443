//! Batch scheduler: tracks the stage of each call, its dependencies, and cancellation of siblings.
//!
//! INVARIANT: a call that is not concurrency-safe runs alone, once every call of a lower rank has
//! ended or stands aside.

mod cancellation;

pub(super) use cancellation::Caught;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_driver::Cancel;
use tokio::sync::Notify;

use super::membership::DeferredModifiers;

use haft_model::{InterruptBehavior, OnFailure, Reported};

/// Scheduling constraints of a call, as known before it begins.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    /// Indexes of the calls that have to end before it begins.
    pub(super) after: Vec<usize>,
    /// Its topological rank; exclusive calls run in this order.
    pub(super) rank: usize,
    /// Whether it is concurrency-safe, judged by its input before hooks change it.
    pub(super) safe: bool,
}

/// How a call ended, as far as the failure policy is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It succeeded.
    Well,
    /// It waits for approval, and the batch does not wait for it.
    Waits,
    /// It failed or was cancelled.
    Badly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallStage {
    /// It waits for its dependencies.
    Held,
    /// It is in a phase before its turn or after it.
    Preparing,
    /// It waits for an equal call elsewhere and does not block its siblings.
    Aside,
    /// It waits for its turn.
    Wants,
    /// It runs.
    Runs,
    /// It has ended, with or without success.
    Over,
}

struct Member {
    after: Vec<usize>,
    safe: bool,
    stage: CallStage,
    /// Index of the call whose failure cancelled this one.
    taken_by: Option<usize>,
    /// Cancels the call for a reason within the batch.
    wish: Option<Cancel>,
    /// Cancels the call on behalf of its caller.
    caller: Cancel,
    /// Whether it holds its turn and may reach its driver; from here on only the driver can stop
    /// it.
    cleared: bool,
    /// Whether an attempt started.
    started: bool,
    /// Whether its submission is on record, so that its effect may happen.
    submitted: bool,
    /// Reason of a discard; `None` while the result is wanted.
    discarded: Option<String>,
    /// Context modifiers deferred to the end of the batch.
    deferred: Option<DeferredModifiers>,
    /// Whether it was left in the approval inbox.
    asks: bool,
    /// Whether its own record says that its result was yielded.
    yielded: bool,
    bell: Arc<Notify>,
}

/// State of one running batch, shared by its calls.
pub(crate) struct BatchScheduler {
    on_failure: OnFailure,
    interrupt: InterruptBehavior,
    members: Mutex<Vec<Member>>,
    /// Call indexes, sorted by rank.
    ranked: Vec<usize>,
    /// Index of the next result to yield; `None` where results are unordered.
    next: Option<AtomicUsize>,
    /// Progress reports that the result stream has not taken yet.
    reports: Mutex<VecDeque<(usize, Reported)>>,
    /// Whether the caller interrupted the batch.
    interrupted: AtomicBool,
}

/// Policies that hold for all calls of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) on_failure: OnFailure,
    pub(super) interrupt: InterruptBehavior,
    /// Whether results are yielded in request order.
    pub(super) in_order: bool,
}

/// A call's turn within the batch. Dropping it releases the turn.
pub(crate) struct BatchTurn {
    scheduler: Arc<BatchScheduler>,
    index: usize,
}

impl BatchScheduler {
    pub(super) fn new(lanes: Vec<Lane>, rules: Rules) -> Arc<BatchScheduler> {
        let mut ranked: Vec<usize> = (0..lanes.len()).collect();
        ranked.sort_by_key(|index| lanes.get(*index).map(|lane| lane.rank));
        let member = |lane: Lane| Member {
            stage: if lane.after.is_empty() { CallStage::Preparing } else { CallStage::Held },
            after: lane.after,
            safe: lane.safe,
            taken_by: None,
            wish: None,
            caller: Cancel::new(),
            cleared: false,
            started: false,
            submitted: false,
            discarded: None,
            deferred: None,
            asks: false,
            yielded: false,
            bell: Arc::default(),
        };
        let members = Mutex::new(lanes.into_iter().map(member).collect());
        Arc::new(BatchScheduler {
            on_failure: rules.on_failure,
            interrupt: rules.interrupt,
            members,
            ranked,
            next: rules.in_order.then(AtomicUsize::default),
            reports: Mutex::default(),
            interrupted: AtomicBool::default(),
        })
    }

    fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers the cancellation handle of a call; fires it at once if the call is cancelled
    /// already.
    pub(super) fn listens(&self, index: usize, wish: Cancel) {
        if let Some(member) = self.members().get_mut(index) {
            if member.taken_by.is_some() || member.discarded.is_some() {
                wish.cancel();
            }
            member.wish = Some(wish);
        }
    }

    /// Index of the call whose failure cancelled this one.
    pub(super) fn taken_by(&self, index: usize) -> Option<usize> {
        self.members().get(index).and_then(|member| member.taken_by)
    }

    /// Waits until the dependencies of a call ended, or a failure cancelled it.
    pub(super) async fn begin(&self, index: usize) {
        self.until(index, |stage| stage != CallStage::Held).await;
    }

    /// Waits for a turn: shared with other concurrency-safe calls, or exclusive.
    pub(super) async fn enter(self: Arc<BatchScheduler>, index: usize, safe: bool) -> BatchTurn {
        // Dropping the turn withdraws the request, even while the call still waits.
        let turn = BatchTurn { scheduler: self.clone(), index };
        self.change(index, |member| (member.safe, member.stage) = (safe, CallStage::Wants));
        self.until(index, |stage| stage != CallStage::Wants).await;
        turn
    }

    /// Takes a call that waits for one elsewhere out of the scheduling order, or puts it back.
    pub(super) fn stand_aside(&self, index: usize, aside: bool) {
        let stage = if aside { CallStage::Aside } else { CallStage::Preparing };
        self.change(index, |member| member.stage = stage);
    }

    /// Marks a call as ended and cancels siblings or dependents as `on_failure` says.
    pub(super) fn over(&self, index: usize, fate: Fate) {
        let mut members = self.members();
        if let Some(member) = members.get_mut(index) {
            member.stage = CallStage::Over;
            member.asks = fate == Fate::Waits;
        }
        let (all, dependants) = match (fate, self.on_failure) {
            (Fate::Well, _) | (_, OnFailure::Ignore) => (false, false),
            (Fate::Badly, OnFailure::CancelSiblings) => (true, true),
            (Fate::Waits, OnFailure::CancelSiblings) | (_, OnFailure::CancelDependent) => {
                (false, true)
            }
        };
        for member in members.iter_mut().filter(|member| member.stage != CallStage::Over) {
            if (all || dependants && member.after.contains(&index)) && member.taken_by.is_none() {
                member.taken_by = Some(index);
                if let Some(wish) = &member.wish {
                    wish.cancel();
                }
            }
        }
        self.advance(&mut members);
    }

    /// Whether the result of a call would be yielded at once.
    pub(super) fn is_its_turn(&self, index: usize) -> bool {
        self.next.as_ref().is_none_or(|next| next.load(Ordering::Relaxed) == index)
    }

    /// Advances to the next result in request order.
    pub(super) fn handed_over(&self) {
        if let Some(next) = &self.next {
            next.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Progress reports, in the order of arrival.
    pub(super) fn reports(&self) -> MutexGuard<'_, VecDeque<(usize, Reported)>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, index: usize, change: impl FnOnce(&mut Member)) {
        let mut members = self.members();
        members.get_mut(index).map(change);
        self.advance(&mut members);
    }

    async fn until(&self, index: usize, reached: impl Fn(CallStage) -> bool) {
        loop {
            let bell = match self.members().get(index) {
                Some(member) if !reached(member.stage) => member.bell.clone(),
                Some(_) | None => return,
            };
            // `Notify` stores one permit per call, so a notification before this line is not lost.
            bell.notified().await;
        }
    }

    /// Advances every call that may continue, in one pass in rank order.
    fn advance(&self, members: &mut [Member]) {
        let over: Vec<bool> =
            members.iter().map(|member| member.stage == CallStage::Over).collect();
        let is_over = |index: &usize| over.get(*index).copied().unwrap_or(true);
        let running = |member: &&Member| member.stage == CallStage::Runs;
        let mut runs = members.iter().filter(running).count();
        let mut alone = members.iter().filter(running).any(|member| !member.safe);
        let (mut all_over, mut all_safe) = (true, true);
        for index in &self.ranked {
            let Some(member) = members.get_mut(*index) else { continue };
            let goes_on = match member.stage {
                CallStage::Held
                    if member.taken_by.is_some() || member.after.iter().all(is_over) =>
                {
                    Some(CallStage::Preparing)
                }
                CallStage::Wants if member.safe && all_safe && !alone => Some(CallStage::Runs),
                CallStage::Wants if !member.safe && all_over && runs == 0 => Some(CallStage::Runs),
                CallStage::Held
                | CallStage::Wants
                | CallStage::Preparing
                | CallStage::Aside
                | CallStage::Runs
                | CallStage::Over => None,
            };
            if let Some(stage) = goes_on {
                member.stage = stage;
                runs += usize::from(stage == CallStage::Runs);
                alone |= stage == CallStage::Runs && !member.safe;
                member.bell.notify_one();
            }
            let out_of_the_way = matches!(member.stage, CallStage::Over | CallStage::Aside);
            all_over &= out_of_the_way;
            all_safe &= out_of_the_way || member.safe;
        }
    }
}

impl Drop for BatchTurn {
    fn drop(&mut self) {
        let interrupted = self.scheduler.interrupted.load(Ordering::Relaxed);
        self.scheduler.change(self.index, |member| {
            member.cleared = false;
            // It released its turn without starting, so `Block` does not let it finish.
            if interrupted && !member.started {
                member.caller.cancel();
            }
            if matches!(member.stage, CallStage::Wants | CallStage::Runs) {
                member.stage = CallStage::Preparing;
            }
        });
    }
}
