//! Span exporter: sends batches of spans with retry and backoff, and counts the lost ones.

use std::sync::Arc;
use std::time::Duration;

use haft_driver::{BoxFuture, Cancel};
use haft_ledger::Story;
use haft_model::{InvocationId, Stop};
use haft_runtime::Runtime;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;

use super::Collector;
use super::otlp::{ExportRequest, Span, rejected_spans};
use super::spans::{Content, spans, text};

/// How long calls are gathered for one batch, and the most calls in it.
const GATHERING: Duration = Duration::from_secs(1);
const MOST_CALLS: usize = 128;

/// Most attempts for a batch, and the backoff between them.
const MOST_TRIES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Most content of one input or result, in bytes.
const MOST_CONTENT: usize = 8 * 1024;

/// Retryable HTTP statuses.
const PASSING: [u16; 4] = [429, 502, 503, 504];

/// One request to a collector.
pub struct Parcel {
    /// URL of the trace endpoint.
    pub url: String,
    /// Request headers; values may be credentials.
    pub headers: Vec<(String, String)>,
    /// Protobuf body.
    pub body: Vec<u8>,
    /// Timeout of the request.
    pub patience: Duration,
}

/// Response of a collector.
pub struct CollectorReply {
    /// HTTP status.
    pub status: u16,
    /// `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
    /// Response body.
    pub body: Vec<u8>,
}

/// Posts a request; the error says why no response came.
pub type Post =
    Arc<dyn Fn(Parcel) -> BoxFuture<'static, Result<CollectorReply, String>> + Send + Sync>;

/// Export totals so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportTotals {
    /// Calls whose spans the collector accepted.
    pub sent: u64,
    /// Calls whose spans were lost.
    pub dropped: u64,
    /// Why the last ones were lost; `None` once they are accepted again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Exports spans while it lives.
pub struct Exporter {
    exported: watch::Receiver<ExportTotals>,
    closing: Cancel,
    task: JoinHandle<()>,
}

impl Exporter {
    /// Exports the spans of every call that ends from now on.
    pub fn begin(runtime: Arc<Runtime>, collector: Collector, post: Post) -> Exporter {
        let (tell, exported) = watch::channel(ExportTotals::default());
        let closing = Cancel::new();
        let endings = runtime.endings();
        let sender = Sender { runtime, collector, post, endings, closing: closing.clone(), tell };
        Exporter { exported, closing, task: tokio::spawn(sender.run()) }
    }

    /// A receiver of the export totals.
    pub fn exported(&self) -> watch::Receiver<ExportTotals> {
        self.exported.clone()
    }

    /// Flushes what is left, for at most `patience`.
    pub async fn close(self, patience: Duration) {
        self.closing.cancel();
        let _ = tokio::time::timeout(patience, self.task).await;
    }
}

impl Collector {
    /// Tests the collector with a request without spans.
    pub async fn tried(&self, post: &Post) -> Result<(), String> {
        let answer = post(self.parcel(&[])).await?;
        match answer.status {
            200..=299 => Ok(()),
            status => Err(format!("it answered with {status}")),
        }
    }

    fn parcel(&self, spans: &[Span]) -> Parcel {
        let resource: Vec<_> =
            self.resource.iter().map(|(name, value)| text(name, value)).collect();
        let (scope_name, scope_version) = ("haft", env!("CARGO_PKG_VERSION"));
        let request = ExportRequest { resource: &resource, scope_name, scope_version, spans };
        let mut headers = self.headers.clone();
        headers.push(("content-type".to_owned(), "application/x-protobuf".to_owned()));
        Parcel { url: self.url.clone(), headers, body: request.encode(), patience: self.patience }
    }
}

struct Sender {
    runtime: Arc<Runtime>,
    collector: Collector,
    post: Post,
    endings: broadcast::Receiver<InvocationId>,
    closing: Cancel,
    tell: watch::Sender<ExportTotals>,
}

impl Sender {
    async fn run(mut self) {
        while let Some(calls) = self.gathered().await {
            let (spans, told) = self.told(&calls).await;
            self.dropped(calls.len() as u64 - told);
            if spans.is_empty() {
                continue;
            }
            match self.sent(spans).await {
                Ok(()) => self.tell.send_modify(|exported| {
                    exported.sent += told;
                    exported.fault = None;
                }),
                Err(fault) => self.tell.send_modify(|exported| {
                    exported.dropped += told;
                    exported.fault = Some(fault);
                }),
            }
        }
    }

    /// The calls of the next batch; `None` when there will be no more.
    async fn gathered(&mut self) -> Option<Vec<InvocationId>> {
        let first = loop {
            tokio::select! {
                biased;
                heard = self.endings.recv() => match heard {
                    Ok(id) => break id,
                    Err(broadcast::error::RecvError::Lagged(missed)) => self.dropped(missed),
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
                () = self.closing.cancelled() => return None,
            }
        };
        self.pause(GATHERING).await;
        let mut calls = vec![first];
        while calls.len() < MOST_CALLS {
            match self.endings.try_recv() {
                Ok(id) => calls.push(id),
                Err(broadcast::error::TryRecvError::Lagged(missed)) => self.dropped(missed),
                Err(_) => break,
            }
        }
        Some(calls)
    }

    /// The spans of calls, and the number of those calls. An unreadable call has none.
    async fn told(&self, calls: &[InvocationId]) -> (Vec<Span>, u64) {
        let (mut all, mut told) = (Vec::new(), 0);
        // A read is answered before it is visible in the ledger.
        let _ = self.runtime.reader().caught_up().await;
        for id in calls {
            if let Ok(spans) = self.spans_of(id).await {
                all.extend(spans);
                told += 1;
            }
        }
        (all, told)
    }

    async fn spans_of(&self, id: &InvocationId) -> Result<Vec<Span>, Stop> {
        if self.collector.content {
            let told = self.runtime.tell(id).await?;
            let content = content(&told);
            return Ok(spans(&told.story, Some(&content)));
        }
        let entries = self.runtime.reader().story(id).await?;
        let story = Story::fold(&entries);
        story
            .map(|story| spans(&story, None))
            .map_err(|fault| Stop::new(haft_model::Code::Internal, fault.to_string()))
    }

    /// Sends spans, with retries, until shutdown.
    async fn sent(&self, spans: Vec<Span>) -> Result<(), String> {
        let Parcel { url, headers, body, patience } = self.collector.parcel(&spans);
        let mut pause = FIRST_PAUSE;
        for tried in 1.. {
            let last = tried >= MOST_TRIES || self.closing.is_cancelled();
            let (url, headers, body) = (url.clone(), headers.clone(), body.clone());
            let answer = (self.post)(Parcel { url, headers, body, patience }).await;
            let (fault, wait) = match answer {
                Ok(answer) if (200..=299).contains(&answer.status) => return taken(&answer.body),
                Ok(answer) => {
                    let fault = format!("the collector answered with {}", answer.status);
                    if !PASSING.contains(&answer.status) {
                        return Err(fault);
                    }
                    (fault, answer.retry_after.map(Duration::from_secs))
                }
                Err(fault) => (fault, None),
            };
            if last {
                return Err(fault);
            }
            self.pause(wait.unwrap_or(pause).min(LONGEST_PAUSE)).await;
            pause *= 2;
        }
        Ok(())
    }

    /// Waits for the backoff, unless it shuts down.
    async fn pause(&self, pause: Duration) {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.closing.cancelled() => {}
        }
    }

    fn dropped(&self, calls: u64) {
        if calls > 0 {
            self.tell.send_modify(|exported| exported.dropped += calls);
        }
    }
}

/// A collector may accept a request and reject spans in it.
fn taken(body: &[u8]) -> Result<(), String> {
    match rejected_spans(body) {
        refused @ 1.. => Err(format!("the collector refused {refused} spans")),
        _ => Ok(()),
    }
}

/// Redacted input and result of a call.
fn content(told: &haft_runtime::TraceView) -> Content {
    let input = |name: &str| {
        let of = told.inputs.0.iter().find(|(of, _)| *of == name);
        of.and_then(|(_, input)| input.as_ref()).map(|(_, value)| short(&value.to_string()))
    };
    let envelope = told.envelope.as_ref();
    let result = envelope.and_then(|envelope| match &envelope.structured_content {
        Some(value) => Some(value.to_string()),
        None => serde_json::to_value(&envelope.content).ok().as_ref().map(Value::to_string),
    });
    Content {
        arguments: input("call").or_else(|| input("model")),
        result: result.as_deref().map(short),
        message: told.story.error_message.clone(),
    }
}

fn short(text: &str) -> String {
    let mut end = text.len().min(MOST_CONTENT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}
