//! Telemetry export: reads the settings and the environment, and posts spans to a collector.

use std::sync::Arc;
use std::time::Duration;

use haft::{Degree, DoctorFinding, Host, SpansSent};
use haft_driver::BoxFuture;
use haft_model::Timestamp;
use haft_server::{
    Collector, CollectorReply, ExportTotals, Exporter, Parcel, Post, TelemetrySettings,
};

use crate::output;

/// Timeout for the last spans when the process is done.
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts the exporter where telemetry is configured; its totals go on record.
pub(crate) fn begin(host: &Arc<Host>) -> Option<Exporter> {
    let exporter = started(host)?;
    let (host, mut exported) = (host.clone(), exporter.exported());
    tokio::spawn(async move {
        while exported.changed().await.is_ok() {
            let (host, now) = (host.clone(), exported.borrow_and_update().clone());
            let _ = tokio::task::spawn_blocking(move || note(&host, now)).await;
        }
    });
    Some(exporter)
}

/// Does the work of a command and sends the spans of its calls, where haft.toml wants those too.
pub(crate) async fn around<T>(host: &Host, work: impl Future<Output = T>) -> T {
    let exporter = host.workspace().settings().telemetry.commands.then(|| started(host)).flatten();
    let done = work.await;
    end(host, exporter).await;
    done
}

/// Flushes the remaining spans, and records the totals.
pub(crate) async fn end(host: &Host, exporter: Option<Exporter>) {
    let Some(exporter) = exporter else { return };
    let exported = exporter.exported();
    exporter.close(PATIENCE).await;
    let last = exported.borrow().clone();
    note(host, last);
}

/// The doctor's check of telemetry: whether the collector accepts spans, and what was dropped.
pub(crate) async fn examined(host: &Host) -> Option<DoctorFinding> {
    let broken = |words: String| DoctorFinding::new("telemetry", Degree::Broken, words);
    let collector = match collector(host) {
        Ok(collector) => collector?,
        Err(fault) => return Some(broken(fault)),
    };
    if let Err(fault) = collector.tried(&post()).await {
        let words = format!("`{}` takes no spans: {fault}", collector.url());
        return Some(broken(words).mended_by("start the collector, or name another one"));
    }
    let url = collector.url();
    Some(match host.spans_noted() {
        Err(fault) => broken(fault.to_string()),
        Ok(SpansSent { sent, dropped: 0, .. }) => {
            let words = format!("`{url}` takes spans; it has those of {sent} calls");
            DoctorFinding::new("telemetry", Degree::Fine, words)
        }
        Ok(SpansSent { sent, dropped, fault, .. }) => {
            let why = fault.map(|fault| format!(": {fault}")).unwrap_or_default();
            let words = format!("the spans of {dropped} calls were lost and {sent} sent{why}");
            DoctorFinding::new("telemetry", Degree::Warning, words)
        }
    })
}

fn started(host: &Host) -> Option<Exporter> {
    match collector(host) {
        Ok(collector) => Some(Exporter::begin(host.shared_runtime(), collector?, post())),
        Err(fault) => {
            output::remark(format!("warning: no spans are sent: {fault}"));
            None
        }
    }
}

fn collector(host: &Host) -> Result<Option<Collector>, String> {
    let written = host.workspace().settings().telemetry.clone();
    let wanted = TelemetrySettings {
        endpoint: written.endpoint,
        service: written.service,
        content: written.content,
    };
    Collector::of(wanted, |name| std::env::var(name).ok())
}

fn post() -> Post {
    Arc::new(|parcel: Parcel| -> BoxFuture<'static, _> {
        Box::pin(async move {
            let Parcel { url, headers, body, patience } = parcel;
            let answer = haft::post(&url, &headers, body, patience).await?;
            let haft::PostResponse { status, retry_after, body } = answer;
            Ok(CollectorReply { status, retry_after, body })
        })
    })
}

/// Records the totals; a failure to do so is ignored.
fn note(host: &Host, exported: ExportTotals) {
    let ExportTotals { sent, dropped, fault } = exported;
    let _ = host.note_spans(SpansSent { sent, dropped, fault, at: Some(Timestamp::now()) });
}
