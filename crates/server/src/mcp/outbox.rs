//! Outbox: what the handler of a request sends to its client before the result.
//!
//! INVARIANT: the exchange that polls the handler takes the messages and then polls it again, so that
//! the slot needs no waker.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use rmcp::model::{ServerJsonRpcMessage, ServerNotification};

/// A slot for one message: a handler continues when its message was taken (backpressure).
#[derive(Default)]
pub(super) struct Outbox(Mutex<Option<Box<ServerJsonRpcMessage>>>);

impl Outbox {
    /// Sends a message; returns when it was taken.
    pub(super) async fn send(&self, message: ServerJsonRpcMessage) {
        let mut message = Some(Box::new(message));
        poll_fn(|_| {
            let mut slot = self.slot();
            match (slot.is_none(), message.take()) {
                (true, None) => Poll::Ready(()),
                (true, unsent @ Some(_)) => {
                    *slot = unsent;
                    Poll::Pending
                }
                (false, unsent) => {
                    message = unsent;
                    Poll::Pending
                }
            }
        })
        .await;
    }

    /// Sends a notification.
    pub(super) async fn notify(&self, notification: ServerNotification) {
        self.send(ServerJsonRpcMessage::notification(notification)).await;
    }

    /// Takes the message, if there is one.
    pub(super) fn take(&self) -> Option<Box<ServerJsonRpcMessage>> {
        self.slot().take()
    }

    fn slot(&self) -> MutexGuard<'_, Option<Box<ServerJsonRpcMessage>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
