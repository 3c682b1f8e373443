//! Idle clients that keep a connection and wait.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::load::Connection;

/// Longer than a change takes to be told, and than an event takes to arrive.
const PATIENCE: Duration = Duration::from_secs(60);

/// After so long without an event there are no more, once all calls were made.
const QUIET: Duration = Duration::from_secs(10);

/// A client of 2025-11-25 with its stream open.
pub(crate) struct Waiting {
    stream: BufReader<TcpStream>,
    _session: Connection,
}

impl Waiting {
    pub(crate) async fn in_session(address: &str) -> Waiting {
        let (connection, session) = Connection::with_session(address).await;
        let headers = format!(
            "Accept: text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n"
        );
        Waiting { stream: open(address, "/mcp", &headers).await, _session: connection }
    }

    /// Waits until it hears that there are other tools.
    pub(crate) async fn told_of_change(mut self) {
        let told = async {
            let mut line = String::new();
            while !line.contains("notifications/tools/list_changed") {
                line.clear();
                assert_ne!(self.stream.read_line(&mut line).await.unwrap(), 0, "a stream ended");
            }
        };
        timeout(PATIENCE, told).await.expect("everybody is told of a change");
    }
}

/// A client that follows what is recorded.
pub(crate) struct Listener(BufReader<TcpStream>);

/// What a listener heard.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Calls that ended well.
    pub(crate) ends: usize,
    events: usize,
    last: Option<(u64, u64)>,
}

impl Listener {
    pub(crate) async fn at(address: &str, token: Option<&str>) -> Listener {
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        Listener(open(address, "/v1/events", &token.unwrap_or_default()).await)
    }

    /// Listens until all calls were made and nothing comes any more.
    pub(crate) async fn listen(mut self, over: watch::Receiver<bool>) -> Heard {
        let mut heard = Heard::default();
        loop {
            let was_over = *over.borrow();
            match self.line(QUIET).await {
                Some(line) => heard.line(&line),
                None if was_over => return heard,
                None => {}
            }
        }
    }

    /// How many events have arrived unread.
    pub(crate) async fn heard_so_far(mut self) -> usize {
        let mut events = 0;
        while let Some(line) = self.line(Duration::from_millis(1)).await {
            events += usize::from(line.starts_with("id: "));
        }
        events
    }

    /// The next line that says something; none where none comes.
    async fn line(&mut self, within: Duration) -> Option<String> {
        let next = async {
            loop {
                let mut line = String::new();
                assert_ne!(self.0.read_line(&mut line).await.unwrap(), 0, "a stream ended");
                // Signs of life, and the lengths of chunks.
                if line.contains(": ") {
                    return line;
                }
            }
        };
        timeout(within, next).await.ok()
    }
}

impl Heard {
    fn line(&mut self, line: &str) {
        if let Some(id) = line.strip_prefix("id: ") {
            self.next(id.trim_end());
        } else if line.trim_end() == "event: tool.invocation.succeeded" {
            self.ends += 1;
        }
    }

    /// Notes the place of an event, which comes after all before it.
    fn next(&mut self, id: &str) {
        let (entry, within) = id.split_once('.').unwrap_or((id, ""));
        let place = (entry.parse().unwrap(), within.parse().unwrap_or(u64::MAX));
        assert!(self.last < Some(place), "event {id} comes after {:?}", self.last);
        self.last = Some(place);
        self.events += 1;
    }
}

/// Asks for a stream and gives what follows its head.
async fn open(address: &str, path: &str, headers: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut stream = BufReader::with_capacity(512, stream);
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    assert!(line.contains(" 200 "), "{line}");
    while line != "\r\n" {
        line.clear();
        stream.read_line(&mut line).await.unwrap();
    }
    stream
}
