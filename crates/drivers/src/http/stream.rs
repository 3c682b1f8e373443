//! Content negotiation and framing of streamed responses: server-sent events, JSON lines or chunks;
//! a backend may always answer with plain JSON instead.
//!
//! Each event is forwarded as it arrives. The result is the list of all events or the last event,
//! and `response_extract` applies to that.

use haft_contract::driver::manifest::{EventSelection, Framing, HttpStreaming};

/// The streaming of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) transport: Framing,
    /// The name of the events that count; `None` for all.
    pub(super) event: Option<String>,
    /// The text that ends the stream; `None` where the end of the body does.
    pub(super) terminator: Option<String>,
    pub(super) events: EventSelection,
}

impl Stream {
    /// Merges the entry's setting with the driver's; `None` where neither sets a transport.
    ///
    /// `event_field` is read in both published meanings: `data` is the field of a server-sent event
    /// that holds its value, and any other word is the name of the events that count.
    pub(super) fn of(
        own: Option<&HttpStreaming>,
        driver: Option<&HttpStreaming>,
        events: EventSelection,
    ) -> Result<Option<Stream>, &'static str> {
        let said = [own, driver].into_iter().flatten();
        let Some(transport) = said.clone().find_map(|said| said.transport) else {
            return match own {
                Some(_) => Err("say a `transport`, here or for the whole driver"),
                None => Ok(None),
            };
        };
        let event = said.clone().find_map(|said| said.event_field.clone());
        let event = event.filter(|event| event != "data");
        if event.is_some() && transport != Framing::Sse {
            return Err("only server-sent events have names; leave `event_field` out");
        }
        let terminator = said.clone().find_map(|said| said.terminator.clone());
        let terminator = terminator.filter(|terminator| !terminator.is_empty());
        Ok(Some(Stream { transport, event, terminator, events }))
    }

    /// The `Accept` header of the request.
    pub(super) fn accepts(&self) -> &'static str {
        match self.transport {
            Framing::Sse => "text/event-stream, application/json",
            Framing::Ndjson => "application/x-ndjson, application/json",
            Framing::Chunked => "application/json",
        }
    }

    /// Whether a response of this media type is streamed; a backend may answer plain JSON instead.
    pub(super) fn is(&self, media_type: Option<&str>) -> bool {
        match self.transport {
            Framing::Sse => media_type.is_none_or(|stated| stated == "text/event-stream"),
            Framing::Ndjson | Framing::Chunked => true,
        }
    }

    /// Where the terminator begins in a chunked body; earlier calls searched up to `looked_at`.
    pub(super) fn end_in(&self, bytes: &[u8], looked_at: usize) -> Option<usize> {
        let terminator = self.terminator.as_ref()?.as_bytes();
        let from = looked_at.saturating_sub(terminator.len());
        let new = bytes.get(from..)?;
        new.windows(terminator.len()).position(|part| part == terminator).map(|at| from + at)
    }

    /// A decoder that splits the body into events.
    pub(super) fn frames(&self) -> Frames {
        Frames {
            stream: self.clone(),
            line: Vec::new(),
            after_cr: false,
            data: None,
            name: String::new(),
        }
    }
}

/// An incremental decoder of events.
pub(super) struct Frames {
    stream: Stream,
    line: Vec<u8>,
    after_cr: bool,
    data: Option<String>,
    name: String,
}

/// The stream is not UTF-8.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoText;

impl Frames {
    /// Decodes a chunk and returns the events that it completes.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<Vec<String>, NoText> {
        let mut events = Vec::new();
        let mut lines = piece.split_inclusive(|byte| matches!(byte, b'\n' | b'\r'));
        while let Some((end, line)) = lines.next().and_then(<[u8]>::split_last) {
            // The line feed of a CRLF that was split between chunks is no line.
            if *end == b'\n' && line.is_empty() && self.after_cr {
                self.after_cr = false;
                continue;
            }
            self.after_cr = *end == b'\r';
            self.line.extend_from_slice(line);
            match end {
                b'\n' | b'\r' => events.extend(self.line_ends()?),
                _ => self.line.push(*end),
            }
        }
        Ok(events)
    }

    /// The event that the end of the body completes; the last line end may be missing.
    pub(super) fn end(&mut self) -> Result<Option<String>, NoText> {
        let last = self.line_ends()?;
        Ok(last.or_else(|| self.dispatched()))
    }

    /// Whether an event is the terminator.
    pub(super) fn is_over(&self, event: &str) -> bool {
        self.stream.terminator.as_deref() == Some(event.trim())
    }

    fn line_ends(&mut self) -> Result<Option<String>, NoText> {
        let line = String::from_utf8(std::mem::take(&mut self.line)).map_err(|_| NoText)?;
        let line = line.strip_prefix('\u{feff}').unwrap_or(&line);
        if self.stream.transport != Framing::Sse {
            return Ok((!line.trim().is_empty()).then(|| line.to_owned()));
        }
        if line.is_empty() {
            return Ok(self.dispatched());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.data) {
            ("data", None) => self.data = Some(value.to_owned()),
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("event", _) => value.clone_into(&mut self.name),
            _ => {}
        }
        Ok(None)
    }

    /// The event that a blank line ends, if it counts.
    fn dispatched(&mut self) -> Option<String> {
        let name = std::mem::take(&mut self.name);
        let data = self.data.take()?;
        let wanted = self.stream.event.as_ref();
        let counts = wanted.is_none_or(|wanted| *wanted == name) || self.is_over(&data);
        counts.then_some(data)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stream(written: serde_json::Value) -> Stream {
        let written: HttpStreaming = serde_json::from_value(written).unwrap();
        Stream::of(Some(&written), None, EventSelection::All).unwrap().unwrap()
    }

    /// The events of a text, which must not depend on how it is split into chunks.
    fn events(stream: &Stream, text: &str) -> Vec<String> {
        let whole = cut(stream, text, text.len());
        for size in 1..4 {
            assert_eq!(cut(stream, text, size), whole, "in pieces of {size}");
        }
        whole
    }

    fn cut(stream: &Stream, text: &str, size: usize) -> Vec<String> {
        let mut frames = stream.frames();
        let mut found = Vec::new();
        for piece in text.as_bytes().chunks(size.max(1)) {
            found.extend(frames.push(piece).unwrap());
        }
        found.extend(frames.end().unwrap());
        found
    }

    #[test]
    fn server_sent_events_are_cut_as_their_standard_says() {
        let sse = stream(json!({"transport": "sse", "event_field": "data"}));
        for (text, expected) in [
            ("data: {\"a\":1}\n\ndata: {\"a\":2}\n\n", vec!["{\"a\":1}", "{\"a\":2}"]),
            ("data:1\r\n\r\ndata: 2\r\n\r\n", vec!["1", "2"]),
            ("data: 1\r\rdata: 2\r\r", vec!["1", "2"]),
            ("\u{feff}: a comment\nid: 7\nretry: 5\ndata: é\ndata:  b\n\n", vec!["é\n b"]),
            ("event: x\n\ndata: 1", vec!["1"]),
            ("data\n\n", vec![""]),
            ("", vec![]),
        ] {
            assert_eq!(events(&sse, text), expected, "{text:?}");
        }
    }

    #[test]
    fn sse_event_filter_keeps_named_events_and_terminator() {
        let named =
            stream(json!({"transport": "sse", "event_field": "step", "terminator": "[DONE]"}));
        let text = "event: step\ndata: 1\n\nevent: ping\ndata: 2\n\ndata: 3\n\ndata: [DONE]\n\n";
        assert_eq!(events(&named, text), ["1", "[DONE]"]);
        assert!(named.frames().is_over("[DONE]") && !named.frames().is_over("1"));
    }

    #[test]
    fn ndjson_splits_at_line_ends_and_skips_blank_lines() {
        let lines = stream(json!({"transport": "ndjson"}));
        assert_eq!(
            events(&lines, "{\"a\":1}\n\r\n  \n{\"a\":2}\r\n[3]"),
            ["{\"a\":1}", "{\"a\":2}", "[3]"]
        );
        assert_eq!(lines.frames().push(b"\xff\n"), Err(NoText));
    }

    #[test]
    fn stream_entry_overrides_driver_and_invalid_settings_are_refused() {
        let written = |json| serde_json::from_value::<HttpStreaming>(json).unwrap();
        let driver = written(json!({"transport": "sse", "terminator": "end"}));
        let own = written(json!({"transport": "ndjson"}));
        let found = Stream::of(Some(&own), Some(&driver), EventSelection::Last).unwrap().unwrap();
        assert_eq!((found.transport, found.terminator.as_deref()), (Framing::Ndjson, Some("end")));
        assert_eq!(Stream::of(None, None, EventSelection::All), Ok(None));
        let nothing = written(json!({}));
        assert!(Stream::of(Some(&nothing), None, EventSelection::All).is_err());
        let named = written(json!({"transport": "ndjson", "event_field": "step"}));
        assert!(Stream::of(Some(&named), None, EventSelection::All).is_err());
    }
}
