//! MCP integration tests over an in-process server: elicitation, resumption, and calls whose client
//! left.

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
