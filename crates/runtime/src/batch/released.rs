//! What comes out of a batch: progress and results, each in its turn.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use haft_driver::{BoxFuture, Cancel};
use haft_model::{
    BatchReleased, ContextOutcome, Envelope, Event, Reported, ResultStatus, SchedulerPolicy,
    YieldPolicy,
};
use serde_json::Value;

use super::crew::Crew;
use super::discard::BatchHandle;
use super::seat::DeferredModifiers;

/// The results of a batch, as they are released. The calls go on while somebody asks for the next.
pub struct ResultStream<'r> {
    handle: BatchHandle<'r>,
    crew: Crew<'r, Envelope>,
    policy: Arc<SchedulerPolicy>,
    /// Ends when the caller wants no more.
    interrupted: Option<BoxFuture<'r, ()>>,
    ended: BTreeMap<usize, Envelope>,
    reports: VecDeque<(usize, Reported)>,
    /// What is handed over as soon as it is on record.
    due: Option<BatchNews>,
    writing: Option<BoxFuture<'r, ()>>,
    next: usize,
    over: bool,
}

/// Something that a batch hands over.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchNews {
    /// How far a call is.
    Progress {
        /// The place of the call in the request.
        index: usize,
        /// How far.
        reported: Box<Reported>,
    },
    /// The result of a call, once for each.
    Result {
        /// The place of the call in the request.
        index: usize,
        /// The result.
        envelope: Box<Envelope>,
    },
}

impl<'r> ResultStream<'r> {
    pub(super) fn new(
        handle: BatchHandle<'r>,
        crew: Crew<'r, Envelope>,
        policy: Arc<SchedulerPolicy>,
        interrupt: Cancel,
        planned: Event,
    ) -> ResultStream<'r> {
        let writer = handle.clone();
        // What cannot be put on record here cannot for the calls either, and they say so.
        let writing = async move { writer.write(None, planned).await.unwrap_or_default() };
        ResultStream {
            handle,
            crew,
            policy,
            interrupted: Some(Box::pin(interrupt.cancelled_owned())),
            ended: BTreeMap::new(),
            reports: VecDeque::new(),
            due: None,
            writing: Some(Box::pin(writing)),
            next: 0,
            over: false,
        }
    }

    /// The batch, for whoever wants to discard calls while another one waits for results.
    pub fn handle(&self) -> BatchHandle<'r> {
        self.handle.clone()
    }

    /// The next result with the index of its call; none when all are out.
    pub async fn next(&mut self) -> Option<(usize, Envelope)> {
        loop {
            match self.news().await? {
                BatchNews::Progress { .. } => {}
                BatchNews::Result { index, envelope } => return Some((index, *envelope)),
            }
        }
    }

    /// The next that is handed over: progress as the batch wishes, and every result once. Nothing is
    /// lost where somebody stops waiting and asks again.
    pub async fn news(&mut self) -> Option<BatchNews> {
        loop {
            self.written().await;
            if let Some(news) = self.due.take() {
                self.handle.hand_over(&news);
                return Some(news);
            }
            if let Some(news) = self.choose() {
                self.note(&news);
                self.due = Some(news);
                continue;
            }
            if !poll_fn(|context| self.poll(context)).await {
                self.over = true;
                return None;
            }
        }
    }

    /// Context modifiers that waited for the end of the batch, in the order of the request. From here
    /// on the record says that they count. There are none before all results are out.
    pub async fn context_modifiers(&mut self) -> Vec<(usize, Vec<Value>)> {
        let mut given = Vec::new();
        if !self.over {
            return given;
        }
        for (index, DeferredModifiers { mut fact, modifiers }) in self.handle.course.take_deferred()
        {
            fact.outcome = ContextOutcome::Applied;
            fact.reason = "the batch is over".to_owned();
            // Whoever has them has them, on record or not.
            let _ = self.handle.apply(index, fact).await;
            given.push((index, modifiers));
        }
        given
    }

    async fn written(&mut self) {
        if let Some(writing) = &mut self.writing {
            writing.await;
            self.writing = None;
        }
    }

    /// What may be handed over now.
    fn choose(&mut self) -> Option<BatchNews> {
        let waits = self.policy.yield_policy == YieldPolicy::AllOrdered;
        let told = self.reports.iter().position(|(index, _)| !waits || *index <= self.next);
        if let Some((index, reported)) = told.and_then(|place| self.reports.remove(place)) {
            return Some(BatchNews::Progress { index, reported: Box::new(reported) });
        }
        let found = match self.policy.yield_policy {
            YieldPolicy::UnorderedStreaming => self.ended.pop_first(),
            YieldPolicy::ProgressImmediateResultsOrdered | YieldPolicy::AllOrdered => {
                self.ended.remove_entry(&self.next)
            }
        };
        let (index, envelope) = found?;
        self.next += 1;
        self.handle.course.handed_over();
        Some(BatchNews::Result { index, envelope: Box::new(envelope) })
    }

    /// A result that had to wait, or never was in the queue, is noted as handed over.
    fn note(&mut self, news: &BatchNews) {
        let BatchNews::Result { index, envelope } = news else { return };
        let index = *index;
        let pending = envelope.status == ResultStatus::Pending;
        // The answer of another call that meant the same says nothing about this one.
        let own = self.handle.calls().get(index) == Some(&envelope.invocation_id);
        if pending || !own || self.handle.course.has_yielded(index) {
            return;
        }
        let writer = self.handle.clone();
        let batch = writer.id().to_owned();
        self.writing = Some(Box::pin(async move {
            let released = BatchReleased { batch, index: index as u64 };
            // Without it the record says that the result was not handed over, which harms nobody.
            let _ = writer.append(index, Event::BatchReleased(released)).await;
        }));
    }

    /// Lets the calls go on; false once all are over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        if let Some(wish) = &mut self.interrupted
            && Pin::new(wish).poll(context).is_ready()
        {
            self.interrupted = None;
            self.handle.course.interrupted();
        }
        let ended = self.crew.poll(context);
        self.reports.append(&mut self.handle.course.reports());
        match ended {
            Poll::Ready(ended) if ended.is_empty() => {
                Poll::Ready(!self.reports.is_empty() || !self.ended.is_empty())
            }
            Poll::Ready(ended) => {
                self.ended.extend(ended);
                Poll::Ready(true)
            }
            Poll::Pending if self.reports.is_empty() => Poll::Pending,
            // Reports that wait for their turn are no news.
            Poll::Pending => match self.choose() {
                Some(news) => {
                    self.note(&news);
                    self.due = Some(news);
                    Poll::Ready(true)
                }
                None => Poll::Pending,
            },
        }
    }
}
