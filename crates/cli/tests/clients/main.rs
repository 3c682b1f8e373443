//! Interoperability tests: third-party clients and agents against `haft serve` over HTTP and stdio;
//! each reads, asks a person, writes once and hears of progress.
//!
//! They come as packages of npm and PyPI of fixed versions, which are installed once into the target
//! folder. Without npm and pip the tests fail: what was not tried is not known to work.

#![cfg(unix)]
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

mod agents;
mod deferred;
mod inspector;
mod installed;
mod libraries;
mod notes;
mod script;
#[path = "../it/stage.rs"]
#[allow(dead_code, reason = "the stage is shared with the other tests of the command")]
mod stage;
#[path = "../rest/wire.rs"]
#[allow(dead_code, reason = "the wire is shared with the other tests of the command")]
mod wire;
