//! Drivers of kind http (AIP-31): a request for each call, as their manifests describe it.
//!
//! A request that may change something counts as submitted from the moment its connection stands:
//! what fails before was not sent, and what fails after is told apart by the answer alone.

mod answer;
mod exchange;
mod manifest;
mod operation;
mod parts;
mod patience;
mod reach;
mod request;

use std::io;
use std::net::SocketAddr;
use std::sync::LazyLock;

use haft_driver::{Attempt, BoxFuture, Driver, Failure, Output};
use haft_model::{Plan, Stop, Timestamp, ToolKey};
use haft_sandbox::AddressGuard;
use reqwest::Method;
use serde_json::Value;

use crate::ending::{unsent, while_running};
use crate::watch::Watch;
use crate::web::{Lookup, Outgoing, Pool, look_up};
use exchange::Exchange;
use manifest::Manifest;
use operation::Operation;
use request::Given;

/// What a manifest of kind http says, and which of its entries serves which contract.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Everything that the DRIVER.md says.
    pub manifest: Value,
    /// Contracts, each with the place of its entry under `implements`.
    pub serves: Vec<(ToolKey, usize)>,
}

/// A driver of kind http. Its manifest is read when it is first asked, and its addresses are those
/// that the guard and the manifest leave open.
pub struct Http {
    manifest: LazyLock<Manifest, Box<dyn FnOnce() -> Manifest + Send>>,
    clock: fn() -> Timestamp,
    lookup: Lookup,
    reads: Pool,
}

impl Http {
    /// A driver over a manifest. The clock is asked how long a date to wait for is away.
    pub fn new(
        declared: impl FnOnce() -> Declared + Send + 'static,
        guard: AddressGuard,
        clock: fn() -> Timestamp,
    ) -> Http {
        let read: Box<dyn FnOnce() -> Manifest + Send> =
            Box::new(move || Manifest::read(&declared(), guard));
        Http { manifest: LazyLock::new(read), clock, lookup: look_up, reads: Pool::default() }
    }

    /// The same driver, with names looked up in another way than the system does. What comes out is
    /// checked all the same.
    pub fn looking_up(self, lookup: fn(&str, u16) -> io::Result<Vec<SocketAddr>>) -> Http {
        Http { lookup, ..self }
    }

    /// What a call asks for, if it may be asked for and its input can be written into a request.
    fn prepare(&self, plan: &Plan, key: Option<&str>) -> Result<(&Operation, Outgoing), Stop> {
        let manifest = &*self.manifest;
        let operation = manifest.operation(plan)?;
        manifest.may_reach(plan)?;
        let given = Given { plan, key };
        Ok((operation, request::build(manifest, operation, &given)?))
    }
}

impl Driver for Http {
    fn preflight(&self, plan: &Plan) -> Result<(), Stop> {
        self.prepare(plan, None).map(drop)
    }

    fn reports_submission(&self, plan: &Plan) -> bool {
        self.manifest.operation(plan).is_ok_and(|operation| is_write(operation, plan))
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            Watch::of(&attempt).check().map_err(unsent)?;
            let prepared = self.prepare(attempt.plan, attempt.key.as_deref());
            let (operation, request) = prepared.map_err(while_running).map_err(unsent)?;
            Exchange::new(self, operation, &attempt).carry_out(request).await
        })
    }
}

/// Whether a request may change something: by its method, or because the contract does not rule it
/// out.
fn is_write(operation: &Operation, plan: &Plan) -> bool {
    operation.method != Method::GET || plan.effects.may_mutate()
}
