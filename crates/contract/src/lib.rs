//! Manifests: text in, contracts and diagnostics out.
//!
//! Owns what every document may say, how a contract inherits from an action, and what its words
//! mean. Must never touch a disk, a clock or a socket; the caller that walks the workspace passes
//! the texts in. Start with [`read`] and [`Contract`].

mod action;
pub mod agent_tool;
pub mod aruntime;
mod auth;
mod beside;
mod block;
mod bundle;
mod contract;
mod diagnostic;
pub mod driver;
mod effects;
mod extras;
mod foreign;
pub mod governance;
pub mod host;
mod inherit;
mod io;
mod lock;
mod loosening;
mod manifest;
mod policy;
mod policy_rule;
mod read;
pub mod rules;
mod runner;
mod sandbox;
mod secrets;
pub mod settings;
pub mod shape;
pub mod source;
mod tool;
#[cfg(test)]
mod trial;

use haft_notation::range;

pub use action::{Action, standard_actions};
pub use agent_tool::Interface;
pub use auth::{AuthFile, Flow, Handover, TokenStore};
pub use beside::beside;
pub use contract::Contract;
pub use diagnostic::{Diagnostic, Finding, Report, Rule, Severity, did_you_mean};
pub use driver::manifest::{AuthBlock, DriverManifest};
pub use driver::{Cost, Driver, DriverAuth, Implements, MappingEntry, own_shape};
pub use extras::{
    Compensation, Concurrency, Extras, Idempotency, ImportSource, StatedFacts, StatusQuery,
};
pub use governance::GovernanceFile;
pub use haft_model::{Grantee, SecretKind};
pub use inherit::inherit;
pub use io::check_io;
pub use lock::{AcceptedContract, Lock, Standing, Upstream, UpstreamStanding};
pub use loosening::{Governing, Loosening, loosened};
pub use manifest::{ManifestKind, ParsedManifest, Reading, read, read_as};
pub use runner::check_runner;
pub use sandbox::{check_sandbox, mount_point};
pub use secrets::{Exposure, SecretAudit, SecretEntry, SecretsFile};
pub use shape::documents::all_rules;
pub use source::{Source, Span, Syntax};
pub use tool::{ActionRef, DEFAULT_TIMEOUT_MS, Example, ToolManifest};
