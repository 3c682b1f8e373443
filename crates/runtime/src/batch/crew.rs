//! Many futures in one task, each polled only when it was woken.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Work of a certain lifetime that can be handed between threads.
type Work<'w, T> = Pin<Box<dyn Future<Output = T> + Send + 'w>>;

/// Futures that go on side by side, without tasks of their own: they may borrow.
pub(crate) struct Crew<'w, T> {
    members: Vec<Option<(Work<'w, T>, Waker)>>,
    bells: Arc<Bells>,
    left: usize,
}

/// Who was woken, and whom to tell.
#[derive(Default)]
struct Bells(Mutex<(Vec<usize>, Option<Waker>)>);

/// The bell of one of them.
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

impl<'w, T> Crew<'w, T> {
    pub(crate) fn new(works: impl Iterator<Item = Work<'w, T>>) -> Crew<'w, T> {
        let bells = Arc::<Bells>::default();
        let member = |(index, work)| {
            let bell = Bell { bells: bells.clone(), index };
            Some((work, Waker::from(Arc::new(bell))))
        };
        let members: Vec<_> = works.enumerate().map(member).collect();
        let left = members.len();
        bells.0.lock().unwrap_or_else(PoisonError::into_inner).0.extend(0..left);
        Crew { members, bells, left }
    }

    /// What all of them gave, in their order.
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

    /// What ended since last time, each with its index; nothing once all have ended.
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
