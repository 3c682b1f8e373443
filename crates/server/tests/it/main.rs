//! Server tests: MCP, REST and the limits of clients, over an in-process server.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

mod limits;
mod mcp;
#[path = "../../../haft/tests/support/meddled.rs"]
#[allow(dead_code, reason = "the store is shared with the tests of the pipeline")]
mod meddled;
mod rest;
