//! Model-based test of the batch scheduler: dependencies come first, exclusive calls run alone, and
//! every call ends whatever is interrupted or discarded.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_driver::Cancel;
use haft_model::{Actor, Digest, DriverId, Event, InterruptBehavior, OnFailure, Started};

use crate::batch::scheduler::{BatchScheduler, Caught, Fate, Lane, Rules};
use crate::queue::{Dice, Queue, SlotRequest, overlap};

/// Event of a random batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Began(usize),
    Ran(usize),
    Stopped(usize),
    Ended(usize),
    /// The caller interrupted the batch.
    Interrupted,
    /// The call was discarded at this stage.
    Discarded(usize, Caught),
}

/// An interrupt or a discard, injected after this many events.
#[derive(Clone, Copy, Debug)]
enum Wish {
    Interrupt(usize),
    Discard(usize, usize),
}

/// A random batch, with the behaviour of each of its calls.
struct Random {
    lanes: Vec<Lane>,
    /// Whether it is really concurrency-safe: the expectation may be wrong.
    safe: Vec<bool>,
    fails: Vec<bool>,
    locks: Vec<BTreeSet<String>>,
    who: Vec<Arc<Actor>>,
    priority: Vec<i32>,
    rules: Rules,
    wishes: Vec<Wish>,
}

const NAMES: [&str; 5] = ["file:a", "file:a/b", "file:b", "file:*", "note:x"];

fn random(dice: &mut Dice) -> Random {
    let count = 2 + dice.roll(9) as usize;
    let mut shuffled: Vec<usize> = (0..count).collect();
    for place in 0..count {
        shuffled.swap(place, dice.roll(count as u64) as usize);
    }
    let mut lanes = vec![Lane::default(); count];
    for (rank, index) in shuffled.iter().enumerate() {
        let after = shuffled[..rank].iter().copied().filter(|_| dice.roll(5) == 0).collect();
        lanes[*index] = Lane { after, rank, safe: dice.roll(3) > 0 };
    }
    let safe = lanes.iter().map(|lane| lane.safe != (dice.roll(10) == 0)).collect();
    let policies = [OnFailure::Ignore, OnFailure::CancelSiblings, OnFailure::CancelDependent];
    let interrupts = [InterruptBehavior::Cancel, InterruptBehavior::Block];
    let moment = |dice: &mut Dice| dice.roll(count as u64 * 4) as usize;
    let mut wishes = Vec::new();
    if dice.roll(3) == 0 {
        wishes.push(Wish::Interrupt(moment(dice)));
    }
    for _ in 0..dice.roll(3) {
        wishes.push(Wish::Discard(moment(dice), dice.roll(count as u64) as usize));
    }
    Random {
        safe,
        fails: lanes.iter().map(|_| dice.roll(6) == 0).collect(),
        locks: lanes.iter().map(|_| locks(dice)).collect(),
        who: lanes.iter().map(|_| actor(dice)).collect(),
        priority: lanes.iter().map(|_| dice.roll(3) as i32).collect(),
        rules: Rules {
            on_failure: policies[dice.roll(3) as usize],
            interrupt: interrupts[dice.roll(2) as usize],
            in_order: dice.roll(2) == 0,
        },
        lanes,
        wishes,
    }
}

fn locks(dice: &mut Dice) -> BTreeSet<String> {
    (0..dice.roll(3)).map(|_| NAMES[dice.roll(5) as usize].to_owned()).collect()
}

fn actor(dice: &mut Dice) -> Arc<Actor> {
    Arc::new(Actor::new(["ann", "bob"][dice.roll(2) as usize], "local", []))
}

/// Runs one call of a random batch.
struct Runner {
    batch: Arc<Random>,
    scheduler: Arc<BatchScheduler>,
    queue: Arc<Queue>,
    seen: Arc<Mutex<Vec<Seen>>>,
    index: usize,
    naps: u64,
}

impl Runner {
    /// Logs an event, and injects the interrupts and discards that are due.
    fn note(&self, event: Seen) {
        let mut seen = self.seen.lock().unwrap();
        seen.push(event);
        for wish in &self.batch.wishes {
            match wish {
                Wish::Interrupt(after) if *after == seen.len() => {
                    self.scheduler.interrupted();
                    seen.push(Seen::Interrupted);
                }
                Wish::Discard(after, index) if *after == seen.len() => {
                    let caught = self.scheduler.discard(*index, "another plan").unwrap();
                    seen.push(Seen::Discarded(*index, caught));
                }
                Wish::Interrupt(_) | Wish::Discard(..) => {}
            }
        }
    }

    async fn naps(&self) {
        for _ in 0..self.naps {
            tokio::task::yield_now().await;
        }
    }

    async fn works(&self) -> bool {
        self.note(Seen::Began(self.index));
        self.naps().await;
        let safe = self.batch.safe[self.index];
        let turn = self.scheduler.clone().enter(self.index, safe).await;
        let wanted = SlotRequest {
            locks: &self.batch.locks[self.index],
            shared: safe,
            actor: self.batch.who[self.index].clone(),
            priority: self.batch.priority[self.index],
        };
        let slot = self.queue.enter(wanted).await.unwrap();
        if !self.scheduler.clear(self.index) {
            return false;
        }
        self.scheduler.noted(self.index, &started());
        self.note(Seen::Ran(self.index));
        self.naps().await;
        self.note(Seen::Stopped(self.index));
        drop((slot, turn));
        true
    }

    async fn runs(self) {
        let (wish, caller) = (Cancel::new(), self.scheduler.caller(self.index));
        self.scheduler.listens(self.index, wish.clone());
        let begins = tokio::select! {
            biased;
            () = caller.cancelled() => false,
            () = wish.cancelled() => false,
            () = self.scheduler.begin(self.index) => true,
        };
        let done = tokio::select! {
            biased;
            () = wish.cancelled() => false,
            () = caller.cancelled() => false,
            done = self.works(), if begins => done,
            else => false,
        };
        self.note(Seen::Ended(self.index));
        let fails = self.batch.fails[self.index];
        let fate = if done && !fails { Fate::Well } else { Fate::Badly };
        self.scheduler.over(self.index, fate);
    }
}

fn started() -> Event {
    Event::Started(Started {
        attempt: 1,
        driver: DriverId::from("canary"),
        call_input: Digest::of_bytes(b"{}"),
        fence: 0,
        charge: haft_model::Charge::default(),
    })
}

/// Runs a random batch as the pipeline does, with a queue, and returns the event log.
async fn run(batch: Arc<Random>, dice: &mut Dice) -> (Vec<Seen>, Vec<Option<usize>>) {
    let scheduler = BatchScheduler::new(batch.lanes.clone(), batch.rules);
    let queue = Arc::new(Queue::new(1 + dice.roll(3) as usize));
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let mut tasks = tokio::task::JoinSet::new();
    for index in 0..batch.lanes.len() {
        let (batch, scheduler, queue) = (batch.clone(), scheduler.clone(), queue.clone());
        let naps = dice.roll(5);
        tasks.spawn(Runner { batch, scheduler, queue, seen: seen.clone(), index, naps }.runs());
    }
    let all = async {
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap()
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all).await.expect("the batch hangs");
    let taken = (0..batch.lanes.len()).map(|index| scheduler.taken_by(index)).collect();
    (Arc::into_inner(seen).unwrap().into_inner().unwrap(), taken)
}

/// The event log, searchable by event.
struct Told<'s>(&'s [Seen]);

impl Told<'_> {
    fn at(&self, event: Seen) -> Option<usize> {
        self.0.iter().position(|other| *other == event)
    }

    fn end_of_run(&self, index: usize) -> Option<usize> {
        self.at(Seen::Stopped(index)).or_else(|| self.at(Seen::Ended(index)))
    }
}

/// Checks the event log: one end per call, dependencies, exclusivity and rank order.
fn check(batch: &Random, told: &Told<'_>) {
    for (index, lane) in batch.lanes.iter().enumerate() {
        let ends = told.0.iter().filter(|event| **event == Seen::Ended(index)).count();
        assert_eq!(ends, 1, "{index} vanished or came out twice");
        for needed in lane.after.iter().filter(|_| told.at(Seen::Began(index)).is_some()) {
            let in_time = told.at(Seen::Ended(*needed)) < told.at(Seen::Began(index));
            assert!(in_time, "{index} did not wait");
        }
        let Some(ran) = told.at(Seen::Ran(index)) else { continue };
        for (other, beside) in batch.lanes.iter().enumerate() {
            let began = told.at(Seen::Ran(other)).filter(|_| other != index);
            let Some(began) = began else { continue };
            let overlaps =
                began < told.end_of_run(index).unwrap() && ran < told.end_of_run(other).unwrap();
            assert!(!overlaps || batch.safe[index] && batch.safe[other], "{index} met {other}");
            // Where the expectation holds, exclusive calls keep their rank order.
            let exclusive = !batch.safe[index] || !batch.safe[other];
            let foreseen = lane.safe == batch.safe[index] && beside.safe == batch.safe[other];
            if exclusive && foreseen && beside.rank < lane.rank {
                assert!(began < ran, "{index} overtook {other}");
            }
        }
    }
}

/// Checks the cancelled siblings against the failure policy.
fn check_taken(batch: &Random, told: &Told<'_>, taken: &[Option<usize>]) {
    for (index, by) in taken.iter().enumerate() {
        let failed =
            |other: &usize| batch.fails[*other] || told.at(Seen::Stopped(*other)).is_none();
        let dependent = batch.lanes[index].after.iter().any(failed);
        match batch.rules.on_failure {
            OnFailure::Ignore => assert_eq!(*by, None),
            OnFailure::CancelDependent if batch.wishes.is_empty() => {
                assert_eq!(by.is_some(), dependent, "{index}");
            }
            OnFailure::CancelDependent => assert!(by.is_none() || dependent, "{index}"),
            OnFailure::CancelSiblings => {
                assert!(by.is_none_or(|by| failed(&by) && by != index), "{index}");
            }
        }
        if dependent && batch.rules.on_failure != OnFailure::Ignore {
            assert_eq!(told.at(Seen::Ran(index)), None, "{index} ran all the same");
        }
    }
}

/// Checks the effect of interrupts and discards.
fn check_wishes(batch: &Random, told: &Told<'_>, taken: &[Option<usize>]) {
    let interrupted = told.at(Seen::Interrupted);
    for (index, taken) in taken.iter().enumerate() {
        let ran = told.at(Seen::Ran(index));
        let superseded =
            |event: &&Seen| matches!(event, Seen::Discarded(other, _) if *other == index);
        let discarded = told.0.iter().find(superseded);
        if interrupted.is_some_and(|moment| ran.is_some_and(|ran| ran > moment)) {
            panic!("{index} ran after the caller had lost interest");
        }
        let blocked = batch.rules.interrupt == InterruptBehavior::Block;
        let left_alone = taken.is_none() && discarded.is_none();
        if ran.is_some() && left_alone && (blocked || interrupted.is_none()) {
            assert!(told.at(Seen::Stopped(index)).is_some(), "{index} was not let finish");
        }
        if let Some(Seen::Discarded(_, Caught::Waiting)) = discarded {
            assert_eq!(ran, None, "{index} ran although nobody wanted it any more");
        }
    }
}

#[tokio::test]
async fn random_batches_keep_their_order_and_never_hang() {
    let (mut interrupted, mut discarded, mut met) = (0, 0, 0);
    for seed in 0..1500 {
        let mut dice = Dice(seed);
        let batch = Arc::new(random(&mut dice));
        let (seen, taken) = run(batch.clone(), &mut dice).await;
        let told = Told(&seen);
        check(&batch, &told);
        check_taken(&batch, &told, &taken);
        check_wishes(&batch, &told, &taken);
        check_locks(&batch, &told, &mut met);
        interrupted += usize::from(told.at(Seen::Interrupted).is_some());
        discarded += seen.iter().filter(|event| matches!(event, Seen::Discarded(..))).count();
    }
    let shown = (interrupted > 200, discarded > 300, met > 300);
    assert_eq!(shown, (true, true, true), "{interrupted} {discarded} {met}");
}

/// Checks that calls with overlapping locks overlap only if both are concurrency-safe.
fn check_locks(batch: &Random, told: &Told<'_>, met: &mut usize) {
    for index in 0..batch.lanes.len() {
        for other in 0..index {
            let (Some(one), Some(two)) = (told.at(Seen::Ran(index)), told.at(Seen::Ran(other)))
            else {
                continue;
            };
            let together =
                one < told.end_of_run(other).unwrap() && two < told.end_of_run(index).unwrap();
            *met += usize::from(together);
            let touch = batch.locks[index]
                .iter()
                .any(|lock| batch.locks[other].iter().any(|held| overlap(lock, held)));
            let shared = batch.safe[index] && batch.safe[other];
            assert!(!together || !touch || shared, "{index} and {other} hold the same");
        }
    }
}
