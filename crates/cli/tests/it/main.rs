//! CLI tests from outside: a workspace and a command line in, the whole answer out.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

mod acceptance;
mod add;
mod bad_contracts;
mod batch;
mod call;
mod check;
mod doctor;
mod edges;
mod examples;
#[cfg(target_os = "linux")]
mod forms;
#[cfg(target_os = "linux")]
mod hooks;
#[cfg(target_os = "linux")]
mod hotel;
mod http;
mod inbox;
mod init;
mod input;
mod integrity;
#[cfg(target_os = "linux")]
mod keyring;
mod lifecycle;
mod locked_store;
#[cfg(target_os = "linux")]
mod login;
mod lost_store;
mod majors;
mod pages;
mod published;
mod readiness;
mod records;
#[cfg(target_os = "linux")]
mod secrets;
mod setup;
mod show;
mod snapshots;
mod stage;
#[cfg(target_os = "linux")]
mod terminal;
mod undo;
#[cfg(unix)]
mod unwritable;
mod why;
