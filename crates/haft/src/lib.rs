//! Haft as a library: the handle by which an AI agent holds its tools.
//!
//! Owns the workspace on disk: which files are read, and what becomes of them.
//! Must never know a wire or a terminal; commands and servers stand on it.
//! Start with [`Host::open`], or with [`Workspace::load`] to look and not to call; contracts and
//! drivers of your own begin with [`Tool::builder`] and [`define_driver`].

mod asked;
mod builtin;
mod define;
mod error;
mod files;
mod help;
mod host;
mod published_schemas;
mod readiness;
mod workspace;

pub use asked::Stranger;
pub use builtin::BUILTIN_DRIVER;
pub use define::{
    Args, DefineError, Definitions, DriverBuilder, DriverHandle, Tool, ToolBuilder, ToolDefinition,
    ToolFailure, ToolHandle, define_driver, define_tool,
};
pub use error::Error;
pub use haft_driver as driver;
pub use haft_driver::{Cancel, Link};
pub use haft_drivers::{Attend, Checkup, InstallWay, Provision, SetupStep, SetupWork, Step, Tell};
pub use haft_drivers::{PostResponse, download, post};
pub use haft_ledger as ledger;
pub use haft_model as model;
pub use haft_policy as policy;
pub use haft_runtime as runtime;
pub use haft_sandbox::{Launcher, launcher};
pub use help::help_of;
pub use host::{
    Ask, Attending, Degree, DoctorFinding, Host, HostOptions, IdentityFile, ProbeResult,
    ReloadOutcome, SecretState, SpansSent, StoreChoice, StoreRenewal, Subscription, Watching,
};
pub use readiness::{DriverRecord, Readiness};
pub use schemars;
pub use workspace::{BrokenContract, GoverningStanding, LoadOptions, Rulebook, Workspace};
