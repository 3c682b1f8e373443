//! Server-sent events: splits a response body into events, each within the size limit.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body::Frame;
use reqwest::{Body, Response};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use sse_stream::SseStream;

use super::stderr_capture::LONGEST;
use super::{digits, unreadable};

pub(super) fn events(answer: Response) -> BoxedSseResponse {
    Box::pin(SseStream::new(Whole { body: answer.into(), held: Vec::new() }))
}

/// A body that yields whole events. An event above the size limit is an error; one that cannot be
/// decoded becomes an error of the call that awaits it.
struct Whole {
    body: Body,
    held: Vec<u8>,
}

impl Whole {
    /// Takes the events that arrived as a whole.
    fn events(&mut self) -> Option<Vec<u8>> {
        let mut events = Vec::new();
        let mut taken = 0;
        while let Some(length) = self.held.get(taken..).and_then(end) {
            let event = self.held.get(taken..taken + length).unwrap_or_default();
            let event = digits::marked_event(event);
            match unreadable::event(&event) {
                Some(mended) => events.extend(mended),
                None => events.extend_from_slice(&event),
            }
            taken += length;
        }
        self.held.drain(..taken);
        (!events.is_empty()).then_some(events)
    }
}

/// Where the first event of a buffer ends.
fn end(text: &[u8]) -> Option<usize> {
    let plain = text.windows(2).position(|two| two == b"\n\n").map(|at| at + 2);
    let other = text.windows(3).position(|three| three == b"\n\r\n").map(|at| at + 3);
    plain.into_iter().chain(other).min()
}

impl http_body::Body for Whole {
    type Data = <Body as http_body::Body>::Data;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, io::Error>>> {
        loop {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => {
                    let read = frame.data_ref().map(AsRef::<[u8]>::as_ref).unwrap_or_default();
                    self.held.extend_from_slice(read);
                }
                Some(Err(fault)) => return Poll::Ready(Some(Err(io::Error::other(fault)))),
                None if self.held.is_empty() => return Poll::Ready(None),
                None => {
                    let rest = std::mem::take(&mut self.held);
                    return Poll::Ready(Some(Ok(Frame::data(rest.into()))));
                }
            }
            if let Some(events) = self.events() {
                return Poll::Ready(Some(Ok(Frame::data(events.into()))));
            }
            if self.held.len() > LONGEST {
                let why = format!("an event has more than {LONGEST} bytes");
                return Poll::Ready(Some(Err(io::Error::other(why))));
            }
        }
    }
}
