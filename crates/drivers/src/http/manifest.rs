//! HTTP manifest: parses the base URL, the egress allowlist and the operation for each contract.

use std::collections::BTreeMap;

use haft_model::{Code, Plan, Stop, ToolKey};
use haft_sandbox::{AddressGuard, CheckedUrl};
use serde::Deserialize;
use serde_json::Value;

use super::egress_allowlist;
use super::entry::HttpEntry;
use super::operation::Operation;
use super::rate_limit::{Pace, Rate};
use super::stream::WrittenStream;
use crate::DeclaredEntries;
use crate::declared::unsupported;

/// Manifest fields that would change a request and that this version does not support.
const UNSUPPORTED: [&str; 6] = ["code", "run", "runner", "sandbox", "inputsFiles", "outputsFiles"];

/// The manifest of a driver of kind http, as it is written.
#[derive(Deserialize)]
pub(super) struct HttpManifestText {
    pub(super) id: String,
    base_url: String,
    #[serde(default)]
    pub(super) default_headers: BTreeMap<String, String>,
    pub(super) default_method: Option<String>,
    pub(super) streaming: Option<WrittenStream>,
    pub(super) auth: Option<Value>,
    #[serde(default)]
    rate_limit: Rate,
    #[serde(default)]
    network: HttpNetwork,
    implements: Vec<Value>,
}

#[derive(Default, Deserialize)]
struct HttpNetwork {
    #[serde(default)]
    egress: Vec<String>,
}

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
    /// Parses a manifest. An error in it becomes the refusal of each call that it affects.
    pub(super) fn read(declared: &DeclaredEntries, guard: AddressGuard) -> HttpManifest {
        let written = match HttpManifestText::deserialize(&declared.manifest) {
            Ok(written) => written,
            Err(fault) => {
                let stop = Stop::new(
                    Code::SetupRequired,
                    format!("the manifest of this driver cannot be read: {fault}"),
                );
                return HttpManifest::refusing(guard, stop.help("run `haft check`"));
            }
        };
        let base = whole(&declared.manifest, &written);
        let egress: Vec<String> =
            written.network.egress.iter().map(|host| host.to_ascii_lowercase()).collect();
        let guard = egress_allowlist::opened(guard, &egress, &written.base_url);
        let base = base.and_then(|()| {
            let checked = guard.check_url(&written.base_url);
            checked.map_err(|forbidden| egress_allowlist::refused(&forbidden))
        });
        let operations = declared.serves.iter().map(|(tool, index)| {
            let entry = written.implements.get(*index).cloned().unwrap_or_default();
            (
                tool.clone(),
                HttpEntry::read(entry, &written.id).and_then(|entry| entry.operation(&written)),
            )
        });
        let operations = operations.collect();
        let host = base.as_ref().map(egress_allowlist::host_of).unwrap_or_default();
        HttpManifest { base, host, guard, egress, pace: Pace::of(written.rate_limit), operations }
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

/// Refuses a manifest that uses an unsupported field or a base URL with a query.
fn whole(manifest: &Value, written: &HttpManifestText) -> Result<(), Stop> {
    let id = &written.id;
    if let Some(field) = UNSUPPORTED.iter().find(|field| manifest.get(**field).is_some()) {
        return Err(unsupported(id, &format!("`{field}`")));
    }
    if written.base_url.contains(['?', '#']) {
        return Err(unsupported(id, "a `base_url` with a query"));
    }
    Ok(())
}
