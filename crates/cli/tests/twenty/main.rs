//! Black-box tests (of the twenty) about effects and secrets, seen only through the command line
//! and over HTTP: real processes, a real store, and a backend over real sockets that counts its
//! effects.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

#[cfg(target_os = "linux")]
mod bank;
mod binding;
#[cfg(target_os = "linux")]
mod canaries;
#[cfg(target_os = "linux")]
mod canary;
#[path = "../surfaces/client.rs"]
#[allow(dead_code, reason = "the client is shared with the other tests of MCP")]
mod client;
mod export;
#[cfg(target_os = "linux")]
mod four_inputs;
#[cfg(target_os = "linux")]
mod hooks;
#[cfg(unix)]
mod interrupt;
#[cfg(target_os = "linux")]
mod no_login;
#[cfg(target_os = "linux")]
mod order;
#[cfg(unix)]
mod partial;
mod siblings;
#[path = "../it/stage.rs"]
#[allow(dead_code, reason = "the stage is shared with the other tests of the command")]
mod stage;
#[cfg(target_os = "linux")]
mod story;
#[cfg(target_os = "linux")]
mod this_action;
mod timeouts;
#[cfg(target_os = "linux")]
mod undeclared;
#[path = "../rest/wire.rs"]
#[allow(dead_code, reason = "the client is shared with the other tests of the server")]
mod wire;

use std::time::{Duration, Instant};

use haft_testkit::Folder;
#[cfg(target_os = "linux")]
use hooks::{hook, program};
use serde_json::Value;

/// Polls until the awaited state is there. Each poll is a process of its own, so there is no busy
/// loop.
#[track_caller]
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < patience, "{what} never came");
    }
}

/// Everything that `haft trace` tells of a call.
#[track_caller]
fn trace(folder: &Folder, id: &str) -> Value {
    let (exit, told) = stage::json(folder, &format!("trace {id} --json"));
    assert_eq!(exit, 0, "{told:#}");
    told
}

/// A text that JSON holds.
#[track_caller]
fn word(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// A field of each of some values.
fn each(values: &Value, pointer: &str) -> Vec<Value> {
    let values = values.as_array().unwrap();
    values.iter().map(|value| value.pointer(pointer).cloned().unwrap_or_default()).collect()
}
