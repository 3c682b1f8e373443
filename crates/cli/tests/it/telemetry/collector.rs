//! OTLP collector: receives spans over HTTP, on a port of its own.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// Longer than any span takes, so that a test which waits in vain fails.
const PATIENCE: Duration = Duration::from_secs(40);

/// A collector until its test ends.
pub(crate) struct Collector {
    address: SocketAddr,
    taken: Arc<(Mutex<Vec<Taken>>, Condvar)>,
}

/// One request.
#[derive(Clone)]
pub(crate) struct Taken {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) bytes: Vec<u8>,
}

/// What a collector does with requests.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Does {
    Takes,
    Refuses(u16),
    /// Refuses the first, and takes all others.
    Recovers,
    Hangs,
}

impl Collector {
    pub(crate) fn new(does: Does) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let taken = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let keeps = taken.clone();
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for (number, stream) in listener.incoming().enumerate() {
                let stream = stream.unwrap();
                if does == Does::Hangs {
                    held.push(stream);
                    continue;
                }
                let request = read(&stream);
                let status = match does {
                    Does::Refuses(status) => status,
                    Does::Recovers if number == 0 => 503,
                    Does::Takes | Does::Recovers | Does::Hangs => 200,
                };
                if status == 200 {
                    keeps.0.lock().unwrap().push(request);
                    keeps.1.notify_all();
                }
                let answer = format!("HTTP/1.1 {status} Said\r\nContent-Length: 0\r\n\r\n");
                let _ = (&stream).write_all(answer.as_bytes());
            }
        });
        Collector { address, taken }
    }

    /// Where it is, as a base address.
    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request with spans in it.
    pub(crate) fn requests(&self) -> Vec<Taken> {
        let taken = self.taken.0.lock().unwrap();
        taken.iter().filter(|taken| !taken.spans().is_empty()).cloned().collect()
    }

    /// Every span so far.
    pub(crate) fn spans(&self) -> Vec<Span> {
        self.requests().iter().flat_map(Taken::spans).collect()
    }

    /// The spans of a call, once they are there.
    #[track_caller]
    pub(crate) fn of(&self, call: &str) -> Vec<Span> {
        let until = Instant::now() + PATIENCE;
        loop {
            let spans = self.spans();
            let whole = spans.iter().find(|span| text(span, "haft.invocation.id") == call);
            if let Some(whole) = whole {
                let own = |span: &&Span| {
                    span.span_id == whole.span_id || span.parent_span_id == whole.span_id
                };
                return spans.iter().filter(own).cloned().collect();
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no spans of {call} among {}", spans.len());
            let taken = self.taken.0.lock().unwrap();
            drop(self.taken.1.wait_timeout(taken, left.min(Duration::from_millis(200))).unwrap());
        }
    }
}

impl Taken {
    pub(crate) fn decoded(&self) -> ExportTraceServiceRequest {
        ExportTraceServiceRequest::decode(&*self.bytes).unwrap()
    }

    fn spans(&self) -> Vec<Span> {
        let all = self.decoded().resource_spans.into_iter().flat_map(|all| all.scope_spans);
        all.flat_map(|all| all.spans).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }
}

fn read(stream: &TcpStream) -> Taken {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let path = line().split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let line = line();
        let Some((name, value)) = line.split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut bytes = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    reader.read_exact(&mut bytes).unwrap();
    Taken { path, headers, bytes }
}

/// The attributes of a span, as texts.
pub(crate) fn attributes(of: &[KeyValue]) -> BTreeMap<String, String> {
    let value = |pair: &KeyValue| match pair.value.clone().and_then(|value| value.value) {
        Some(any_value::Value::StringValue(text)) => text,
        Some(any_value::Value::IntValue(number)) => number.to_string(),
        other => panic!("{other:?}"),
    };
    of.iter().map(|pair| (pair.key.clone(), value(pair))).collect()
}

/// One attribute of a span; nothing where it has none.
pub(crate) fn text(span: &Span, name: &str) -> String {
    attributes(&span.attributes).remove(name).unwrap_or_default()
}

/// An id as it is written.
pub(crate) fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
