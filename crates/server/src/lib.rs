//! Wire protocols: MCP, REST, A2A and function calling over one runtime.
//!
//! Owns wire types and authentication, and nothing else: every call goes through
//! [`haft_runtime::Runtime`]. Must never judge, run or record. Start with [`HttpServer`].

mod a2a;
mod app_state;
mod auth;
mod deferred;
mod error_mapping;
mod functions;
mod listen;
mod mcp;
mod metrics;
mod rest;
mod session;
mod telemetry;

#[doc(hidden)]
pub use a2a::a2a_call;
pub use app_state::AppState;
pub use auth::{Fetch, OAuth};
pub use listen::{ClientLimits, Entrance, Error, HttpServer, SessionLimits};
#[doc(hidden)]
pub use mcp::{input_flaw, read_lines, tool_call};
pub use mcp::{lines, stdio};
pub use telemetry::{
    Collector, CollectorReply, ExportTotals, Exporter, Parcel, Post, TelemetrySettings,
};
