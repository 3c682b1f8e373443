//! HTTP driver (AIP-31): sends one request per call, as the manifest describes it.
//!
//! A write counts as submitted once its connection is established: a failure before that means that
//! nothing was sent, and after it only the response tells whether the effect was committed.

mod answer;
pub(crate) mod egress_allowlist;
mod entry;
mod error_message;
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

/// A driver of kind http. It reads its manifest on first use, and reaches the addresses that the
/// guard and the egress allowlist both leave open.
pub struct Http {
    manifest: LazyLock<HttpManifest, Box<dyn FnOnce() -> HttpManifest + Send>>,
    clock: fn() -> Timestamp,
    lookup: DnsLookup,
    files: Option<Root>,
    reads: Pool,
    writes: Lines,
}

impl Http {
    /// Builds a driver over a manifest. The clock resolves a `Retry-After` date to a delay.
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

    /// Lets requests upload files of a workspace.
    pub fn with_files_of(self, root: PathBuf) -> Http {
        Http { files: Some(Root::new(root)), ..self }
    }

    /// Sets the user's environment, which locates the home that a manifest's paths may name.
    pub fn at_home(self, variable: fn(&str) -> Option<String>) -> Http {
        Http { files: self.files.map(|files| files.at_home(variable)), ..self }
    }

    /// Replaces the system's DNS lookup. The address guard checks the addresses all the same.
    pub fn looking_up(self, lookup: fn(&str, u16) -> io::Result<Vec<SocketAddr>>) -> Http {
        Http { lookup, ..self }
    }

    /// The operation of a call; refuses a host off the egress allowlist, and pagination of a write.
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

    /// Renders the request of a call with stand-ins for its secrets, to validate the input.
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
        let files = self.files.as_ref();
        let draft = self.looked_at(plan);
        let mut told = draft.map(|draft| draft.targets(kinds, files)).unwrap_or_default();
        if let Some(files) = files.filter(|_| kinds.paths) {
            told.backend.paths = files.state_targets(&plan.driver_state);
        }
        told
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

/// Whether a request is a write: by its method, or because the contract allows mutation.
fn is_write(operation: &Operation, plan: &Plan) -> bool {
    operation.method != Method::GET || plan.effects.may_mutate()
}
