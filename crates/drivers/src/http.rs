//! Drivers of kind http (AIP-31): a request for each call, as their manifests describe it.
//!
//! A request that may change something counts as submitted from the moment its connection stands:
//! what fails before was not sent, and what fails after is told apart by the answer alone.

mod answer;
mod beyond;
pub(crate) mod egress_allowlist;
mod entry;
mod exchange;
mod manifest;
mod meaning;
mod operation;
mod pages;
mod parts;
mod payload;
mod rate_limit;
mod reading;
mod request;
pub(crate) mod retry_after;
mod secrets;
mod stream;
mod style;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::LazyLock;

use haft_driver::{Attempt, BoxFuture, Driver, Failure, Output, TargetKinds, Targets};
use haft_model::{Code, Plan, Stop, Timestamp};
use haft_sandbox::AddressGuard;
use reqwest::Method;

pub(crate) use style::encoded;

use crate::DeclaredEntries;
use crate::builtin::Root;
use crate::failure::{unsent, while_running};
use crate::watch::Watch;
use crate::web::{DnsLookup, Lines, Pool, look_up};
use exchange::Exchange;
use manifest::HttpManifest;
use operation::Operation;
use request::{Draft, PageRequest, RequestInput};
use secrets::Secrets;

/// A driver of kind http. Its manifest is read when it is first asked, and its addresses are those
/// that the guard and the manifest leave open.
pub struct Http {
    manifest: LazyLock<HttpManifest, Box<dyn FnOnce() -> HttpManifest + Send>>,
    clock: fn() -> Timestamp,
    lookup: DnsLookup,
    files: Option<Root>,
    reads: Pool,
    writes: Lines,
}

impl Http {
    /// A driver over a manifest. The clock is asked how long a date to wait for is away.
    pub fn new(
        declared: impl FnOnce() -> DeclaredEntries + Send + 'static,
        guard: AddressGuard,
        clock: fn() -> Timestamp,
    ) -> Http {
        let read: Box<dyn FnOnce() -> HttpManifest + Send> =
            Box::new(move || HttpManifest::read(&declared(), guard));
        Http {
            manifest: LazyLock::new(read),
            clock,
            lookup: look_up,
            files: None,
            reads: Pool::default(),
            writes: Lines::default(),
        }
    }

    /// The same driver, whose requests may carry files of a workspace.
    pub fn with_files_of(self, root: PathBuf) -> Http {
        Http { files: Some(Root::new(root)), ..self }
    }

    /// The same driver, with names looked up in another way than the system does. What comes out is
    /// checked all the same.
    pub fn looking_up(self, lookup: fn(&str, u16) -> io::Result<Vec<SocketAddr>>) -> Http {
        Http { lookup, ..self }
    }

    /// What a call asks for, if it may be asked for.
    fn operation(&self, plan: &Plan) -> Result<&Operation, Stop> {
        let operation = self.manifest.operation(plan)?;
        self.manifest.may_reach(plan)?;
        if operation.pages.is_some() && is_write(operation, plan) {
            let words = format!("`{}` may change something, and pages are only read", plan.tool);
            let help = "leave `pagination` out, or say in the contract that it is read-only";
            return Err(Stop::new(Code::SetupRequired, words).help(help));
        }
        Ok(operation)
    }

    /// Whether the input of a call can be written into its request. No secret is opened for that.
    fn looked_at(&self, plan: &Plan) -> Result<Draft, Stop> {
        let operation = self.operation(plan)?;
        let (secrets, asked) = (&Secrets::StandIns, &PageRequest::default());
        let given = RequestInput { plan, key: None, secrets, asked };
        Draft::of(&self.manifest, operation, &given)
    }
}

impl Driver for Http {
    fn preflight(&self, plan: &Plan) -> Result<(), Stop> {
        self.looked_at(plan).map(drop)
    }

    fn targets(&self, plan: &Plan, kinds: TargetKinds) -> Targets {
        let draft = self.looked_at(plan);
        draft.map(|draft| draft.targets(kinds, self.files.as_ref())).unwrap_or_default()
    }

    fn reports_submission(&self, plan: &Plan) -> bool {
        self.manifest.operation(plan).is_ok_and(|operation| is_write(operation, plan))
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            Watch::of(&attempt).check().map_err(unsent)?;
            let operation = self.operation(attempt.plan).map_err(while_running).map_err(unsent)?;
            Exchange::new(self, operation, &attempt).carry_out().await
        })
    }
}

/// Whether a request may change something: by its method, or because the contract does not rule it
/// out.
fn is_write(operation: &Operation, plan: &Plan) -> bool {
    operation.method != Method::GET || plan.effects.may_mutate()
}
