//! The wires: MCP, REST and what else callers speak.
//!
//! Owns wire types, who a request is from, and nothing else: every call goes through
//! [`haft_runtime::Runtime`]. Must never judge, run or record. Start with [`Server`].

mod a2a;
mod app_state;
mod auth;
mod deferred;
mod functions;
mod listen;
mod mcp;
mod metrics;
mod rest;
mod session;
mod telemetry;

#[doc(hidden)]
pub use a2a::a2a_call;
pub use app_state::Desk;
pub use auth::{Fetch, OAuth};
pub use listen::{ClientLimits, Entrance, Error, HttpServer, SessionLimits};
#[doc(hidden)]
pub use mcp::{checked_lines, input_flaw, tool_call};
pub use mcp::{lines, stdio};
pub use telemetry::{
    Collector, CollectorReply, ExportTotals, Exporter, Parcel, Post, TelemetrySettings,
};
