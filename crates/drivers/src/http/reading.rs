//! Response decoding: reads a body, whole or streamed, into a JSON value within a size limit.

use haft_contract::driver::manifest::{EventSelection, Framing};
use haft_driver::Link;
use haft_model::{Code, Content};
use serde_json::{Value, json};

use super::operation::Operation;
use super::stream::Stream;
use crate::exact;
use crate::web::{HttpResponse, MOST_BYTES, RequestFailure};

/// Event limit of a stream.
const MOST_EVENTS: usize = 10_000;

/// Why the body of a successful response is unusable.
pub(super) enum Spoilt {
    BrokeOff,
    TooLarge(String),
    Wrong(String),
}

/// The value of a body and its size in bytes. Streamed parts are forwarded as partial results.
pub(super) async fn read(
    operation: &Operation,
    link: &Link,
    answer: &mut HttpResponse<'_>,
) -> Result<(Value, usize), Spoilt> {
    let media_type = answer.media_type();
    let streams = operation.stream.as_ref().filter(|stream| stream.is(media_type.as_deref()));
    let bytes = match streams {
        Some(stream) if stream.transport == Framing::Chunked => {
            pieces(link, stream, answer).await?
        }
        Some(stream) => return events(link, stream, answer).await,
        None => {
            let body = answer.body(MOST_BYTES).await?;
            if body.cut {
                return Err(too_large());
            }
            body.bytes
        }
    };
    Ok((value(&bytes, media_type.as_deref(), operation.takes_all)?, bytes.len()))
}

impl Spoilt {
    pub(super) fn told(self, reads: bool) -> (Code, String) {
        match self {
            // A read that broke off can be retried without harm.
            Spoilt::BrokeOff if reads => {
                (Code::DependencyUnavailable, "and its answer broke off".to_owned())
            }
            Spoilt::BrokeOff => (Code::OutputInvalid, "and its answer broke off".to_owned()),
            Spoilt::TooLarge(words) => (Code::ResultTooLarge, words),
            Spoilt::Wrong(words) => (Code::OutputInvalid, words),
        }
    }
}

impl From<RequestFailure> for Spoilt {
    fn from(_: RequestFailure) -> Spoilt {
        Spoilt::BrokeOff
    }
}

fn too_large() -> Spoilt {
    Spoilt::TooLarge(format!("and its answer has more than {MOST_BYTES} bytes"))
}

fn no_text() -> Spoilt {
    Spoilt::Wrong("and its text is not UTF-8".to_owned())
}

/// Reads an event stream and forwards each event; the value is all events or the last.
async fn events(
    link: &Link,
    stream: &Stream,
    answer: &mut HttpResponse<'_>,
) -> Result<(Value, usize), Spoilt> {
    let mut frames = stream.frames();
    let (mut events, mut size, mut over) = (Vec::new(), 0, false);
    while !over {
        let piece = answer.piece().await?;
        let found = match &piece {
            Some(piece) => frames.push(piece.as_ref()),
            None => frames.end().map(Vec::from_iter),
        };
        size += piece.as_ref().map_or(0, |piece| piece.as_ref().len());
        if size > MOST_BYTES {
            return Err(too_large());
        }
        for event in found.map_err(|_| no_text())? {
            over = over || frames.is_over(&event);
            if !over {
                events.push(told(link, &event).await?);
            }
        }
        if events.len() > MOST_EVENTS {
            let words = format!("and its answer has more than {MOST_EVENTS} events");
            return Err(Spoilt::TooLarge(words));
        }
        if piece.is_none() {
            break;
        }
    }
    if stream.terminator.is_some() && !over {
        return Err(Spoilt::BrokeOff);
    }
    let value = match stream.events {
        EventSelection::All => Value::Array(events),
        EventSelection::Last => {
            let none = || Spoilt::Wrong("and its stream had no event".to_owned());
            events.pop().ok_or_else(none)?
        }
    };
    Ok((value, size.max(1)))
}

/// Decodes an event and forwards it as a partial result.
async fn told(link: &Link, event: &str) -> Result<Value, Spoilt> {
    let value: Value = exact::read(event.as_bytes())
        .map_err(|_| Spoilt::Wrong("and an event of its stream is not JSON".to_owned()))?;
    link.partial(vec![Content::StructuredContent { data: exact::rounded(value.clone()) }]).await;
    Ok(value)
}

/// Reads a chunked body and forwards its text as it arrives.
async fn pieces(
    link: &Link,
    stream: &Stream,
    answer: &mut HttpResponse<'_>,
) -> Result<Vec<u8>, Spoilt> {
    let (mut bytes, mut handed_on) = (Vec::new(), 0);
    while let Some(piece) = answer.piece().await? {
        let before: usize = bytes.len();
        bytes.extend_from_slice(piece.as_ref());
        if bytes.len() > MOST_BYTES {
            return Err(too_large());
        }
        let over = stream.end_in(&bytes, before);
        bytes.truncate(over.unwrap_or(bytes.len()));
        // A chunk may end within a UTF-8 sequence.
        let new = bytes.get(handed_on..).and_then(|new| new.utf8_chunks().next());
        if let Some(text) = new.map(|new| new.valid()).filter(|text| !text.is_empty()) {
            handed_on += text.len();
            link.partial(vec![Content::text(text)]).await;
        }
        if over.is_some() {
            return Ok(bytes);
        }
    }
    match stream.terminator {
        Some(_) => Err(Spoilt::BrokeOff),
        None => Ok(bytes),
    }
}

/// Decodes a body: JSON, or text where the whole body is the output.
fn value(bytes: &[u8], media_type: Option<&str>, takes_all: bool) -> Result<Value, Spoilt> {
    match media_type {
        _ if bytes.is_empty() => Ok(Value::Null),
        Some(stated) if stated.starts_with("text/") && takes_all => {
            Ok(json!(std::str::from_utf8(bytes).map_err(|_| no_text())?))
        }
        Some(stated) if !is_json(stated) => {
            Err(Spoilt::Wrong(format!("and its answer is `{stated}`, not JSON")))
        }
        Some(_) | None => {
            exact::read(bytes).map_err(|_| Spoilt::Wrong("and its answer is not JSON".to_owned()))
        }
    }
}

fn is_json(media_type: &str) -> bool {
    media_type == "application/json" || media_type.ends_with("+json")
}
