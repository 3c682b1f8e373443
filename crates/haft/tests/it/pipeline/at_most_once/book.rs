//! Model backend: random numbers decide what it does, and its own book has every effect.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use haft_driver::{Attempt, BoxFuture, Failure, Output};
use haft_model::{Code, EffectState, Envelope, InvocationId, Stop};
use serde_json::{Value, json};

use haft_testkit::SeededRandom;

/// Something that happened outside of the ledger, in the order in which it did.
#[derive(Clone, Debug)]
pub(crate) enum Happened {
    /// The backend changed something.
    Effect { id: InvocationId, tool: String, input: Value },
    /// A caller was given an answer.
    Told { id: InvocationId },
}

#[derive(Default)]
struct Pages {
    happened: Vec<Happened>,
    /// The keys of everything that took effect.
    keys: Vec<String>,
    /// How many requests are in flight, by call and by key.
    flying: HashMap<String, usize>,
}

/// The backend's own book.
pub(crate) struct Book {
    pages: Mutex<Pages>,
    dice: Mutex<SeededRandom>,
}

/// A request that may still take effect.
struct Flight {
    book: Arc<Book>,
    names: [String; 2],
}

impl Drop for Flight {
    fn drop(&mut self) {
        for name in &self.names {
            *self.book.pages().flying.entry(name.clone()).or_default() -= 1;
        }
    }
}

/// What the backend does with one request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Done,
    DoneLate,
    DoneAndLost,
    Lost,
    Unsent,
    Declined,
    Partly,
    UntilCanceled,
    Hangs,
    Breaks,
    BreaksAfter,
}

const FATES: [Fate; 14] = [
    Fate::Done,
    Fate::Done,
    Fate::Done,
    Fate::DoneLate,
    Fate::DoneAndLost,
    Fate::DoneAndLost,
    Fate::Lost,
    Fate::Unsent,
    Fate::Declined,
    Fate::Partly,
    Fate::UntilCanceled,
    Fate::Hangs,
    Fate::Breaks,
    Fate::BreaksAfter,
];

pub(crate) type Ran<'a> = BoxFuture<'a, Result<Output, Failure>>;

impl Book {
    pub(crate) fn new(seed: u64) -> Arc<Book> {
        Arc::new(Book { pages: Mutex::default(), dice: Mutex::new(SeededRandom::new(seed)) })
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn happened(&self) -> Vec<Happened> {
        self.pages().happened.clone()
    }

    pub(crate) fn told(&self, envelope: &Envelope) {
        self.pages().happened.push(Happened::Told { id: envelope.invocation_id.clone() });
    }

    /// How often a call took effect.
    pub(crate) fn effects(&self, wanted: &InvocationId) -> usize {
        let is_it = |one: &&Happened| matches!(one, Happened::Effect { id, .. } if id == wanted);
        self.pages().happened.iter().filter(is_it).count()
    }

    /// Whether a request of a call may still take effect.
    pub(crate) fn is_flying(&self, name: &str) -> bool {
        self.pages().flying.get(name).is_some_and(|many| *many > 0)
    }

    fn effect(&self, attempt: &Attempt<'_>) {
        let mut pages = self.pages();
        pages.keys.extend(attempt.key.clone());
        pages.happened.push(Happened::Effect {
            id: attempt.permit().invocation().clone(),
            tool: attempt.plan.tool.id.to_string(),
            input: attempt.input.clone().into_owned(),
        });
    }

    fn flight(self: &Arc<Book>, attempt: &Attempt<'_>) -> Flight {
        let names =
            [attempt.permit().invocation().to_string(), attempt.key.clone().unwrap_or_default()];
        for name in &names {
            *self.pages().flying.entry(name.clone()).or_default() += 1;
        }
        Flight { book: self.clone(), names }
    }

    /// What the backend says of a key: nothing certain while a request is in flight.
    fn state(&self, key: &str) -> &'static str {
        if self.is_flying(key) || self.dice.lock().unwrap().below(4) == 0 {
            return "who knows";
        }
        if self.pages().keys.iter().any(|known| known == key) { "done" } else { "none" }
    }

    /// The operation that tells what became of a call.
    pub(crate) fn looks(self: &Arc<Book>) -> impl for<'a> Fn(Attempt<'a>) -> Ran<'a> + use<> {
        let book = self.clone();
        move |attempt| {
            let state = book.state(attempt.input["key"].as_str().unwrap_or_default());
            Box::pin(async move { Ok(Output::read(json!({ "state": state, "id": "e" }))) })
        }
    }

    /// A write. One that reports says when its effect begins.
    pub(crate) fn writes(
        self: &Arc<Book>,
        reports: bool,
    ) -> impl for<'a> Fn(Attempt<'a>) -> Ran<'a> + use<> {
        let book = self.clone();
        move |attempt| {
            let book = book.clone();
            let fate = book.dice.lock().unwrap().choose(&FATES);
            let early = book.dice.lock().unwrap().below(3) == 0;
            Box::pin(async move { book.carried_out(attempt, fate, reports, early).await })
        }
    }

    async fn carried_out(
        self: Arc<Book>,
        attempt: Attempt<'_>,
        fate: Fate,
        reports: bool,
        early: bool,
    ) -> Result<Output, Failure> {
        use EffectState::{NotCommitted, NotSubmitted, PartiallyCommitted, Unknown};
        let failed = |code, effect| Err(Failure::new(Stop::new(code, "it failed"), effect));
        match fate {
            Fate::Unsent => return failed(Code::DependencyUnavailable, NotSubmitted),
            Fate::Hangs if early => return std::future::pending().await,
            Fate::Breaks if early => panic!("the driver breaks"),
            _ => {}
        }
        let _flight = self.flight(&attempt);
        if reports {
            attempt.link.submit().await?;
        }
        match fate {
            Fate::Done => self.effect(&attempt),
            Fate::DoneLate => {
                tokio::time::sleep(Duration::from_millis(3)).await;
                self.effect(&attempt);
            }
            Fate::DoneAndLost => {
                self.effect(&attempt);
                return failed(Code::TimeoutUnknownCommit, Unknown);
            }
            Fate::Lost => return failed(Code::TimeoutUnknownCommit, Unknown),
            Fate::Unsent | Fate::Declined => return failed(Code::ExecutionFailed, NotCommitted),
            Fate::Partly => {
                self.effect(&attempt);
                return failed(Code::EffectPartial, PartiallyCommitted);
            }
            Fate::UntilCanceled => {
                attempt.cancel.cancelled().await;
                return failed(Code::CanceledCaller, NotCommitted);
            }
            Fate::Hangs => std::future::pending().await,
            Fate::Breaks => panic!("the driver breaks"),
            Fate::BreaksAfter => {
                self.effect(&attempt);
                panic!("the driver breaks")
            }
        }
        Ok(Output::committed(json!({ "id": "e" })))
    }
}
