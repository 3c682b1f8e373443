//! Self-wake: polls a connection again at once when it wakes itself.
//!
//! The library hands the body of a request to its handler through a channel, and both ends are the
//! same task: it wakes itself twice for every request. Tokio takes a task that does so for one that
//! yields, and wakes another thread to help with it, which finds nothing to do or takes the task
//! away from its warm caches.

use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Most polls in a row before other tasks have their turn.
const MOST: usize = 8;

/// Wake states of a task.
const RESTING: u8 = 0;
const UNDER_WAY: u8 = 1;
const WOKEN: u8 = 2;

/// A future that is polled again at once when it wakes itself.
pub(super) struct Steady<F> {
    future: F,
    state: Arc<WakeState>,
    /// The same state, as the waker of the future.
    waker: Waker,
}

struct WakeState {
    about: AtomicU8,
    /// The waker of the task.
    outer: Mutex<Waker>,
}

impl<F: Future> Steady<F> {
    pub(super) fn new(future: F) -> Steady<F> {
        let outer = Mutex::new(Waker::noop().clone());
        let state = Arc::new(WakeState { about: AtomicU8::new(RESTING), outer });
        Steady { future, waker: Waker::from(state.clone()), state }
    }
}

impl WakeState {
    /// Sets the waker of the task that polls now.
    fn for_task(&self, waker: &Waker) {
        let mut outer = self.outer.lock().unwrap_or_else(PoisonError::into_inner);
        if !outer.will_wake(waker) {
            outer.clone_from(waker);
        }
    }
}

impl Wake for WakeState {
    fn wake(self: Arc<WakeState>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<WakeState>) {
        // A running poll checks for wakes before it rests.
        if self.about.swap(WOKEN, Ordering::AcqRel) == RESTING {
            self.outer.lock().unwrap_or_else(PoisonError::into_inner).wake_by_ref();
        }
    }
}

impl<F: Future + Unpin> Future for Steady<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Steady { future, state, waker } = &mut *self;
        state.for_task(context.waker());
        for _ in 0..MOST {
            state.about.store(UNDER_WAY, Ordering::Release);
            if let Poll::Ready(output) =
                Pin::new(&mut *future).poll(&mut Context::from_waker(waker))
            {
                return Poll::Ready(output);
            }
            let rests = state.about.compare_exchange(
                UNDER_WAY,
                RESTING,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            if rests.is_ok() {
                return Poll::Pending;
            }
        }
        state.about.store(WOKEN, Ordering::Release);
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use haft_testkit::Bell;

    use super::*;

    /// Polls once; returns whether it is ready, how often the future was polled and how often
    /// woken.
    fn polled(future: impl FnMut(&Waker, usize) -> bool + Unpin) -> (bool, usize, usize) {
        let (count, polls) = (Arc::new(Bell::default()), AtomicUsize::new(0));
        let mut future = future;
        let inner = std::future::poll_fn(|context: &mut Context<'_>| {
            let poll = polls.fetch_add(1, Ordering::Relaxed) + 1;
            if future(context.waker(), poll) { Poll::Ready(()) } else { Poll::Pending }
        });
        let waker = Waker::from(count.clone());
        let mut steady = Steady::new(inner);
        let over = Pin::new(&mut steady).poll(&mut Context::from_waker(&waker)).is_ready();
        (over, polls.load(Ordering::Relaxed), count.rang())
    }

    #[test]
    fn self_wake_repolls_at_once_without_outer_wake() {
        let twice = |waker: &Waker, poll| {
            waker.wake_by_ref();
            poll == 3
        };
        assert_eq!(polled(twice), (true, 3, 0));
    }

    #[test]
    fn endless_self_wake_yields_to_other_tasks() {
        let always = |waker: &Waker, _| {
            waker.wake_by_ref();
            false
        };
        assert_eq!(polled(always), (false, MOST, 1));
    }

    #[test]
    fn pending_task_wakes_outer_waker_once() {
        let kept = Mutex::new(None);
        let rests = |waker: &Waker, _| {
            *kept.lock().unwrap() = Some(waker.clone());
            false
        };
        let count = Arc::new(Bell::default());
        let waker = Waker::from(count.clone());
        let mut steady = Steady::new(std::future::poll_fn(|context: &mut Context<'_>| {
            if rests(context.waker(), 0) { Poll::Ready(()) } else { Poll::Pending }
        }));
        for woken in 1..3 {
            assert!(Pin::new(&mut steady).poll(&mut Context::from_waker(&waker)).is_pending());
            assert_eq!(count.rang(), woken - 1);
            let inner = kept.lock().unwrap().clone().unwrap();
            inner.wake_by_ref();
            inner.wake_by_ref();
            assert_eq!(count.rang(), woken);
        }
    }
}
