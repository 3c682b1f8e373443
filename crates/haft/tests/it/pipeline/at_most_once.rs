//! At-most-once model test: a write takes effect at most once per intent and every answer is true,
//! with random crashes, vanished callers, store failures and approvals.

mod book;
mod rest;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use haft::Host;
use haft_driver::Cancel;
use haft_ledger::{
    BoxFuture, Draft, Error, MemoryStore, QuestionFilter, Receipt, RunFilter, SqliteOptions,
    SqliteStore, Store, Wait,
};
use haft_model::{Call, Envelope, Span};
use haft_runtime::{
    AnswerOutcome, CallOptions, Clock, ManualResolution, Patience, StoppedClock, Unsent,
};
use haft_testkit::Folder;
use serde_json::json;

use crate::meddled::{MeddledStore, Meddler};
use crate::stage::{READ, Setting, Stage, WRITE, extras};
use book::Book;
use haft_testkit::SeededRandom;

/// How many games are played in memory, and how many on a disk.
const GAMES: u64 = 16;
const GAMES_ON_DISK: u64 = 4;
/// How many moves a game has before everything comes to rest.
const MOVES: usize = 40;

const STATUS: &str = "status: { tool: look, input: { key: \"${idempotency.key}\" }, \
    committed: \"output.state == 'done'\", absent: \"output.state == 'none'\", \
    output: { id: \"${output.id}\" } }";
const TOOLS: [&str; 6] = ["plain", "says", "asks", "keyed", "natural", "none"];

/// A store that fails now and then, as long as the game lasts.
struct Failing {
    dice: Mutex<SeededRandom>,
    over: Arc<AtomicBool>,
}

impl Meddler for Failing {
    fn append<'a>(
        &'a self,
        store: &'a dyn Store,
        draft: Draft,
        wait: Wait,
    ) -> BoxFuture<'a, Result<Receipt, Error>> {
        let fails = !self.over.load(Ordering::SeqCst) && self.dice.lock().unwrap().one_in(40);
        match fails && draft.invocation.is_some() {
            true => Box::pin(async { Err(Error::Unwritable { cause: "the disk is full".into() }) }),
            false => store.append(draft, wait),
        }
    }
}

fn setting(book: &Arc<Book>, clock: &Arc<StoppedClock>, store: Arc<dyn Store>) -> Setting {
    let retry = "timeout_ms: 40\nretry: { max_attempts: 3, backoff: fixed, initial_ms: 1 }\n";
    let tool = |scope: &str, haft: &str| {
        let write = WRITE.replace("workspace:*", &format!("workspace:{scope}"));
        extras(&format!("{write}{retry}"), haft)
    };
    let ask = "[[rule]]\ntool = \"asks\"\nverdict = \"ask\"\n";
    Setting::default()
        .tool("plain", &tool("a", "{ supports_cancel: true }"))
        .tool("says", &tool("b", &format!("{{ supports_cancel: true, {STATUS} }}")))
        .tool("asks", &tool("c", &format!("{{ {STATUS} }}")))
        .tool("keyed", &tool("d", "{ idempotency: { mode: required } }"))
        .tool("natural", &tool("e", "{ idempotency: { mode: natural } }"))
        .tool("none", &tool("f", "{ idempotency: { mode: none } }"))
        .tool("look", READ)
        .act("plain", book.writes(false))
        .reporting_act("says", book.writes(true))
        .reporting_act("asks", book.writes(true))
        .act("keyed", book.writes(false))
        .reporting_act("natural", book.writes(true))
        .act("none", book.writes(false))
        .act("look", book.looks())
        .settings(ask)
        .settings("[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n")
        .clock(clock.clone())
        .store(store)
        .options(|options| {
            options.look = Duration::from_millis(1);
            options.grace = Duration::from_millis(5);
        })
}

/// Work of a process, for as long as the test drives it.
struct Work<'h> {
    future: Pin<Box<dyn Future<Output = Vec<Envelope>> + 'h>>,
    cancel: Cancel,
    /// Whether a caller waits for the answer.
    called: bool,
}

impl<'h> Work<'h> {
    /// Work whose answers no caller waits for.
    fn unheard(work: impl Future<Output = Vec<Envelope>> + 'h) -> Work<'h> {
        Work { future: Box::pin(work), cancel: Cancel::new(), called: false }
    }
}

struct Game<'h> {
    stage: &'h Stage,
    /// The store as an outside observer sees it, who does not wait for a stalled process.
    seen: Arc<dyn Store>,
    hosts: [&'h Host; 3],
    book: Arc<Book>,
    clock: Arc<StoppedClock>,
    dice: SeededRandom,
    works: Vec<Work<'h>>,
    told: Vec<Envelope>,
}

impl<'h> Game<'h> {
    fn host(&mut self) -> &'h Host {
        self.dice.choose(&self.hosts)
    }

    async fn make_a_move(&mut self) {
        match self.dice.below(20) {
            0..7 => self.call(),
            7..13 => self.go_on().await,
            13 | 14 => self.vanish(),
            15 => self.call_off(),
            16 => self.wait_past_leases(),
            17 => self.recover(),
            18 => self.answer().await,
            _ => self.settle().await,
        }
    }

    fn call(&mut self) {
        let mut call = Call::new(
            self.stage.agent(),
            self.dice.choose(&TOOLS),
            json!({"n": self.dice.below(2)}),
        );
        call.key = match self.dice.below(3) {
            0 => None,
            number => Some(format!("k{number}")),
        };
        let patience = self.dice.choose(&[Patience::Wait, Patience::Leave]);
        let manner = CallOptions { patience, ..CallOptions::default() };
        let cancel = manner.cancel.clone();
        let runtime = self.host().runtime();
        let future = Box::pin(async move { vec![runtime.call(call, manner).await] });
        self.works.push(Work { future, cancel, called: true });
    }

    fn recover(&mut self) {
        let runtime = self.host().runtime();
        // What the store refused is settled another time.
        self.works.push(Work::unheard(async { runtime.recover().await.unwrap_or_default() }));
    }

    /// Some work gets on by some steps; the rest stands still, as a process may.
    async fn go_on(&mut self) {
        if self.works.is_empty() {
            return;
        }
        let (at, steps) = (self.dice.below(self.works.len()), self.dice.below(12));
        for _ in 0..steps {
            if self.step(at).await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// One step of some work; true where it has ended.
    async fn step(&mut self, at: usize) -> bool {
        let future = &mut self.works[at].future;
        let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
        let Poll::Ready(envelopes) = polled else { return false };
        let work = self.works.swap_remove(at);
        for envelope in &envelopes {
            if work.called {
                self.book.told(envelope);
            }
        }
        self.told.extend(envelopes);
        true
    }

    fn vanish(&mut self) {
        if !self.works.is_empty() {
            let at = self.dice.below(self.works.len());
            drop(self.works.swap_remove(at));
        }
    }

    fn call_off(&mut self) {
        if !self.works.is_empty() {
            let at = self.dice.below(self.works.len());
            self.works[at].cancel.cancel();
        }
    }

    fn wait_past_leases(&mut self) {
        let seconds = self.dice.choose(&[4, 11]);
        self.clock.set(self.clock.now().checked_add(Span::new().seconds(seconds)).unwrap());
    }

    /// A person answers a question, on any host, which may carry the call out.
    async fn answer(&mut self) {
        let open = QuestionFilter { open: true, ..QuestionFilter::default() };
        let asked = self.seen.questions(&open).await.unwrap();
        if asked.is_empty() {
            return;
        }
        let id = self.dice.choose(&asked).question.id;
        let reply = if self.dice.one_in(4) { self.stage.no("no") } else { self.stage.yes() };
        let (runtime, runs) = (self.host().runtime(), self.dice.one_in(2));
        self.works.push(Work::unheard(async move {
            let answered = match runs {
                true => runtime.answer_and_run(&id, reply).await.ok(),
                false => runtime.answer(&id, reply).await.ok().map(|_| AnswerOutcome::Passed),
            };
            match answered {
                Some(AnswerOutcome::CarriedOut(envelope)) => vec![*envelope],
                Some(_) | None => Vec::new(),
            }
        }));
    }

    /// A person looks at the backend, and says what is true.
    async fn settle(&mut self) {
        let unknown = RunFilter { unknown: true, ..RunFilter::default() };
        let runs = self.seen.runs(&unknown).await.unwrap();
        if runs.is_empty() {
            return;
        }
        let id = self.dice.choose(&runs).invocation_id;
        if self.book.is_flying(id.as_str()) {
            return;
        }
        let what = match self.book.effects(&id) {
            0 => ManualResolution::Absent,
            _ => ManualResolution::Committed,
        };
        let (runtime, owner) = (self.host().runtime(), self.stage.owner());
        self.works.push(Work::unheard(async move {
            // Another process may have resolved it, and the store may fail.
            let _ = runtime.settle(&id, what, &owner, "I looked").await;
            Vec::new()
        }));
    }

    /// Drives all work until none is left, and resolves what remains.
    async fn come_to_rest(&mut self, story: &str) {
        for round in 0..400 {
            if round < 4 {
                self.clock.set(self.clock.now().checked_add(Span::new().seconds(11)).unwrap());
            }
            let open = QuestionFilter { open: true, ..QuestionFilter::default() };
            for asked in self.seen.questions(&open).await.unwrap() {
                let (runtime, yes) = (self.stage.host.runtime(), self.stage.yes());
                self.works.push(Work::unheard(async move {
                    let _ = runtime.answer(&asked.question.id, yes).await;
                    Vec::new()
                }));
            }
            for at in (0..self.works.len()).rev() {
                self.step(at).await;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
            if round % 20 == 3 {
                self.recover();
            }
            if self.works.is_empty() && round > 4 {
                break;
            }
        }
        assert_eq!(self.works.len(), 0, "{story}: something goes on for ever");
        for _ in 0..2 {
            for host in self.hosts {
                self.told.extend(host.runtime().recover().await.unwrap());
            }
        }
    }
}

async fn play(seed: u64, inner: Arc<dyn Store>, seen: Arc<dyn Store>) {
    let (book, over) = (Book::new(seed + 1), Arc::new(AtomicBool::new(false)));
    let clock = Arc::new(StoppedClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
    let failing = Failing { dice: Mutex::new(SeededRandom::new(seed + 2)), over: over.clone() };
    let store: Arc<dyn Store> = Arc::new(MeddledStore::new(inner, failing));
    let mut dice = SeededRandom::new(seed + 3);
    let unsent = dice.choose(&[Unsent::Refuse, Unsent::Run]);
    let stage = setting(&book, &clock, store.clone()).options(|o| o.unsent = unsent).open();
    let others = [stage.another(|_| {}), stage.another(|_| {})];
    let hosts = [&stage.host, &others[0], &others[1]];
    let story = format!("game {seed}, unsent: {unsent:?}");
    let mut game = Game {
        stage: &stage,
        seen,
        hosts,
        book: book.clone(),
        clock,
        dice,
        works: Vec::new(),
        told: Vec::new(),
    };
    for _ in 0..MOVES {
        game.make_a_move().await;
        tokio::task::yield_now().await;
    }
    over.store(true, Ordering::SeqCst);
    game.come_to_rest(&story).await;
    store.flush().await.unwrap();
    rest::effects_are_single(&*store, &book, &story).await;
    rest::answers_are_true(&book, &game.told, &story);
    rest::calls_are_over(&*store, &story).await;
    rest::log_gives_the_same_lists(&*store, &story).await;
}

#[tokio::test]
async fn random_faults_leave_single_effect_and_truthful_results() {
    for seed in 0..GAMES {
        let store = Arc::new(MemoryStore::new());
        play(seed * 10, store.clone(), store).await;
    }
}

#[tokio::test]
async fn random_faults_on_disk_store_leave_single_effect() {
    for seed in 0..GAMES_ON_DISK {
        let folder = Folder::new();
        let options = SqliteOptions::at(folder.path());
        let [store, seen] = [0, 1].map(|_| Arc::new(SqliteStore::open(options.clone()).unwrap()));
        play(seed * 10 + 5, store, seen).await;
        let verified = haft_ledger::verify_store(&options);
        assert!(verified.is_sound(), "game {seed}: {verified:?}");
    }
}
