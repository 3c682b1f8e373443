//! Batches against a simple model: what depends comes after, what is exclusive is alone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_model::{Actor, Call};
use serde_json::json;

use super::course::{Course, Fate, Lane};
use super::order::{Order, order};
use super::{BatchCall, OnFailure};
use crate::queue::{Dice, Queue, Wanted};

fn calls(members: &[(Option<&str>, &[&str])]) -> Vec<BatchCall> {
    let actor = Actor::new("ann", "local", []);
    let member = |(id, depends_on): &(Option<&str>, &[&str])| BatchCall {
        id: id.map(str::to_owned),
        depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
        ..BatchCall::from(Call::new(actor.clone(), "note.show", json!({})))
    };
    members.iter().map(member).collect()
}

#[test]
fn calls_are_named_by_id_or_by_index_and_whoever_needs_a_later_one_comes_after_it() {
    let found = order(&calls(&[
        (Some("a"), &["c"]),
        (None, &[]),
        (Some("c"), &["1"]),
        (None, &["a", "0", "c"]),
    ]));
    let after = vec![vec![2], vec![], vec![1], vec![0, 2]];
    assert_eq!(found, Ok(Order { after, rank: vec![2, 0, 1, 3] }));
}

#[test]
fn a_batch_that_makes_no_sense_is_refused_as_a_whole() {
    let told = |members| order(&calls(members)).unwrap_err().message;
    assert_eq!(
        [
            told(&[(Some("a"), &[]), (None, &["b"])]),
            told(&[(Some("a"), &["1"]), (Some("b"), &["a"])]),
            told(&[(None, &["0"])]),
            told(&[(Some("a"), &[]), (Some("a"), &[])]),
            told(&[(None, &["7"])]),
        ],
        [
            "call 1 depends on `b`, and the batch has no such call",
            "call 0 depends on itself, or on calls that wait for each other",
            "call 0 depends on itself, or on calls that wait for each other",
            "calls 0 and 1 both have the id `a`",
            "call 0 depends on `7`, and the batch has no such call",
        ]
    );
}

/// What happened to one call of a random batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Began(usize),
    Ran(usize),
    Stopped(usize),
    Ended(usize),
}

/// A random batch, and what each of its calls will do.
struct Random {
    lanes: Vec<Lane>,
    /// Whether it really may run beside others: what was foreseen may be wrong.
    safe: Vec<bool>,
    fails: Vec<bool>,
}

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
    let fails = lanes.iter().map(|_| dice.roll(6) == 0).collect();
    Random { lanes, safe, fails }
}

/// One call of a random batch.
struct Runner {
    course: Arc<Course>,
    queue: Arc<Queue>,
    seen: Arc<Mutex<Vec<Seen>>>,
    index: usize,
    safe: bool,
    fails: bool,
    naps: u64,
}

impl Runner {
    fn note(&self, event: Seen) {
        self.seen.lock().unwrap().push(event);
    }

    async fn naps(&self) {
        for _ in 0..self.naps {
            tokio::task::yield_now().await;
        }
    }

    async fn works(&self) {
        self.note(Seen::Began(self.index));
        self.naps().await;
        let turn = self.course.clone().enter(self.index, self.safe).await;
        let (locks, actor) = (Default::default(), Arc::new(Actor::new("ann", "local", [])));
        let wanted = Wanted { locks: &locks, shared: self.safe, actor, priority: 0 };
        let slot = self.queue.enter(wanted).await.unwrap();
        self.note(Seen::Ran(self.index));
        self.naps().await;
        self.note(Seen::Stopped(self.index));
        drop((slot, turn));
    }

    async fn runs(self) {
        let wish = haft_driver::Cancel::new();
        self.course.listens(self.index, wish.clone());
        self.course.begin(self.index).await;
        let done = tokio::select! {
            biased;
            () = wish.cancelled() => false,
            () = self.works() => true,
        };
        self.note(Seen::Ended(self.index));
        let fate = if done && !self.fails { Fate::Well } else { Fate::Badly };
        self.course.over(self.index, fate);
    }
}

/// Runs a random batch as the pipeline would, with a queue behind it, and tells what happened.
async fn run(
    batch: &Random,
    policy: OnFailure,
    dice: &mut Dice,
) -> (Vec<Seen>, Vec<Option<usize>>) {
    let course = Course::new(batch.lanes.clone(), policy);
    let queue = Arc::new(Queue::new(1 + dice.roll(3) as usize));
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let mut tasks = tokio::task::JoinSet::new();
    for index in 0..batch.lanes.len() {
        let runner = Runner {
            course: course.clone(),
            queue: queue.clone(),
            seen: seen.clone(),
            index,
            safe: batch.safe[index],
            fails: batch.fails[index],
            naps: dice.roll(5),
        };
        tasks.spawn(runner.runs());
    }
    let all = async {
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap()
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all).await.expect("the batch hangs");
    let taken = (0..batch.lanes.len()).map(|index| course.taken_by(index)).collect();
    (Arc::into_inner(seen).unwrap().into_inner().unwrap(), taken)
}

/// Holds what happened against the rules.
fn check(batch: &Random, seen: &[Seen]) {
    let at = |event: Seen| seen.iter().position(|other| *other == event);
    let end_of_run = |index| at(Seen::Stopped(index)).or_else(|| at(Seen::Ended(index)));
    for (index, lane) in batch.lanes.iter().enumerate() {
        assert!(at(Seen::Ended(index)).is_some(), "{index} vanished");
        for needed in lane.after.iter().filter(|_| at(Seen::Began(index)).is_some()) {
            assert!(at(Seen::Ended(*needed)) < at(Seen::Began(index)), "{index} did not wait");
        }
        let Some(ran) = at(Seen::Ran(index)) else { continue };
        for (other, beside) in batch.lanes.iter().enumerate() {
            let Some(began) = at(Seen::Ran(other)).filter(|_| other != index) else { continue };
            let overlaps = began < end_of_run(index).unwrap() && ran < end_of_run(other).unwrap();
            assert!(!overlaps || batch.safe[index] && batch.safe[other], "{index} met {other}");
            // Where what was foreseen is true, exclusive calls keep their place.
            let exclusive = !batch.safe[index] || !batch.safe[other];
            let foreseen = lane.safe == batch.safe[index] && beside.safe == batch.safe[other];
            if exclusive && foreseen && beside.rank < lane.rank {
                assert!(began < ran, "{index} overtook {other}");
            }
        }
    }
}

/// Holds who was taken along against the policy.
fn check_taken(batch: &Random, policy: OnFailure, seen: &[Seen], taken: &[Option<usize>]) {
    for (index, by) in taken.iter().enumerate() {
        let failed = |other: &usize| batch.fails[*other] || taken[*other].is_some();
        let dependent = batch.lanes[index].after.iter().any(failed);
        match policy {
            OnFailure::Ignore => assert_eq!(*by, None),
            OnFailure::CancelDependent => assert_eq!(by.is_some(), dependent, "{index}"),
            OnFailure::CancelSiblings => {
                assert!(by.is_none_or(|by| failed(&by) && by != index), "{index}");
            }
        }
        if dependent && policy != OnFailure::Ignore {
            assert!(!seen.contains(&Seen::Ran(index)), "{index} ran all the same");
        }
    }
}

#[tokio::test]
async fn random_batches_keep_their_order_and_never_hang() {
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let batch = random(&mut dice);
        let policies = [OnFailure::Ignore, OnFailure::CancelSiblings, OnFailure::CancelDependent];
        let policy = policies[dice.roll(3) as usize];
        let (seen, taken) = run(&batch, policy, &mut dice).await;
        check(&batch, &seen);
        check_taken(&batch, policy, &seen, &taken);
    }
}
