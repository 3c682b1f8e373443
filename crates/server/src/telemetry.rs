//! Calls that ended, as spans of OpenTelemetry, sent to a collector by OTLP over HTTP.
//!
//! Spans are made of what the ledger says of a call once it is over, beside every call and never in
//! its way: a collector that is slow or gone costs spans, and each that is lost is counted.

mod collector;
mod exporter;
mod spans;

pub use collector::{Collector, TelemetrySettings};
pub use exporter::{CollectorReply, ExportTotals, Exporter, Parcel, Post};
