//! What stands behind the ports: one module for each kind of driver.
//!
//! Owns how each kind carries a call out.
//! Must never know the runtime; only the wiring names both. Start with [`Builtin`].

mod builtin;
mod download;
mod ending;
mod hooks;
mod http;
mod watch;
mod web;

pub use builtin::Builtin;
pub use download::download;
pub use hooks::{Concern, HttpHook, Place, Post, ProgramHook};
pub use http::{Declared, Http};
