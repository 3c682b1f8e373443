//! Tests of the host: its workspace, its pipeline, its drivers and its rules, as an embedder meets them.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

#[path = "../support/accepted.rs"]
mod accepted;
mod cli;
mod crash;
mod define;
mod hooks;
mod http;
#[cfg(unix)]
mod judged;
mod lost_response;
mod mcp;
#[path = "../support/meddled.rs"]
mod meddled;
#[path = "../../../drivers/tests/support/office.rs"]
mod office;
mod pipeline;
#[cfg(unix)]
mod rules;
mod sdk;
mod stage;
mod story;
mod trace;
mod workspace;
