//! MCP over a server that this process holds: what is asked of callers, who may come back, and what
//! becomes of a call whose client left.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

mod asked;
mod flawed;
mod long;
mod malformed;
mod sessions;
mod stage;
mod straight;
mod tasks;
