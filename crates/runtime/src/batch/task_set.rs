//! Task set: polls many futures within one task, each only after its own waker fired.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// A boxed future that can move between threads.
type Work<'w, T> = Pin<Box<dyn Future<Output = T> + Send + 'w>>;

/// A set of concurrent futures without tasks of their own, so that they may borrow.
pub(crate) struct TaskSet<'w, T> {
    members: Vec<Option<(Work<'w, T>, Waker)>>,
    bells: Arc<Bells>,
    left: usize,
}

/// Indexes of woken futures, and the waker of the task that polls them.
#[derive(Default)]
struct Bells(Mutex<(Vec<usize>, Option<Waker>)>);

/// Waker of one future.
struct Bell {
    bells: Arc<Bells>,
    index: usize,
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        let waker = {
            let mut bells = self.bells.0.lock().unwrap_or_else(PoisonError::into_inner);
            bells.0.push(self.index);
            bells.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<'w, T> TaskSet<'w, T> {
    pub(crate) fn new(works: impl Iterator<Item = Work<'w, T>>) -> TaskSet<'w, T> {
        let bells = Arc::<Bells>::default();
        let member = |(index, work)| {
            let bell = Bell { bells: bells.clone(), index };
            Some((work, Waker::from(Arc::new(bell))))
        };
        let members: Vec<_> = works.enumerate().map(member).collect();
        let left = members.len();
        bells.0.lock().unwrap_or_else(PoisonError::into_inner).0.extend(0..left);
        TaskSet { members, bells, left }
    }

    /// Runs all futures to completion and returns their outputs in order.
    pub(crate) async fn all(mut self) -> Vec<T> {
        let mut given = std::collections::BTreeMap::new();
        loop {
            let ended = std::future::poll_fn(|context| self.poll(context)).await;
            if ended.is_empty() {
                return given.into_values().collect();
            }
            given.extend(ended);
        }
    }

    /// Outputs of futures that completed since the last poll, with their indexes; empty once all
    /// completed.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Vec<(usize, T)>> {
        let mut ended = Vec::new();
        let rung = {
            let mut bells = self.bells.0.lock().unwrap_or_else(PoisonError::into_inner);
            bells.1 = Some(context.waker().clone());
            std::mem::take(&mut bells.0)
        };
        for index in rung {
            let Some(place) = self.members.get_mut(index) else { continue };
            let Some((work, waker)) = place else { continue };
            if let Poll::Ready(value) = work.as_mut().poll(&mut Context::from_waker(waker)) {
                *place = None;
                self.left -= 1;
                ended.push((index, value));
            }
        }
        if ended.is_empty() && self.left > 0 { Poll::Pending } else { Poll::Ready(ended) }
    }
}
