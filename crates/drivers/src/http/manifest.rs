//! HTTP manifest: compiles the base URL, the egress allowlist and the operation for each contract.

use std::collections::BTreeMap;

use haft_contract::driver::manifest::{DriverManifest, HttpFields, KindFields};
use haft_model::{Code, Plan, Stop, ToolKey};
use haft_sandbox::{AddressGuard, CheckedUrl};

use super::egress_allowlist;
use super::entry::HttpRequestEntry;
use super::operation::Operation;
use super::rate_limit::Pace;
use crate::DeclaredEntries;
use crate::declared::{metadata, unreadable, unsupported};

/// The parsed manifest.
pub(super) struct HttpManifest {
    /// The base URL of every request, or the refusal of all requests.
    base: Result<CheckedUrl, Stop>,
    /// The host and port of the base URL, as the lists name them.
    host: String,
    pub(super) guard: AddressGuard,
    pub(super) egress: Vec<String>,
    /// The rate limit; `None` where the manifest sets none.
    pub(super) pace: Option<Pace>,
    operations: BTreeMap<ToolKey, Result<Operation, Stop>>,
}

impl HttpManifest {
    /// Compiles a manifest. An error in it becomes the refusal of each call that it affects.
    pub(super) fn read(declared: &DeclaredEntries, guard: AddressGuard) -> HttpManifest {
        let (manifest, fields) = match declared.manifest().and_then(http) {
            Ok(found) => found,
            Err(stop) => return HttpManifest::refusing(guard, stop),
        };
        let egress: Vec<String> =
            manifest.network.egress.iter().map(|host| host.to_ascii_lowercase()).collect();
        let guard = egress_allowlist::opened(guard, &egress, &fields.base_url);
        let base = whole(manifest, fields).and_then(|()| {
            let checked = guard.check_url(&fields.base_url);
            checked.map_err(|forbidden| egress_allowlist::refused(&forbidden))
        });
        let operations = declared.serves.iter().map(|(tool, index)| {
            let entry = metadata(manifest, *index);
            let compile =
                |entry| HttpRequestEntry::read(&manifest.id, entry)?.operation(manifest, fields);
            (tool.clone(), entry.and_then(compile))
        });
        let operations = operations.collect();
        let host = base.as_ref().map(egress_allowlist::host_of).unwrap_or_default();
        HttpManifest { base, host, guard, egress, pace: Pace::of(fields.rate_limit), operations }
    }

    fn refusing(guard: AddressGuard, stop: Stop) -> HttpManifest {
        let (host, egress, operations) = (String::new(), Vec::new(), BTreeMap::new());
        HttpManifest { base: Err(stop), host, guard, egress, pace: None, operations }
    }

    pub(super) fn base(&self) -> Result<&CheckedUrl, Stop> {
        self.base.as_ref().map_err(Stop::clone)
    }

    /// The operation of a call's contract.
    pub(super) fn operation(&self, plan: &Plan) -> Result<&Operation, Stop> {
        self.base()?;
        let found = self.operations.get(&plan.tool).ok_or_else(|| {
            let driver = &plan.route.driver;
            let message = format!("driver `{driver}` has no request for `{}`", plan.tool);
            Stop::new(Code::RouteNone, message)
        })?;
        found.as_ref().map_err(Stop::clone)
    }

    /// Checks the driver's host against the lists of the driver and of the contract.
    pub(super) fn may_reach(&self, plan: &Plan) -> Result<(), Stop> {
        self.base()?;
        egress_allowlist::check_host(&self.host, &self.egress, plan)
    }
}

/// The fields of kind http.
fn http(manifest: &DriverManifest) -> Result<(&DriverManifest, &HttpFields), Stop> {
    match &manifest.kind {
        KindFields::Http(fields) => Ok((manifest, fields)),
        KindFields::Builtin | KindFields::Cli(_) | KindFields::Mcp(_) | KindFields::Sdk(_) => {
            Err(unreadable(&manifest.id, "base_url"))
        }
    }
}

/// Refuses a manifest that uses an unsupported field or a base URL with a query.
fn whole(manifest: &DriverManifest, fields: &HttpFields) -> Result<(), Stop> {
    let id = &manifest.id;
    let runner = manifest.runner.as_ref().map(|_| "runner");
    let sandbox = manifest.sandbox.as_ref().map(|_| "sandbox");
    if let Some(field) = manifest.unsupported().or(runner).or(sandbox) {
        return Err(unsupported(id, &format!("`{field}`")));
    }
    if fields.base_url.contains(['?', '#']) {
        return Err(unsupported(id, "a `base_url` with a query"));
    }
    Ok(())
}
