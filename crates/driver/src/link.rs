//! The way back from a running driver: progress, parts of an answer, and the point of no return.

use haft_model::{Code, Content, EffectState, Progress, Stop};
use tokio::sync::{mpsc, oneshot};

use crate::Failure;

/// What a driver says while it runs.
#[derive(Debug)]
pub enum Said {
    /// How far it is.
    Progress(Progress),
    /// Part of the answer.
    Partial(Vec<Content>),
    /// The effect begins; it waits until that is on record.
    Submit(oneshot::Sender<Result<(), Stop>>),
    /// It heard that it is to stop.
    CancelHeard,
}

/// A driver's line to whoever runs it.
#[derive(Clone, Debug)]
pub struct Link(mpsc::Sender<Said>);

impl Link {
    /// A link, and the end at which it is heard.
    pub fn new() -> (Link, mpsc::Receiver<Said>) {
        let (sender, receiver) = mpsc::channel(16);
        (Link(sender), receiver)
    }

    /// Says how far the work is.
    pub async fn progress(&self, progress: Progress) {
        let _ = self.0.send(Said::Progress(progress)).await;
    }

    /// Hands over part of the answer.
    pub async fn partial(&self, content: Vec<Content>) {
        let _ = self.0.send(Said::Partial(content)).await;
    }

    /// Says that the wish to stop was heard.
    pub async fn cancel_heard(&self) {
        let _ = self.0.send(Said::CancelHeard).await;
    }

    /// Says that the effect begins now, and waits until that is on record. Where it cannot be put on
    /// record, there must be no effect.
    pub async fn submit(&self) -> Result<(), Failure> {
        let (sender, receiver) = oneshot::channel();
        let gone = || {
            let stop = Stop::new(Code::Internal, "nobody is left to record the effect");
            Failure::new(stop, EffectState::NotSubmitted)
        };
        self.0.send(Said::Submit(sender)).await.map_err(|_| gone())?;
        let recorded = receiver.await.map_err(|_| gone())?;
        recorded.map_err(|stop| Failure::new(stop, EffectState::NotSubmitted))
    }
}
