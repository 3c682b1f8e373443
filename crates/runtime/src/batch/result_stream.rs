//! Result stream of a batch: yields progress and results in the order of the yield policy.

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

use super::discard::BatchHandle;
use super::membership::DeferredModifiers;
use super::task_set::TaskSet;

/// Stream of a batch's results. The calls make progress only while the caller polls it.
pub struct ResultStream<'r> {
    handle: BatchHandle<'r>,
    task_set: TaskSet<'r, Envelope>,
    policy: Arc<SchedulerPolicy>,
    /// Completes when the caller interrupts.
    interrupted: Option<BoxFuture<'r, ()>>,
    ended: BTreeMap<usize, Envelope>,
    reports: VecDeque<(usize, Reported)>,
    /// Item to yield once its record is written.
    due: Option<BatchNews>,
    writing: Option<BoxFuture<'r, ()>>,
    next: usize,
    over: bool,
}

/// An item of the stream.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchNews {
    /// Progress of a call.
    Progress {
        /// Index of the call in the request, from 0.
        index: usize,
        /// The progress report.
        reported: Box<Reported>,
    },
    /// The result of a call; yielded once for each call.
    Result {
        /// Index of the call in the request, from 0.
        index: usize,
        /// The call's envelope.
        envelope: Box<Envelope>,
    },
}

impl<'r> ResultStream<'r> {
    pub(super) fn new(
        handle: BatchHandle<'r>,
        task_set: TaskSet<'r, Envelope>,
        policy: Arc<SchedulerPolicy>,
        interrupt: Cancel,
        planned: Event,
    ) -> ResultStream<'r> {
        let writer = handle.clone();
        // If this append fails, the appends of the calls fail too, and their envelopes say so.
        let writing = async move { writer.write(None, planned).await.unwrap_or_default() };
        ResultStream {
            handle,
            task_set,
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

    /// A handle to discard calls while another task polls for results.
    pub fn handle(&self) -> BatchHandle<'r> {
        self.handle.clone()
    }

    /// The next result with the index of its call; `None` once all are yielded. Skips progress.
    pub async fn next(&mut self) -> Option<(usize, Envelope)> {
        loop {
            match self.news().await? {
                BatchNews::Progress { .. } => {}
                BatchNews::Result { index, envelope } => return Some((index, *envelope)),
            }
        }
    }

    /// The next item: progress as the yield policy says, and every result once. Cancel-safe:
    /// dropping the future loses no item.
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

    /// Takes the deferred context modifiers, in request order, and records that they apply. Empty
    /// until all results are yielded.
    pub async fn context_modifiers(&mut self) -> Vec<(usize, Vec<Value>)> {
        let mut given = Vec::new();
        if !self.over {
            return given;
        }
        for (index, DeferredModifiers { mut fact, modifiers }) in
            self.handle.scheduler.take_deferred()
        {
            fact.outcome = ContextOutcome::Applied;
            fact.reason = "the batch is over".to_owned();
            // The caller has the modifiers even if the append fails.
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

    /// Picks the next item that the yield policy allows.
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
        self.handle.scheduler.handed_over();
        Some(BatchNews::Result { index, envelope: Box::new(envelope) })
    }

    /// Records the release of a result that its own record does not show as yielded.
    fn note(&mut self, news: &BatchNews) {
        let BatchNews::Result { index, envelope } = news else { return };
        let index = *index;
        let pending = envelope.status == ResultStatus::Pending;
        // A replayed envelope belongs to another call and says nothing about this one.
        let own = self.handle.calls().get(index) == Some(&envelope.invocation_id);
        if pending || !own || self.handle.scheduler.has_yielded(index) {
            return;
        }
        let writer = self.handle.clone();
        let batch = writer.id().to_owned();
        self.writing = Some(Box::pin(async move {
            let released = BatchReleased { batch, index: index as u64 };
            // If the append fails, the record shows the result as not yielded, which is harmless.
            let _ = writer.append(index, Event::BatchReleased(released)).await;
        }));
    }

    /// Polls the calls; `false` once all ended.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        if let Some(wish) = &mut self.interrupted
            && Pin::new(wish).poll(context).is_ready()
        {
            self.interrupted = None;
            self.handle.scheduler.interrupted();
        }
        let ended = self.task_set.poll(context);
        self.reports.append(&mut self.handle.scheduler.reports());
        match ended {
            Poll::Ready(ended) if ended.is_empty() => {
                Poll::Ready(!self.reports.is_empty() || !self.ended.is_empty())
            }
            Poll::Ready(ended) => {
                self.ended.extend(ended);
                Poll::Ready(true)
            }
            Poll::Pending if self.reports.is_empty() => Poll::Pending,
            // Reports that still wait for their turn do not wake the caller.
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
