//! Live streams of a session: the standalone stream, and one for each request that may be resumed.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_driver::Cancel;

use super::event_log::{EventLog, LogReader};

/// Most ended streams kept for clients that lost them.
const MOST_ENDED: usize = 16;

/// What a session has while it is awake.
pub(in crate::mcp) struct LiveStreams {
    /// Notifications that belong to no request.
    pub(in crate::mcp) standalone: Arc<EventLog>,
    /// Fires when the session ends or is suspended.
    pub(in crate::mcp) over: Cancel,
    is_fed: AtomicBool,
    requests: Mutex<RequestStreams>,
}

#[derive(Default)]
struct RequestStreams {
    kept: VecDeque<(u64, Arc<EventLog>)>,
    next: u64,
}

impl LiveStreams {
    pub(super) fn new() -> LiveStreams {
        LiveStreams {
            standalone: Arc::new(EventLog::new(None)),
            over: Cancel::new(),
            is_fed: AtomicBool::new(false),
            requests: Mutex::default(),
        }
    }

    /// Whether the caller has to begin the change feed: true once.
    pub(super) fn begin_feed(&self) -> bool {
        !self.is_fed.swap(true, Ordering::Relaxed)
    }

    /// A stream for a request.
    pub(in crate::mcp) fn open(&self) -> Arc<EventLog> {
        let mut streams = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let number = streams.next;
        streams.next += 1;
        let ended = streams.kept.iter().filter(|(_, log)| log.is_closed()).count();
        if ended >= MOST_ENDED
            && let Some(oldest) = streams.kept.iter().position(|(_, log)| log.is_closed())
        {
            streams.kept.remove(oldest);
        }
        let log = Arc::new(EventLog::new(Some(number)));
        streams.kept.push_back((number, log.clone()));
        log
    }

    /// Reads on after an event; `None` where its stream is unknown.
    pub(in crate::mcp) fn resume(&self, event_id: &str) -> Option<LogReader> {
        let Some((number, stream)) = event_id.split_once('/') else {
            return Some(self.standalone.read(Some(event_id.parse().ok()?)));
        };
        let (number, stream): (u64, u64) = (number.parse().ok()?, stream.parse().ok()?);
        let streams = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, log) = streams.kept.iter().find(|(own, _)| *own == stream)?;
        Some(log.read(Some(number)))
    }
}
