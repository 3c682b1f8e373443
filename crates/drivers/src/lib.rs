//! What stands behind the ports: one module for each kind of driver.
//!
//! Owns how each kind carries a call out.
//! Must never know the runtime; only the wiring names both. Start with [`Builtin`].

mod builtin;
mod cli;
mod closed;
mod declared;
mod download;
mod ending;
mod exact;
mod filling;
mod health;
mod hooks;
mod http;
mod kept;
mod login;
pub mod mcp;
mod opening;
mod pipe;
mod place;
mod post;
mod provision;
mod sdk;
mod targets;
mod unreadable;
mod upstream;
mod vault;
mod watch;
mod web;
mod words;

pub use builtin::Builtin;
pub use cli::Cli;
pub use declared::Declared;
pub use download::download;
pub use health::{Checkup, probe};
pub use hooks::{Concern, HttpHook, Post, ProgramHook};
pub use http::Http;
pub use login::{
    Attend, AuthBlock, Callback, CompletesWhen, Device, Login, LoginBlock, Logins, Observed,
    Program, Refresh, Service, Sign, Step, Tell,
};
pub use mcp::Mcp;
pub use place::Place;
pub use post::{Answered, post};
pub use provision::{InstallWay, Provision, SetupStep, SetupWork};
pub use sdk::Sdk;
pub use upstream::Upstream;
pub use vault::{
    Change, Holder, Keeper, KeyPlace, Listed, Named, Per, SHORTEST_SECRET, ServerLogin, Strongbox,
    Token,
};
