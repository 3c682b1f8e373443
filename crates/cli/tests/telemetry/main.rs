//! Telemetry tests: spans of calls as a collector gets them, with real processes, real sockets, and
//! a receiver that reads OTLP by the published definitions.

#![cfg(target_os = "linux")]
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

#[path = "../twenty/bank.rs"]
#[allow(dead_code, reason = "the bank is shared with the tests of the command")]
mod bank;
#[path = "../twenty/canary.rs"]
mod canary;
#[path = "../surfaces/client.rs"]
#[allow(dead_code, reason = "the client is shared with the other tests of MCP")]
mod client;
mod collector;
mod foreign;
mod hidden;
#[path = "../twenty/hooks.rs"]
mod hooks;
mod lost;
mod spans;
#[path = "../it/stage.rs"]
#[allow(dead_code, reason = "the stage is shared with the other tests of the command")]
mod stage;
#[path = "../rest/wire.rs"]
#[allow(dead_code, reason = "the client is shared with the other tests of the server")]
mod wire;

use haft_testkit::Folder;

use collector::Collector;
use hooks::{hook, program};

/// A workspace of what comes with Haft, whose spans go to a collector.
fn workspace(collector: &Collector, more: &str) -> Folder {
    let telemetry = format!("[telemetry]\nendpoint = \"{}\"\n{more}\n", collector.base());
    let rule = "[[rule]]\ntool = \"fs.write\"\nverdict = \"ask\"\n\
                [[rule]]\ntool = \"time.*\"\nverdict = \"deny\"\nreason = \"no clocks here\"\n";
    Folder::new()
        .file("haft.toml", format!("[workspace]\nname = \"shop\"\n{rule}{telemetry}"))
        .file("notes.txt", "flour\n")
}
