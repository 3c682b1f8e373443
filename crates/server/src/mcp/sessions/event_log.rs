//! Event log of a stream: what a client that lost the stream resumes from (`Last-Event-ID`).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::ServerJsonRpcMessage;
use tokio::sync::watch;

/// Most events kept; beyond that the oldest notification is dropped, so that a slow client loses
/// progress and nothing else.
const MOST_EVENTS: usize = 64;

/// The events of one stream. They are numbered from 1; 0 is the priming event.
pub(in crate::mcp) struct EventLog {
    /// Number of the request's stream in its session; `None` for the standalone stream.
    stream: Option<u64>,
    events: Mutex<Events>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Events {
    kept: VecDeque<LoggedEvent>,
    last: u64,
    /// Number of the last event that a reader took.
    taken: u64,
    is_closed: bool,
    /// The current reader; an older one gets no more events.
    reader: u64,
}

/// An event.
#[derive(Clone)]
pub(in crate::mcp) struct LoggedEvent {
    pub(in crate::mcp) number: u64,
    pub(in crate::mcp) data: Arc<str>,
    is_notification: bool,
}

/// The position of a reader in a log.
pub(in crate::mcp) struct LogReader {
    log: Arc<EventLog>,
    changed: watch::Receiver<()>,
    reader: u64,
    after: u64,
}

impl EventLog {
    pub(super) fn new(stream: Option<u64>) -> EventLog {
        EventLog { stream, events: Mutex::default(), changed: watch::Sender::new(()) }
    }

    /// Adds a message.
    pub(in crate::mcp) fn push(&self, message: &ServerJsonRpcMessage) {
        let data = serde_json::to_string(message).unwrap_or_default().into();
        let is_notification = matches!(message, ServerJsonRpcMessage::Notification(_));
        let mut events = self.events();
        events.last += 1;
        let number = events.last;
        events.kept.push_back(LoggedEvent { number, data, is_notification });
        if events.kept.len() > MOST_EVENTS {
            let oldest = events.kept.iter().position(|event| event.is_notification);
            events.kept.remove(oldest.unwrap_or_default());
        }
        drop(events);
        self.changed.send_replace(());
    }

    /// Ends the stream after its events.
    pub(in crate::mcp) fn close(&self) {
        self.events().is_closed = true;
        self.changed.send_replace(());
    }

    pub(super) fn is_closed(&self) -> bool {
        self.events().is_closed
    }

    /// The id of an event, by which a client resumes after it.
    pub(in crate::mcp) fn event_id(&self, number: u64) -> String {
        match self.stream {
            Some(stream) => format!("{number}/{stream}"),
            None => number.to_string(),
        }
    }

    /// Reads the events after one, or after the last that a reader took. The reader before gets no
    /// more events, so that each goes to one stream.
    pub(in crate::mcp) fn read(self: &Arc<EventLog>, after: Option<u64>) -> LogReader {
        let mut events = self.events();
        events.reader += 1;
        let (reader, after) = (events.reader, after.unwrap_or(events.taken));
        drop(events);
        LogReader { log: self.clone(), changed: self.changed.subscribe(), reader, after }
    }

    fn events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogReader {
    /// The next event; `None` at the end of the stream.
    pub(in crate::mcp) async fn next(&mut self) -> Option<LoggedEvent> {
        loop {
            self.changed.mark_unchanged();
            {
                let mut events = self.log.events();
                let is_current = events.reader == self.reader;
                let next = events.kept.iter().find(|event| event.number > self.after).cloned();
                if let Some(event) = next.filter(|_| is_current) {
                    self.after = event.number;
                    events.taken = events.taken.max(event.number);
                    return Some(event);
                }
                if events.is_closed {
                    return None;
                }
            }
            self.changed.changed().await.ok()?;
        }
    }

    pub(in crate::mcp) fn log(&self) -> &EventLog {
        &self.log
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{RequestId, ServerNotification, ServerResult, ToolListChangedNotification};

    use super::*;

    fn notification() -> ServerJsonRpcMessage {
        let told = ServerNotification::from(ToolListChangedNotification::default());
        ServerJsonRpcMessage::notification(told)
    }

    fn response(id: i64) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(id))
    }

    async fn rest(mut reader: LogReader) -> Vec<u64> {
        let mut numbers = Vec::new();
        while let Some(event) = reader.next().await {
            numbers.push(event.number);
        }
        numbers
    }

    #[tokio::test]
    async fn reader_resumes_after_named_event() {
        let log = Arc::new(EventLog::new(Some(7)));
        log.push(&notification());
        let mut first = log.read(None);
        assert_eq!(first.next().await.map(|event| event.number), Some(1));
        log.push(&notification());
        log.push(&response(1));
        log.close();
        assert_eq!(rest(log.read(Some(1))).await, [2, 3]);
        assert_eq!(rest(log.read(Some(0))).await, [1, 2, 3]);
        assert_eq!(rest(log.read(Some(9))).await, [0; 0]);
        assert_eq!(rest(log.read(None)).await, [0; 0], "every event was taken");
        assert_eq!(rest(first).await, [0; 0], "another reader took over");
        assert_eq!(log.event_id(2), "2/7");
    }

    #[tokio::test]
    async fn full_log_drops_oldest_notifications_only() {
        let log = Arc::new(EventLog::new(None));
        log.push(&response(0));
        for _ in 0..2 * MOST_EVENTS {
            log.push(&notification());
        }
        log.push(&response(1));
        log.close();
        let numbers = rest(log.read(None)).await;
        assert_eq!(numbers.len(), MOST_EVENTS);
        let ends = (numbers.first().copied(), numbers.last().copied());
        assert_eq!(ends, (Some(1), Some(2 * MOST_EVENTS as u64 + 2)));
    }
}
