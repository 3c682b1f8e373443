//! MCP server: every version from 2025-06-18 on, over HTTP and stdio.
//!
//! A transport parses messages and hands requests to the dispatcher, which knows no transport; what
//! a handler sends before its result passes the request's outbox back to the transport. The wire
//! types are rmcp's.

mod answer;
mod asking;
mod blocks;
mod calling;
mod change_feed;
mod client_session;
mod conversation;
mod deferred;
mod dispatch;
mod exchange;
mod flaws;
mod http;
mod in_flight;
mod inquiries;
mod listing;
mod message;
mod outbox;
mod protocol;
mod remarks;
mod requester;
mod resources;
mod response_deadline;
mod sessions;
mod stdio;
mod subscriptions;
mod suspended;
mod tasks;
mod upstream;
mod upstream_methods;

#[doc(hidden)]
pub use flaws::input_flaw;
pub(crate) use http::{HttpTransport, LARGEST_REQUEST, unreadable};
pub(crate) use inquiries::Inquiries;
pub(crate) use listing::Listings;
#[doc(hidden)]
pub use message::tool_call;
pub(crate) use sessions::{SessionCounts, SharedSessions};
#[doc(hidden)]
pub use stdio::read_lines;
pub use stdio::{lines, stdio};
pub(crate) use suspended::SuspendedCalls;
