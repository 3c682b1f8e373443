//! What stands behind the ports: one module for each kind of driver.
//!
//! Owns how each kind carries a call out.
//! Must never know the runtime; only the wiring names both. Start with [`Builtin`].

mod builtin;
mod cli;
mod declared;
mod ending;
mod filling;
mod hooks;
mod http;
mod kept;
mod opening;
mod place;
mod provision;
mod watch;
mod web;

pub use builtin::Builtin;
pub use cli::Cli;
pub use declared::Declared;
pub use hooks::{Concern, HttpHook, Post, ProgramHook};
pub use http::Http;
pub use place::Place;
pub use provision::{InstallWay, Provision, SetupStep, SetupWork};
