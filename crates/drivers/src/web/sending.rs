//! The moment between connecting and sending, at which a submission is put on record.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use haft_driver::{Failure, Link};
use haft_model::EffectState;
use tower_layer::Layer;
use tower_service::Service;

use super::line::Turn;

pub(crate) type Fault = Box<dyn std::error::Error + Send + Sync>;

/// How far a call has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing was sent.
    Unsent,
    /// It was said that something will be sent, and nothing was.
    Announced,
    /// A request was sent and not answered yet.
    Sent,
    /// The last request was answered with this status.
    Answered(u16),
}

/// The sending side of a call: it says when the first request goes out, and remembers how far it got.
#[derive(Debug)]
pub(crate) struct Sending {
    link: Option<Link>,
    reached: Mutex<Reached>,
    unrecorded: Mutex<Option<Failure>>,
}

#[derive(Clone, Copy, Debug)]
struct Reached {
    stage: Stage,
    given_up: bool,
}

impl Sending {
    /// Of a call that says when its effect begins.
    pub(crate) fn announced(link: Link) -> Sending {
        Sending::new(Some(link))
    }

    /// Of a call that has no effect to announce.
    pub(crate) fn silent() -> Sending {
        Sending::new(None)
    }

    fn new(link: Option<Link>) -> Sending {
        let reached = Mutex::new(Reached { stage: Stage::Unsent, given_up: false });
        Sending { link, reached, unrecorded: Mutex::new(None) }
    }

    pub(crate) fn stage(&self) -> Stage {
        self.lock().stage
    }

    /// Whether it is put on record before it goes out.
    pub(crate) fn is_announced(&self) -> bool {
        self.link.is_some()
    }

    /// What is known of the effect of a call that ends here.
    pub(crate) fn effect(&self) -> EffectState {
        match self.stage() {
            Stage::Unsent => EffectState::NotSubmitted,
            Stage::Announced => EffectState::NotCommitted,
            Stage::Answered(200..=299) => EffectState::Committed,
            Stage::Sent | Stage::Answered(_) => EffectState::Unknown,
        }
    }

    /// From here on nothing is sent any more; what was sent, was.
    pub(crate) fn give_up(&self) {
        self.lock().given_up = true;
    }

    pub(crate) fn answered(&self, status: u16) {
        self.reached(Stage::Answered(status));
    }

    fn reached(&self, stage: Stage) {
        self.lock().stage = stage;
    }

    fn lock(&self) -> MutexGuard<'_, Reached> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the submission could not be recorded, if that is why the call ended.
    pub(crate) fn unrecorded(&self) -> Option<Failure> {
        self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The request is next. It is announced once, however many follow.
    pub(crate) async fn begin(&self) -> Result<(), Fault> {
        if let (Stage::Unsent, Some(link)) = (self.stage(), &self.link) {
            self.reached(Stage::Announced);
            if let Err(failure) = link.submit().await {
                *self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                return Err("the submission was not recorded".into());
            }
        }
        let mut reached = self.lock();
        if reached.given_up {
            return Err("whoever wanted it sent has left".into());
        }
        reached.stage = Stage::Sent;
        Ok(())
    }

    /// What was to be sent was not, and may be sent another way.
    pub(super) fn held_back(&self) {
        self.reached(Stage::Announced);
    }
}

/// Says that the effect begins between connecting and sending, where neither is possible from
/// outside of the client.
#[derive(Clone)]
pub(super) struct Announce(pub(super) Arc<Turn>);

#[derive(Clone)]
pub(super) struct Announcing<S> {
    connect: S,
    turn: Arc<Turn>,
}

impl<S> Layer<S> for Announce {
    type Service = Announcing<S>;

    fn layer(&self, connect: S) -> Announcing<S> {
        Announcing { connect, turn: Arc::clone(&self.0) }
    }
}

impl<S, R> Service<R> for Announcing<S>
where
    S: Service<R, Error = Fault>,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
{
    type Response = S::Response;
    type Error = Fault;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, Fault>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        self.connect.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let Some(sending) = self.turn.take() else {
            return Box::pin(Turn::gone());
        };
        let connecting = self.connect.call(request);
        Box::pin(async move {
            let connection = connecting.await?;
            sending.begin().await?;
            Ok(connection)
        })
    }
}
