//! Prometheus metrics: `/metrics`, the totals since this process began.
//!
//! It counts from the ledger on each scrape, so that calls cost nothing more between scrapes.

mod histogram;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use haft_ledger::{QuestionFilter, RunFilter, events};
use haft_model::{InvocationId, Stop, Timestamp, parse_timestamp};
use haft_runtime::Reader;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::rest::{By, Problem};
use crate::{AppState, ExportTotals};
use histogram::Histogram;

/// Entries read at once, and per scrape; the next scrape reads the rest.
const AT_ONCE: usize = 512;
const MOST_READ: usize = 20_000;

/// Most unfinished calls that are followed, and the cap on counted open ones.
const MOST_FOLLOWED: usize = 100_000;
const MOST_OPEN: usize = 10_000;

/// Totals so far.
#[derive(Default)]
pub(crate) struct MetricTotals(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    /// Sequence number of the last counted entry.
    after: Option<u64>,
    /// Calls by tool and final status.
    calls: BTreeMap<(String, String), u64>,
    /// Durations by tool.
    durations: BTreeMap<String, Histogram>,
    sent_again: u64,
    /// Calls that have not ended: their tool and start time.
    under_way: HashMap<InvocationId, (String, Timestamp)>,
}

impl MetricTotals {
    /// Starts counting after the current end of the ledger.
    pub(crate) async fn begin(&self, reader: &Reader) {
        let last = reader.wait_past(None, Duration::ZERO).await;
        self.0.lock().await.after = last.ok().flatten();
    }
}

/// The route of `/metrics`.
pub(crate) fn router() -> Router<Arc<AppState>> {
    Router::new().route("/metrics", get(show))
}

async fn show(State(desk): State<Arc<AppState>>, _: By) -> Result<Response, Problem> {
    let text = text(&desk).await?;
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, text).into_response())
}

async fn text(desk: &AppState) -> Result<String, Stop> {
    let reader = desk.runtime.reader();
    // While the store is down, operators look here for the reason.
    let _ = reader.caught_up().await;
    let mut counts = desk.tally.0.lock().await;
    counts.catch_up(&reader).await?;
    let last = reader.wait_past(None, Duration::ZERO).await?;
    let behind = last.map_or(0, |last| last + 1) - counts.after.map_or(0, |after| after + 1);
    let open = RunFilter { open: true, most: MOST_OPEN, ..RunFilter::default() };
    let open = reader.runs(&open).await?.len();
    let asked = QuestionFilter { open: true, ..QuestionFilter::default() };
    let asked = desk.runtime.questions(&asked).await?.len();
    let mut text = counts.written();
    gauge(
        &mut text,
        "haft_calls_open",
        "Calls that have not ended, counted to 10000.",
        open as u64,
    );
    gauge(&mut text, "haft_questions_open", "Questions that wait for people.", asked as u64);
    gauge(&mut text, "haft_events_behind", "Entries of the ledger not counted yet.", behind);
    let health = reader.health();
    gauge(
        &mut text,
        "haft_store_up",
        "Whether calls can be put on record.",
        u64::from(health.is_up()),
    );
    gauge(
        &mut text,
        "haft_records_pending",
        "Records of answered calls that wait for the store.",
        health.pending(),
    );
    head(
        &mut text,
        "haft_records_lost_total",
        "counter",
        "Records of answered calls that were given up.",
    );
    line(&mut text, format!("haft_records_lost_total {}", health.lost()));
    let sessions = desk.session_counts();
    for (name, about, count) in [
        ("haft_mcp_sessions_awake", "Sessions of MCP with a worker.", sessions.awake),
        ("haft_mcp_sessions_asleep", "Idle sessions of MCP, kept as records.", sessions.asleep),
        ("haft_mcp_sessions_bytes", "Bytes that the records of sessions take.", sessions.bytes),
    ] {
        gauge(&mut text, name, about, count as u64);
    }
    let bulletin = desk.bulletin.counts().await;
    let readers = bulletin.readers as u64;
    gauge(&mut text, "haft_event_readers", "Clients that follow `/v1/events`.", readers);
    let bytes = bulletin.bytes as u64;
    gauge(&mut text, "haft_event_bytes", "Bytes of events that wait for them, each once.", bytes);
    if let Some(exported) = &desk.exported {
        spans(&mut text, &exported.borrow());
    }
    Ok(text)
}

impl Counts {
    async fn catch_up(&mut self, reader: &Reader) -> Result<(), Stop> {
        let mut read = 0;
        while read < MOST_READ {
            let entries = reader.entries(self.after, AT_ONCE).await?;
            if entries.is_empty() {
                break;
            }
            for entry in &entries {
                // `haft audit verify` reports an unreadable entry.
                events(entry).unwrap_or_default().iter().for_each(|record| self.hear(record));
                self.after = Some(entry.seq);
            }
            read += entries.len();
        }
        Ok(())
    }

    fn hear(&mut self, record: &Value) {
        let text = |place: &str| record.pointer(place).and_then(Value::as_str);
        let Some(id) = text("/invocation_id").map(InvocationId::from) else { return };
        let Some(at) = text("/time").and_then(parse_timestamp) else { return };
        match text("/event_type").unwrap_or_default() {
            "tool.invocation.planned" if self.under_way.len() < MOST_FOLLOWED => {
                self.under_way.insert(id, ("unresolved".to_owned(), at));
            }
            "tool.invocation.selected" => {
                if let (Some((tool, _)), Some(name)) =
                    (self.under_way.get_mut(&id), text("/data/tool"))
                {
                    name.clone_into(tool);
                }
            }
            "haft.intent.sent_again" => self.sent_again += 1,
            "tool.invocation.succeeded"
            | "tool.invocation.failed"
            | "tool.invocation.canceled"
            | "tool.invocation.timed_out"
            | "tool.invocation.validation_failed" => {
                let status = text("/data/final_status").unwrap_or_default().to_owned();
                let Some((tool, began)) = self.under_way.remove(&id) else { return };
                let micros = at.as_microsecond().saturating_sub(began.as_microsecond());
                let seconds = u64::try_from(micros).unwrap_or_default() as f64 / 1e6;
                self.durations.entry(tool.clone()).or_default().add(seconds);
                *self.calls.entry((tool, status)).or_default() += 1;
            }
            _ => {}
        }
    }

    fn written(&self) -> String {
        let mut text = String::new();
        head(&mut text, "haft_calls_total", "counter", "Calls that ended, by tool and status.");
        for ((tool, status), count) in &self.calls {
            let (tool, status) = (label(tool), label(status));
            line(
                &mut text,
                format!("haft_calls_total{{tool=\"{tool}\",status=\"{status}\"}} {count}"),
            );
        }
        head(
            &mut text,
            "haft_call_seconds",
            "histogram",
            "From coming in to the end, people included.",
        );
        for (tool, histogram) in &self.durations {
            histogram.write(&mut text, "haft_call_seconds", &label(tool));
        }
        head(
            &mut text,
            "haft_calls_sent_again_total",
            "counter",
            "Calls answered by an earlier one.",
        );
        line(&mut text, format!("haft_calls_sent_again_total {}", self.sent_again));
        text
    }
}

/// Span export totals.
fn spans(text: &mut String, exported: &ExportTotals) {
    let ExportTotals { sent, dropped, fault: _ } = exported;
    let mut counter = |name: &str, about: &str, value: &u64| {
        head(text, name, "counter", about);
        line(text, format!("{name} {value}"));
    };
    counter("haft_telemetry_sent_total", "Calls whose spans a collector took.", sent);
    counter("haft_telemetry_dropped_total", "Calls whose spans were dropped.", dropped);
}

fn gauge(text: &mut String, name: &str, about: &str, value: u64) {
    head(text, name, "gauge", about);
    line(text, format!("{name} {value}"));
}

fn head(text: &mut String, name: &str, kind: &str, about: &str) {
    line(text, format!("# HELP {name} {about}\n# TYPE {name} {kind}"));
}

fn line(text: &mut String, line: impl std::fmt::Display) {
    // Writing into a string cannot fail.
    let _ = writeln!(text, "{line}");
}

/// An escaped label value.
fn label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn call_is_counted_once_by_tool_status_and_duration() {
        let mut counts = Counts::default();
        let record = |class: &str, time: &str, data: Value| json!({ "invocation_id": "inv_1", "event_type": class, "time": time, "data": data });
        let end = record(
            "tool.invocation.failed",
            "2026-01-01T00:00:02Z",
            json!({ "final_status": "denied" }),
        );
        for record in [
            record("tool.invocation.planned", "2026-01-01T00:00:00Z", json!({})),
            record("tool.invocation.selected", "2026-01-01T00:00:00Z", json!({ "tool": "a\"b@1" })),
            end.clone(),
            end,
        ] {
            counts.hear(&record);
        }
        let text = counts.written();
        for expected in [
            "haft_calls_total{tool=\"a\\\"b@1\",status=\"denied\"} 1\n",
            "haft_call_seconds_bucket{tool=\"a\\\"b@1\",le=\"1\"} 0\n",
            "haft_call_seconds_bucket{tool=\"a\\\"b@1\",le=\"5\"} 1\n",
            "haft_call_seconds_bucket{tool=\"a\\\"b@1\",le=\"+Inf\"} 1\n",
            "haft_call_seconds_sum{tool=\"a\\\"b@1\"} 2\n",
            "haft_call_seconds_count{tool=\"a\\\"b@1\"} 1\n",
            "haft_calls_sent_again_total 0\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }
}
