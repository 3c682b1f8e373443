//! Exact numbers: marks the numbers of a tool result that `f64` would round, before the MCP library
//! decodes the message.

use std::borrow::Cow;

use crate::exact;

/// JSON path of a tool's structured result in a message.
const STRUCTURED: [&str; 2] = ["result", "structuredContent"];

/// Marks the numbers of a message's structured result that decoding would round.
pub(super) fn marked(message: &[u8]) -> Cow<'_, [u8]> {
    exact::marked(message, &STRUCTURED)
}

/// Marks the message of a server-sent event; a changed event has its data on one line.
pub(super) fn marked_event(event: &[u8]) -> Cow<'_, [u8]> {
    let (mut data, mut others) = (Vec::new(), Vec::new());
    for line in event.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.strip_prefix(b"data:") {
            Some(said) => {
                data.extend_from_slice(said);
                data.push(b' ');
            }
            None if line.is_empty() => {}
            None => {
                others.extend_from_slice(line);
                others.push(b'\n');
            }
        }
    }
    let Cow::Owned(message) = marked(data.trim_ascii()) else { return Cow::Borrowed(event) };
    others.extend_from_slice(b"data: ");
    others.extend(message.into_iter().map(|byte| if byte == b'\r' { b' ' } else { byte }));
    others.extend_from_slice(b"\n\n");
    Cow::Owned(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_with_long_numbers_is_marked_on_one_line() {
        let plain = b"id: 4\ndata: {\"id\":1,\"result\":{\"structuredContent\":0.5}}\n\n";
        assert_eq!(*marked_event(plain), plain[..]);
        let long = "id: 4\ndata: {\"id\":1,\"result\":\r\ndata: {\"structuredContent\":0.12345678901234567890}}\n\n";
        let event = marked_event(long.as_bytes());
        let event = String::from_utf8_lossy(&event);
        assert!(event.starts_with("id: 4\ndata: {\"id\":1,\"result\":"), "{event}");
        assert!(
            event.contains(":0.12345678901234567890\"") && event.ends_with("}}\n\n"),
            "{event}"
        );
        assert_eq!(event.lines().count(), 3, "{event}");
    }
}
