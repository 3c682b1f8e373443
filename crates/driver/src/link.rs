//! Link from a running driver to the runtime: progress, partial results, elicitation and
//! submission.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_model::{Code, Content, EffectState, Progress, Secret, Stop};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::line::{Listener, SharedChannel};
use crate::vault::closed;
use crate::{Clearance, Failure, Inquiry, Remark};

/// Message from a running driver.
#[derive(Debug)]
pub enum DriverMessage {
    /// Progress report.
    Progress(Progress),
    /// Partial result.
    Partial(Vec<Content>),
    /// The effect begins; the driver waits until the submission is on record.
    Submit(oneshot::Sender<Result<Clearance, Stop>>),
    /// The driver requested a secret; it waits until that is on record.
    Wanted {
        /// Slug of the secret.
        slug: String,
        /// The secret, or the refusal.
        outcome: Result<Secret, Stop>,
        /// Receives the result of the recording.
        reply: oneshot::Sender<Result<(), Stop>>,
    },
    /// A text derived from secrets, to redact as well.
    Hide(Secret),
    /// Requests to the caller; the driver waits for the answers.
    Ask {
        /// Requests by key.
        asked: BTreeMap<String, Inquiry>,
        /// Receives the answers by key.
        reply: oneshot::Sender<Result<BTreeMap<String, Value>, Stop>>,
    },
    /// The rest runs in the background: the caller need not wait for it.
    Backgrounded,
    /// Log message of the backend.
    Remark(Remark),
    /// The driver received the cancellation.
    CancelHeard,
}

/// A driver's sender to the runtime; clones share one channel.
#[derive(Clone, Debug)]
pub struct Link(Arc<SharedChannel>);

impl Link {
    /// A link and its receiver.
    pub fn new() -> (Link, Listener) {
        let (line, listener) = SharedChannel::new();
        (Link(line), listener)
    }

    /// Sends progress, waiting for capacity.
    pub async fn progress(&self, progress: Progress) {
        let _ = self.0.say(DriverMessage::Progress(progress)).await;
    }

    /// Sends progress, or drops it if the channel is full.
    pub fn offer_progress(&self, progress: Progress) {
        self.0.offer(DriverMessage::Progress(progress));
    }

    /// Sends a partial result.
    pub async fn partial(&self, content: Vec<Content>) {
        let _ = self.0.say(DriverMessage::Partial(content)).await;
    }

    /// Asks the caller; each answer has the key of its request.
    pub async fn ask(
        &self,
        asked: BTreeMap<String, Inquiry>,
    ) -> Result<BTreeMap<String, Value>, Stop> {
        let nobody = || Stop::new(Code::ApprovalRequired, "the caller can no longer be asked");
        let (reply, answered) = oneshot::channel();
        self.0.say(DriverMessage::Ask { asked, reply }).await.map_err(|_| nobody())?;
        answered.await.map_err(|_| nobody())?
    }

    /// Reports that the rest runs in the background, so that a caller that polls for the result
    /// continues.
    pub async fn backgrounded(&self) {
        let _ = self.0.say(DriverMessage::Backgrounded).await;
    }

    /// Sends a log message of the backend.
    pub async fn remark(&self, remark: Remark) {
        let _ = self.0.say(DriverMessage::Remark(remark)).await;
    }

    /// Acknowledges the cancellation.
    pub async fn cancel_heard(&self) {
        let _ = self.0.say(DriverMessage::CancelHeard).await;
    }

    /// Reports that the effect begins now, and waits until the submission is on record. On an error
    /// there must be no effect: the record failed, or this process was suspended meanwhile. The
    /// driver checks the clearance again right before its first byte, and submits again before each
    /// further request that may act: the runtime renews the lease for it, and the deadline of the
    /// attempt moves.
    pub async fn submit(&self) -> Result<Clearance, Failure> {
        let clearance = self.recorded(DriverMessage::Submit).await?;
        clearance.check()?;
        Ok(clearance)
    }

    /// Reports a requested secret and its outcome, and returns the secret once that is on record.
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

    /// Sends a message and waits until it is on record.
    async fn recorded<T>(
        &self,
        said: impl FnOnce(oneshot::Sender<Result<T, Stop>>) -> DriverMessage,
    ) -> Result<T, Failure> {
        let (sender, receiver) = oneshot::channel();
        let gone = || {
            let stop = Stop::new(Code::Internal, "the runtime no longer records this call");
            Failure::new(stop, EffectState::NotSubmitted)
        };
        self.0.say(said(sender)).await.map_err(|_| gone())?;
        let recorded = receiver.await.map_err(|_| gone())?;
        recorded.map_err(|stop| Failure::new(stop, EffectState::NotSubmitted))
    }
}
