//! Exchange: one request of a client, its messages and its result, polled by the transport.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use haft_driver::BoxFuture;
use rmcp::model::ServerJsonRpcMessage;

use super::outbox::Outbox;

/// A request that is being answered. Dropping it cancels its call.
pub(super) struct Exchange {
    handler: BoxFuture<'static, ServerJsonRpcMessage>,
    outbox: Arc<Outbox>,
    /// The response of a handler that ended before its last message was taken.
    response: Option<Box<ServerJsonRpcMessage>>,
}

/// What an exchange brings next.
pub(super) enum ExchangeStep {
    /// A notification or request before the response.
    Message(Box<ServerJsonRpcMessage>),
    /// The response, the last step.
    Response(Box<ServerJsonRpcMessage>),
}

impl Exchange {
    /// An exchange of a handler that sends its messages through the outbox.
    pub(super) fn new(
        outbox: Arc<Outbox>,
        handler: impl Future<Output = ServerJsonRpcMessage> + Send + 'static,
    ) -> Exchange {
        Exchange { handler: Box::pin(handler), outbox, response: None }
    }

    /// The next step. A step that was not awaited to its end is not lost.
    pub(super) async fn next(&mut self) -> ExchangeStep {
        poll_fn(|context| {
            if self.response.is_none()
                && let Poll::Ready(response) = self.handler.as_mut().poll(context)
            {
                self.response = Some(Box::new(response));
            }
            // A handler that stopped waiting may have left a message.
            if let Some(message) = self.outbox.take() {
                return Poll::Ready(ExchangeStep::Message(message));
            }
            match self.response.take() {
                Some(response) => Poll::Ready(ExchangeStep::Response(response)),
                None => Poll::Pending,
            }
        })
        .await
    }
}
