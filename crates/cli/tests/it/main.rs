//! CLI tests from outside: a workspace and a command line in, the whole answer out; and what `haft serve` answers.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

mod acceptance;
mod add;
mod bad_contracts;
#[cfg(target_os = "linux")]
mod bank;
mod batch;
mod call;
#[cfg(target_os = "linux")]
mod canary;
mod check;
mod client;
mod doctor;
mod edges;
mod examples;
#[cfg(target_os = "linux")]
mod forms;
#[cfg(target_os = "linux")]
mod hook_program;
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
mod rest;
#[cfg(target_os = "linux")]
mod secrets;
mod serve;
mod setup;
mod show;
mod snapshots;
mod stage;
mod surfaces;
#[cfg(target_os = "linux")]
mod telemetry;
#[cfg(target_os = "linux")]
mod terminal;
mod twenty;
mod undo;
#[cfg(unix)]
mod unwritable;
mod why;
mod wire;
