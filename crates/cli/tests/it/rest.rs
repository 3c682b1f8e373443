//! HTTP API tests: `/v1`, `/a2a` and `/metrics` of a real server over real sockets.

mod a2a;
mod bad;
mod calls;
mod catalog;
#[cfg(target_os = "linux")]
mod forms;
mod functions;
mod inbox;
mod letters;
mod numbers;
mod twenty;
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
