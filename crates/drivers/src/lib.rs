//! Driver implementations: one module for each kind of driver behind the ports.
//!
//! Owns how each kind carries a call out.
//! Must never know the runtime; only the wiring names both. Start with [`Builtin`].

mod argv_split;
mod builtin;
mod cli;
mod closed;
mod declared;
mod download;
mod exact;
mod failure;
mod health;
mod hooks;
mod http;
mod login;
pub mod mcp;
mod pipe;
mod pool;
mod post;
mod provision;
mod response_id;
mod sandbox_opening;
mod sdk;
mod targets;
mod template_context;
mod upstream;
mod vault;
mod watch;
mod web;
mod working_folder;

pub use builtin::Builtin;
pub use cli::Cli;
pub use declared::DeclaredEntries;
pub use download::download;
pub use health::{Checkup, probe};
pub use hooks::{Concern, HttpHook, Post, ProgramHook};
pub use http::Http;
pub use login::{
    Attend, Callback, Device, LoginRecord, LoginSignal, Logins, Program, Service, Sign, Step, Tell,
    is_kept,
};
pub use mcp::Mcp;
pub use post::{PostResponse, post};
pub use provision::{InstallWay, Provision, SetupStep, SetupWork};
pub use sdk::Sdk;
pub use upstream::Upstream;
pub use vault::{
    Holder, Keeper, KeyPlace, ListedSecret, Per, SHORTEST_SECRET, SecretVariable, ServerLogin,
    StoreTransaction, Strongbox, Token,
};
pub use working_folder::WorkingFolder;
