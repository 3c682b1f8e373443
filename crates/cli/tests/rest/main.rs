//! HTTP API tests: `/v1`, `/a2a` and `/metrics` of a real server over real sockets.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

mod a2a;
mod bad;
mod calls;
mod catalog;
#[cfg(target_os = "linux")]
mod forms;
mod functions;
#[cfg(target_os = "linux")]
#[path = "../it/hotel.rs"]
mod hotel;
mod inbox;
mod letters;
mod numbers;
#[path = "../it/stage.rs"]
#[allow(dead_code, reason = "the stage is shared with the other tests of the command")]
mod stage;
mod twenty;
#[allow(dead_code, reason = "the client is shared with the other tests of the server")]
mod wire;
mod words;

use haft_testkit::{ALLOW, Backend, Folder, READ, Served, WRITE};

/// A shop: looking and paying are allowed, and refunding asks.
fn shop(backend: &Backend) -> Folder {
    let asks = "mutates: [\"external:shop\"]\nrisk_level: 2\napproval: always\n";
    Served::by(backend)
        .at("look", READ, "GET", "/look")
        .at("pay", WRITE, "POST", "/pay")
        .at("refund", asks, "POST", "/refund")
        .with(ALLOW)
}
