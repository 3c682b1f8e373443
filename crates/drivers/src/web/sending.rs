//! The moment between connecting and sending, at which a submission is put on record.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use haft_driver::{Failure, Link};
use tower_layer::Layer;
use tower_service::Service;

use super::line::Turn;

pub(super) type Fault = Box<dyn std::error::Error + Send + Sync>;

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
    stage: Mutex<Stage>,
    unrecorded: Mutex<Option<Failure>>,
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
        Sending { link, stage: Mutex::new(Stage::Unsent), unrecorded: Mutex::new(None) }
    }

    pub(crate) fn stage(&self) -> Stage {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn answered(&self, status: u16) {
        self.reached(Stage::Answered(status));
    }

    fn reached(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    /// Why the submission could not be recorded, if that is why the call ended.
    pub(crate) fn unrecorded(&self) -> Option<Failure> {
        self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The request is next. It is announced once, however many follow.
    pub(super) async fn begin(&self) -> Result<(), Fault> {
        if let (Stage::Unsent, Some(link)) = (self.stage(), &self.link) {
            self.reached(Stage::Announced);
            if let Err(failure) = link.submit().await {
                *self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                return Err("the submission was not recorded".into());
            }
        }
        self.reached(Stage::Sent);
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
