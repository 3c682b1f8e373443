//! Submission of a request: recorded between connecting and sending, and checked again right before
//! its bytes leave.
//!
//! INVARIANT: no request of an announced call leaves under a clearance that has expired.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use haft_driver::{Clearance, Failure, Link};
use haft_model::EffectState;
use tower_layer::Layer;
use tower_service::Service;

use super::connection_reuse::ConnectTurn;

pub(crate) type SendFault = Box<dyn std::error::Error + Send + Sync>;

/// How far a call has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendStage {
    /// Nothing was submitted or sent.
    Unsent,
    /// The submission was recorded, and nothing was sent.
    Announced,
    /// A request was sent and has no response yet.
    Sent,
    /// The last request was answered with this HTTP status.
    Answered(u16),
    /// The last request was answered with an elicitation, so the backend has not acted yet.
    InputRequired,
}

impl SendStage {
    /// The effect state of a call that ends at this stage.
    fn effect(self) -> EffectState {
        match self {
            SendStage::Unsent => EffectState::NotSubmitted,
            SendStage::Announced | SendStage::InputRequired => EffectState::NotCommitted,
            SendStage::Answered(200..=299) => EffectState::Committed,
            SendStage::Sent | SendStage::Answered(_) => EffectState::Unknown,
        }
    }
}

/// The submission of a call: records it before the first request leaves, and tracks its stage.
#[derive(Debug)]
pub(crate) struct Sending {
    link: Option<Link>,
    reached: Mutex<ReachedHost>,
    unrecorded: Mutex<Option<Failure>>,
}

#[derive(Debug)]
struct ReachedHost {
    stage: SendStage,
    given_up: bool,
    /// The stage while nothing of the current request has left.
    held: SendStage,
    /// The clearance of the last submission.
    clearance: Clearance,
}

/// The submission of the next request.
struct NextSubmission {
    /// Whether it is the call's first submission.
    first: bool,
    /// The stage until the request leaves.
    held: SendStage,
}

impl Sending {
    /// For a write: its submission is recorded.
    pub(crate) fn announced(link: Link) -> Sending {
        Sending::new(Some(link))
    }

    /// For a read: there is nothing to record.
    pub(crate) fn silent() -> Sending {
        Sending::new(None)
    }

    fn new(link: Option<Link>) -> Sending {
        let (stage, held, clearance) =
            (SendStage::Unsent, SendStage::Announced, Clearance::default());
        let reached = Mutex::new(ReachedHost { stage, given_up: false, held, clearance });
        Sending { link, reached, unrecorded: Mutex::new(None) }
    }

    pub(crate) fn stage(&self) -> SendStage {
        self.lock().stage
    }

    /// Whether the submission is recorded before the request leaves.
    pub(crate) fn is_announced(&self) -> bool {
        self.link.is_some()
    }

    /// The effect state of a call that ends at this stage.
    pub(crate) fn effect(&self) -> EffectState {
        self.stage().effect()
    }

    /// Stops further sending; what has left stays sent.
    pub(crate) fn give_up(&self) {
        self.lock().given_up = true;
    }

    pub(crate) fn answered(&self, status: u16) {
        self.reached(SendStage::Answered(status));
    }

    /// The backend elicits input before it acts, so the next request is a new submission.
    pub(crate) fn input_required(&self) {
        self.reached(SendStage::InputRequired);
    }

    fn reached(&self, stage: SendStage) {
        self.lock().stage = stage;
    }

    fn lock(&self) -> MutexGuard<'_, ReachedHost> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The failure where the submission was not recorded or its clearance expired.
    pub(crate) fn unrecorded(&self) -> Option<Failure> {
        self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Submits the next request. It is submitted once, however often it is tried until it is
    /// answered. A request after an elicitation is a new submission; one after another response is,
    /// where the clearance of the first has expired.
    pub(crate) async fn begin(&self) -> Result<(), SendFault> {
        if let (Some(next), Some(link)) = (self.next_submission(), &self.link) {
            let NextSubmission { first, held } = next;
            match link.submit().await {
                Ok(clearance) => self.lock().clearance = clearance,
                Err(failure) => {
                    let effect = if first { failure.effect } else { held.effect() };
                    return Err(self.withhold(Failure { effect, ..failure }));
                }
            }
        }
        self.check()?;
        self.reached(SendStage::Sent);
        Ok(())
    }

    /// Last check before the first byte of a request: the caller still waits for it, and no other
    /// process can have taken over its lease.
    pub(crate) fn check(&self) -> Result<(), SendFault> {
        if self.lock().given_up {
            return Err("the caller has left".into());
        }
        self.check_clearance()
    }

    /// Checks only the clearance, for the rest of a request that has begun to leave and has no
    /// effect before it is complete.
    pub(crate) fn check_clearance(&self) -> Result<(), SendFault> {
        let mut reached = self.lock();
        let Err(failure) = reached.clearance.check() else { return Ok(()) };
        reached.stage = reached.held;
        let effect = reached.stage.effect();
        drop(reached);
        Err(self.withhold(Failure { effect, ..failure }))
    }

    /// Submits again before an answer goes to a backend that works on the request, because it may
    /// act on the answer.
    pub(crate) async fn renew(&self) -> Result<(), Failure> {
        let (SendStage::Sent, Some(link)) = (self.stage(), &self.link) else { return Ok(()) };
        let clearance = link.submit().await?;
        self.lock().clearance = clearance;
        Ok(())
    }

    fn withhold(&self, failure: Failure) -> SendFault {
        let words = failure.stop.message.clone();
        *self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        words.into()
    }

    /// Reverts the stage: nothing has left, and another connection may carry the request.
    pub(super) fn held_back(&self) {
        let mut reached = self.lock();
        reached.stage = reached.held;
    }

    /// The submission that is due before the next request, if any. Resets the stage: nothing of
    /// that request has left, and the effect of the one before stays known.
    fn next_submission(&self) -> Option<NextSubmission> {
        let mut reached = self.lock();
        let (is_due, held) = match reached.stage {
            SendStage::Unsent | SendStage::InputRequired => (true, SendStage::Announced),
            answered @ SendStage::Answered(_) => (reached.clearance.check().is_err(), answered),
            SendStage::Announced | SendStage::Sent => return None,
        };
        let first = reached.stage == SendStage::Unsent;
        (reached.stage, reached.held) = (held, held);
        is_due.then_some(NextSubmission { first, held })
    }
}

/// Connector layer that records the submission between connecting and sending, which the client
/// does not expose otherwise.
#[derive(Clone)]
pub(super) struct Announce(pub(super) Arc<ConnectTurn>);

#[derive(Clone)]
pub(super) struct Announcing<S> {
    connect: S,
    turn: Arc<ConnectTurn>,
}

impl<S> Layer<S> for Announce {
    type Service = Announcing<S>;

    fn layer(&self, connect: S) -> Announcing<S> {
        Announcing { connect, turn: Arc::clone(&self.0) }
    }
}

impl<S, R> Service<R> for Announcing<S>
where
    S: Service<R, Error = SendFault>,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
{
    type Response = S::Response;
    type Error = SendFault;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, SendFault>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), SendFault>> {
        self.connect.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let Some(sending) = self.turn.take() else {
            return Box::pin(ConnectTurn::gone());
        };
        let connecting = self.connect.call(request);
        Box::pin(async move {
            let connection = connecting.await?;
            sending.begin().await?;
            Ok(connection)
        })
    }
}
