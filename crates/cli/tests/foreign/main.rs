//! Interoperability tests: third-party clients, agents, backends and receivers against `haft`.
//!
//! They come as packages of npm and PyPI of fixed versions, which are installed once into the target
//! folder. Without npm and pip the tests fail: what was not tried is not known to work.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

mod backends;
#[cfg(unix)]
mod clients;
mod rest;
#[path = "../it/stage.rs"]
#[allow(dead_code, reason = "it is shared with the other tests of the command")]
mod stage;
#[cfg(target_os = "linux")]
mod telemetry;
#[path = "../it/wire.rs"]
#[allow(dead_code, reason = "it is shared with the other tests of the command")]
mod wire;
