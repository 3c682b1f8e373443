//! Black-box tests (of the twenty) about effects and secrets, seen only through the command line
//! and over HTTP: real processes, a real store, and a backend over real sockets that counts its
//! effects.

mod binding;
#[cfg(target_os = "linux")]
mod canaries;
mod export;
#[cfg(target_os = "linux")]
mod four_inputs;
#[cfg(unix)]
mod interrupt;
#[cfg(target_os = "linux")]
mod no_login;
#[cfg(target_os = "linux")]
mod order;
#[cfg(unix)]
mod partial;
mod siblings;
#[cfg(target_os = "linux")]
mod story;
#[cfg(target_os = "linux")]
mod this_action;
mod timeouts;
#[cfg(target_os = "linux")]
mod undeclared;

use std::time::{Duration, Instant};

use haft_testkit::Folder;
use serde_json::Value;

#[cfg(target_os = "linux")]
use crate::hook_program::{hook, program};
use crate::stage;

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
