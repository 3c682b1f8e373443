//! Telemetry: exports ended calls as OpenTelemetry spans, by OTLP over HTTP.
//!
//! Spans are built from the ledger once a call has ended, never on the call's path: a slow or
//! missing collector costs spans, and each lost one is counted.

mod collector;
mod exporter;
mod otlp;
mod protobuf;
mod spans;

pub use collector::{Collector, TelemetrySettings};
pub use exporter::{CollectorReply, ExportTotals, Exporter, Parcel, Post};
