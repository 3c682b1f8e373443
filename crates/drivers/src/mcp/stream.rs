//! Events of an answer that goes on, each within bounds.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body::Frame;
use reqwest::{Body, Response};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use sse_stream::SseStream;

use super::heard::LONGEST;

pub(super) fn events(answer: Response) -> BoxedSseResponse {
    Box::pin(SseStream::new(Capped { body: answer.into(), event: 0 }))
}

/// A body of which no event is longer than a message may be.
struct Capped {
    body: Body,
    event: usize,
}

impl http_body::Body for Capped {
    type Data = <Body as http_body::Body>::Data;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, io::Error>>> {
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            Some(Err(fault)) => return Poll::Ready(Some(Err(io::Error::other(fault)))),
            None => return Poll::Ready(None),
        };
        let read = frame.data_ref().map(AsRef::<[u8]>::as_ref).unwrap_or_default();
        let ends = read.windows(2).any(|pair| pair == b"\n\n" || pair == b"\n\r");
        self.event = if ends { read.len() } else { self.event + read.len() };
        if self.event > LONGEST {
            let why = format!("an event has more than {LONGEST} bytes");
            return Poll::Ready(Some(Err(io::Error::other(why))));
        }
        Poll::Ready(Some(Ok(frame)))
    }
}
