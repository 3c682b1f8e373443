//! The course of one batch: who may begin, who may run, and who goes down with whom.

mod wishes;

pub(super) use wishes::Caught;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_driver::Cancel;
use tokio::sync::Notify;

use super::seat::DeferredModifiers;

use haft_model::{InterruptBehavior, OnFailure, Reported};

/// What a call of a batch waits for, as far as it is known before it begins.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    /// The calls that have to end before it begins.
    pub(super) after: Vec<usize>,
    /// Its place in the order in which exclusive calls are told from others.
    pub(super) rank: usize,
    /// Whether it may run beside others, as far as its input tells.
    pub(super) safe: bool,
}

/// How a call of a batch ended, as far as the others care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// As hoped.
    Well,
    /// A person has to answer first, and the batch does not wait.
    Waits,
    /// Not as hoped.
    Badly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallStage {
    /// Others have to end first.
    Held,
    /// On its way to its turn, or back from it.
    Walking,
    /// It waits for another call that means the same, and holds nobody up.
    Aside,
    /// It wants its turn.
    Wants,
    /// It has its turn.
    Runs,
    /// It has ended.
    Over,
}

struct Member {
    after: Vec<usize>,
    safe: bool,
    stage: CallStage,
    /// The call that took it along.
    taken_by: Option<usize>,
    /// Fires when it is to stop.
    wish: Option<Cancel>,
    /// Fires when its caller lost interest.
    caller: Cancel,
    /// Whether it has its turn and nothing keeps it from a driver any more.
    cleared: bool,
    /// Whether a driver was reached.
    started: bool,
    /// Whether its effect may have begun.
    submitted: bool,
    /// Why nobody wants it any more.
    discarded: Option<String>,
    /// Context modifiers that wait for the end of the batch.
    deferred: Option<DeferredModifiers>,
    /// Whether a person has to answer, after the batch went on without it.
    asks: bool,
    /// Whether it said itself that its result was handed over.
    yielded: bool,
    bell: Arc<Notify>,
}

/// One batch under way, shared by its calls.
pub(crate) struct Course {
    on_failure: OnFailure,
    interrupt: InterruptBehavior,
    members: Mutex<Vec<Member>>,
    /// Indexes in the order of the ranks.
    ranked: Vec<usize>,
    /// Whose result is handed over next; none where they are handed over as they come.
    next: Option<AtomicUsize>,
    /// How far calls are, as far as nobody was told yet.
    reports: Mutex<VecDeque<(usize, Reported)>>,
    /// Whether the caller lost interest.
    interrupted: AtomicBool,
}

/// What holds for all calls of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) on_failure: OnFailure,
    pub(super) interrupt: InterruptBehavior,
    /// Whether results are handed over in the order of the request.
    pub(super) in_order: bool,
}

/// A turn within the batch. It ends when this is dropped.
pub(crate) struct BatchTurn {
    course: Arc<Course>,
    index: usize,
}

impl Course {
    pub(super) fn new(lanes: Vec<Lane>, rules: Rules) -> Arc<Course> {
        let mut ranked: Vec<usize> = (0..lanes.len()).collect();
        ranked.sort_by_key(|index| lanes.get(*index).map(|lane| lane.rank));
        let member = |lane: Lane| Member {
            stage: if lane.after.is_empty() { CallStage::Walking } else { CallStage::Held },
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
        Arc::new(Course {
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

    /// Says how a call is told to stop.
    pub(super) fn listens(&self, index: usize, wish: Cancel) {
        if let Some(member) = self.members().get_mut(index) {
            if member.taken_by.is_some() || member.discarded.is_some() {
                wish.cancel();
            }
            member.wish = Some(wish);
        }
    }

    /// The call that took this one along.
    pub(super) fn taken_by(&self, index: usize) -> Option<usize> {
        self.members().get(index).and_then(|member| member.taken_by)
    }

    /// Waits until a call may begin, or was taken along.
    pub(super) async fn begin(&self, index: usize) {
        self.until(index, |stage| stage != CallStage::Held).await;
    }

    /// Waits for a turn beside or after the others.
    pub(super) async fn enter(self: Arc<Course>, index: usize, safe: bool) -> BatchTurn {
        // Whoever stops waiting gives its wish back by dropping this.
        let turn = BatchTurn { course: self.clone(), index };
        self.change(index, |member| (member.safe, member.stage) = (safe, CallStage::Wants));
        self.until(index, |stage| stage != CallStage::Wants).await;
        turn
    }

    /// Lets others pass a call that waits for one elsewhere, or takes it back among them.
    pub(super) fn stand_aside(&self, index: usize, aside: bool) {
        let stage = if aside { CallStage::Aside } else { CallStage::Walking };
        self.change(index, |member| member.stage = stage);
    }

    /// Notes that a call has ended, and does what is to be done about it.
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

    /// Whether the result of a call would be handed over at once.
    pub(super) fn is_its_turn(&self, index: usize) -> bool {
        self.next.as_ref().is_none_or(|next| next.load(Ordering::Relaxed) == index)
    }

    /// Notes that the result of a call was handed over.
    pub(super) fn handed_over(&self) {
        if let Some(next) = &self.next {
            next.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How far calls are, in the order in which they said so.
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
            // One bell per call and one call per bell: a ring before this line is kept.
            bell.notified().await;
        }
    }

    /// Lets everybody go on who may, in one pass over the order.
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
                    Some(CallStage::Walking)
                }
                CallStage::Wants if member.safe && all_safe && !alone => Some(CallStage::Runs),
                CallStage::Wants if !member.safe && all_over && runs == 0 => Some(CallStage::Runs),
                CallStage::Held
                | CallStage::Wants
                | CallStage::Walking
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
        let interrupted = self.course.interrupted.load(Ordering::Relaxed);
        self.course.change(self.index, |member| {
            member.cleared = false;
            // It had its turn and did not use it, so it was not left to finish.
            if interrupted && !member.started {
                member.caller.cancel();
            }
            if matches!(member.stage, CallStage::Wants | CallStage::Runs) {
                member.stage = CallStage::Walking;
            }
        });
    }
}
