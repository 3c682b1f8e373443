//! Bounded message channel from a driver to the runtime, with backpressure and no cost while idle.
//!
//! The channel is never closed by its senders: the driver's result ends the conversation, so
//! dropping the last link wakes no task.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use tokio::sync::Semaphore;

use crate::DriverMessage;

/// Capacity in messages; beyond it `say` waits (backpressure).
const MOST: usize = 64;

#[derive(Debug)]
pub(crate) struct SharedChannel {
    /// Free capacity; closed when the listener is dropped.
    room: Semaphore,
    unheard: Mutex<Unheard>,
}

#[derive(Debug, Default)]
struct Unheard {
    said: VecDeque<DriverMessage>,
    listener: Option<Waker>,
    deaf: bool,
}

/// The listener was dropped.
#[derive(Debug)]
pub(crate) struct Deaf;

impl SharedChannel {
    pub(crate) fn new() -> (Arc<SharedChannel>, Listener) {
        let line = SharedChannel { room: Semaphore::new(MOST), unheard: Mutex::default() };
        let line = Arc::new(line);
        (line.clone(), Listener(line))
    }

    /// Sends a message, waiting for capacity.
    pub(crate) async fn say(&self, said: DriverMessage) -> Result<(), Deaf> {
        self.room.acquire().await.map_err(|_| Deaf)?.forget();
        self.put(said)
    }

    /// Sends a message, or drops it if the channel is full.
    pub(crate) fn offer(&self, said: DriverMessage) {
        if let Ok(room) = self.room.try_acquire() {
            room.forget();
            let _ = self.put(said);
        }
    }

    fn put(&self, said: DriverMessage) -> Result<(), Deaf> {
        let listener = {
            let mut unheard = self.unheard();
            if unheard.deaf {
                return Err(Deaf);
            }
            unheard.said.push_back(said);
            unheard.listener.take()
        };
        listener.into_iter().for_each(Waker::wake);
        Ok(())
    }

    fn unheard(&self) -> MutexGuard<'_, Unheard> {
        self.unheard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receiver of a driver's [`Link`](crate::Link).
#[derive(Debug)]
pub struct Listener(Arc<SharedChannel>);

impl Listener {
    /// Receives the next message; waits forever without one.
    pub async fn next(&mut self) -> DriverMessage {
        poll_fn(|context| {
            let mut unheard = self.0.unheard();
            match unheard.said.pop_front() {
                Some(said) => Poll::Ready(self.heard(said)),
                None => {
                    unheard.listener = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Receives a message that was sent already.
    pub fn unheard(&mut self) -> Option<DriverMessage> {
        let said = self.0.unheard().said.pop_front();
        said.map(|said| self.heard(said))
    }

    fn heard(&self, said: DriverMessage) -> DriverMessage {
        self.0.room.add_permits(1);
        said
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.room.close();
        let unheard = {
            let mut unheard = self.0.unheard();
            unheard.deaf = true;
            std::mem::take(&mut unheard.said)
        };
        // Dropping the messages drops their reply senders, so waiting drivers get an error.
        drop(unheard);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::Context;

    use haft_testkit::Bell;

    use super::*;

    #[tokio::test]
    async fn full_report_channel_blocks_sender_until_listener_reads() {
        let (line, mut listener) = SharedChannel::new();
        for _ in 0..MOST {
            line.say(DriverMessage::CancelHeard).await.unwrap();
        }
        line.offer(DriverMessage::CancelHeard);
        let mut more = pin!(line.say(DriverMessage::CancelHeard));
        let mut idle = Context::from_waker(Waker::noop());
        assert!(more.as_mut().poll(&mut idle).is_pending());
        listener.next().await;
        more.await.unwrap();
        let mut left = 0;
        while listener.unheard().is_some() {
            left += 1;
        }
        assert_eq!(left, MOST);
    }

    #[tokio::test]
    async fn closed_report_channel_fails_senders_at_once() {
        let (line, listener) = SharedChannel::new();
        let (reply, answered) = tokio::sync::oneshot::channel();
        line.say(DriverMessage::Submit(reply)).await.unwrap();
        drop(listener);
        assert!(answered.await.is_err());
        assert!(line.say(DriverMessage::CancelHeard).await.is_err());
    }

    #[tokio::test]
    async fn report_wakes_listener_and_closing_does_not() {
        let (line, mut listener) = SharedChannel::new();
        let count = Arc::new(Bell::default());
        let waker = Waker::from(count.clone());
        let mut context = Context::from_waker(&waker);
        assert!(pin!(listener.next()).poll(&mut context).is_pending());
        line.say(DriverMessage::CancelHeard).await.unwrap();
        assert_eq!(count.rang(), 1);
        assert!(pin!(listener.next()).poll(&mut context).is_ready());
        assert!(pin!(listener.next()).poll(&mut context).is_pending());
        drop(line);
        assert_eq!(count.rang(), 1);
    }
}
