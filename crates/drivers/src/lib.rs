//! What stands behind the ports: one module for each kind of driver.
//!
//! Owns how each kind carries a call out.
//! Must never know the runtime; only the wiring names both. Start with [`Builtin`].

mod builtin;
mod declared;
mod ending;
mod hooks;
mod http;
mod kept;
pub mod mcp;
mod opening;
mod place;
mod watch;
mod web;

pub use builtin::Builtin;
pub use declared::Declared;
pub use hooks::{Concern, HttpHook, Post, ProgramHook};
pub use http::Http;
pub use mcp::Mcp;
pub use place::Place;
