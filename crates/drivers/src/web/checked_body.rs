//! Request body behind the last check: the connection gets it only while its clearance holds.
//!
//! A client that queues and connects by itself polls the body last, once the connection is
//! established. A request without its body has no effect.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body::{Frame, SizeHint};
use reqwest::Body;

use super::sending::{SendFault, Sending};

/// The body of a request, and the submission that it belongs to.
struct CheckedBody {
    bytes: Body,
    sending: Arc<Sending>,
    checked: bool,
}

/// A body that fails, instead of being sent, where its call may no longer be sent.
pub(crate) fn checked_body(bytes: Vec<u8>, sending: Arc<Sending>) -> Body {
    Body::wrap(CheckedBody { bytes: bytes.into(), sending, checked: false })
}

impl http_body::Body for CheckedBody {
    type Data = <Body as http_body::Body>::Data;
    type Error = SendFault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, SendFault>>> {
        if !self.checked {
            if let Err(fault) = self.sending.check() {
                return Poll::Ready(Some(Err(fault)));
            }
            self.checked = true;
        }
        let frame = Pin::new(&mut self.bytes).poll_frame(context);
        frame.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.bytes.size_hint()
    }
}
