//! The way back from a running driver: progress, parts of an answer, and the point of no return.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_model::{Code, Content, EffectState, Progress, Secret, Stop};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::line::{Listener, SharedChannel};
use crate::vault::closed;
use crate::{Clearance, Failure, Inquiry, Remark};

/// What a driver says while it runs.
#[derive(Debug)]
pub enum DriverMessage {
    /// How far it is.
    Progress(Progress),
    /// Part of the answer.
    Partial(Vec<Content>),
    /// The effect begins; it waits until that is on record.
    Submit(oneshot::Sender<Result<Clearance, Stop>>),
    /// It wanted a secret; it waits until that is on record.
    Wanted {
        /// Which.
        slug: String,
        /// What it gets, or why it does not.
        outcome: Result<Secret, Stop>,
        /// Where it waits.
        reply: oneshot::Sender<Result<(), Stop>>,
    },
    /// It made a text of secrets, which nobody may see either.
    Hide(Secret),
    /// It wants to know something from whoever called, and waits for the answers.
    Ask {
        /// What, each under a name.
        asked: BTreeMap<String, Inquiry>,
        /// Where it waits.
        reply: oneshot::Sender<Result<BTreeMap<String, Value>, Stop>>,
    },
    /// It takes long from here on: whoever called may go on meanwhile.
    Backgrounded,
    /// Its backend has something to say that is neither progress nor an answer.
    Remark(Remark),
    /// It heard that it is to stop.
    CancelHeard,
}

/// A driver's line to whoever runs it.
#[derive(Clone, Debug)]
pub struct Link(Arc<SharedChannel>);

impl Link {
    /// A link, and the end at which it is heard.
    pub fn new() -> (Link, Listener) {
        let (line, listener) = SharedChannel::new();
        (Link(line), listener)
    }

    /// Says how far the work is.
    pub async fn progress(&self, progress: Progress) {
        let _ = self.0.say(DriverMessage::Progress(progress)).await;
    }

    /// The same without waiting: what nobody has the time to hear is left out.
    pub fn offer_progress(&self, progress: Progress) {
        self.0.offer(DriverMessage::Progress(progress));
    }

    /// Hands over part of the answer.
    pub async fn partial(&self, content: Vec<Content>) {
        let _ = self.0.say(DriverMessage::Partial(content)).await;
    }

    /// Asks whoever called; each answer is under the name of its inquiry.
    pub async fn ask(
        &self,
        asked: BTreeMap<String, Inquiry>,
    ) -> Result<BTreeMap<String, Value>, Stop> {
        let nobody = || Stop::new(Code::ApprovalRequired, "nobody is there who could be asked");
        let (reply, answered) = oneshot::channel();
        self.0.say(DriverMessage::Ask { asked, reply }).await.map_err(|_| nobody())?;
        answered.await.map_err(|_| nobody())?
    }

    /// Says that the rest takes long, so that a caller who can come back for the answer goes on.
    pub async fn backgrounded(&self) {
        let _ = self.0.say(DriverMessage::Backgrounded).await;
    }

    /// Hands on what a backend has to say.
    pub async fn remark(&self, remark: Remark) {
        let _ = self.0.say(DriverMessage::Remark(remark)).await;
    }

    /// Says that the wish to stop was heard.
    pub async fn cancel_heard(&self) {
        let _ = self.0.say(DriverMessage::CancelHeard).await;
    }

    /// Says that the effect begins now, and waits until that is on record. Where it cannot be put on
    /// record, or this process stood still meanwhile, there must be no effect. The driver checks the
    /// clearance again right before its first byte, and submits again before each further request that
    /// may act: the lease is renewed for it, and the deadline of the attempt moves.
    pub async fn submit(&self) -> Result<Clearance, Failure> {
        let clearance = self.recorded(DriverMessage::Submit).await?;
        clearance.check()?;
        Ok(clearance)
    }

    /// Says which secret was wanted and what became of that, and gives the secret once it is on record.
    pub(crate) async fn wanted(
        &self,
        slug: String,
        outcome: Result<Secret, Stop>,
    ) -> Result<Secret, Failure> {
        let said = |reply| DriverMessage::Wanted { slug, outcome: outcome.clone(), reply };
        self.recorded(said).await?;
        outcome.map_err(closed)
    }

    pub(crate) async fn hide(&self, made: Secret) {
        let _ = self.0.say(DriverMessage::Hide(made)).await;
    }

    /// Says something and waits until it is on record.
    async fn recorded<T>(
        &self,
        said: impl FnOnce(oneshot::Sender<Result<T, Stop>>) -> DriverMessage,
    ) -> Result<T, Failure> {
        let (sender, receiver) = oneshot::channel();
        let gone = || {
            let stop = Stop::new(Code::Internal, "nobody is left to record what happens");
            Failure::new(stop, EffectState::NotSubmitted)
        };
        self.0.say(said(sender)).await.map_err(|_| gone())?;
        let recorded = receiver.await.map_err(|_| gone())?;
        recorded.map_err(|stop| Failure::new(stop, EffectState::NotSubmitted))
    }
}
