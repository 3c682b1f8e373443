//! Server target: resolves a call's server to a program in its sandbox profile, or to a host on the
//! egress allowlist.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use haft_driver::{Failure, Safe, TargetGuard};
use haft_model::{Code, Digest, Plan, Secret, Stop};
use haft_sandbox::{Access, AddressGuard, CheckedUrl, ConfinedProgram, MountedPath};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use super::connection::{Connection, ConnectionKey};
use super::fault::unready;
use super::http_transport::HttpTransport;
use super::manifest::{ProgramInputs, ServerLocation, ServerManifest};
use super::program::Program;
use super::secret_templates::{Values, secrets_only};
use crate::cli::program::start_judged;
use crate::failure::unsent;
use crate::http::egress_allowlist;
use crate::sandbox_opening::SandboxOpening;
use crate::web::{DnsLookup, keeping, reconnecting};
use crate::{WorkingFolder, closed};

/// A server with its credentials, for one call.
#[derive(Clone)]
pub(super) struct ServerTarget {
    way: ServerTransport,
    /// Its part of the pool key.
    pub(super) key: TargetKey,
    /// Whether it holds secrets, so that actors must not share it.
    pub(super) personal: bool,
}

/// A server and its credentials in the pool key; a digest tells credentials apart and reveals none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum TargetKey {
    /// A program, by the digest of its sandbox profile.
    Program(Digest, Option<Digest>),
    /// A remote server, by its URL.
    Remote(Arc<str>, Option<Digest>),
}

#[derive(Clone)]
enum ServerTransport {
    Program(Arc<Inside>, Values),
    Remote(Arc<RemoteAddress>, HeaderMap),
}

/// The checked address of a remote server, with the guard that opens the hosts which its egress
/// allowlist names. It depends on the manifest alone.
pub(super) struct RemoteAddress {
    pub(super) url: CheckedUrl,
    guard: AddressGuard,
    egress: Vec<String>,
    /// Host and port, as allowlists name them.
    host: String,
}

impl RemoteAddress {
    pub(super) fn new(
        written: &ServerManifest,
        place: &WorkingFolder,
    ) -> Result<RemoteAddress, Stop> {
        let ServerLocation::Remote { url, .. } = &written.server else {
            return Err(Stop::new(Code::Internal, "this server has no address"));
        };
        let egress = written.egress();
        let guard = egress_allowlist::opened(place.guard.clone(), &egress, url);
        let url =
            guard.check_url(url).map_err(|forbidden| egress_allowlist::refused(&forbidden))?;
        if url.is_plain() && !haft_model::host::is_own(url.host()) {
            let words = format!("`{}` is not encrypted", url.host());
            return Err(Stop::new(Code::SandboxViolation, words).help("use https"));
        }
        let host = egress_allowlist::host_of(&url);
        Ok(RemoteAddress { url, guard, egress, host })
    }

    /// Refuses a call whose contract or driver does not list the host.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), Stop> {
        egress_allowlist::check_host(&self.host, &self.egress, plan)
    }
}

/// A program with its sandbox profile, before its environment is rendered.
pub(super) struct Inside {
    confined: ConfinedProgram,
    profile: Digest,
}

impl Inside {
    pub(super) fn new(
        written: &ServerManifest,
        opening: &SandboxOpening,
        place: &WorkingFolder,
        guard: &TargetGuard,
    ) -> Result<Inside, Stop> {
        let program = Program::of(written, &opening.root, place)?;
        let mut confined = opening.confined(&program.program, program.args, place);
        let modules = program.shown.filter(|path| !covered(&confined.shown, path));
        confined.shown.extend(modules.map(|path| MountedPath { path, access: Access::Read }));
        start_judged(&mut confined);
        closed::hide(&mut confined, guard, &opening.root, place);
        let open = format!("{opening:?} {:?}", confined.hidden);
        Ok(Inside { confined, profile: Digest::of_bytes(open.as_bytes()) })
    }

    fn given(&self, env: &Values) -> ConfinedProgram {
        let mut confined = self.confined.clone();
        confined.env.extend(env.plain.clone());
        confined.secret_env = env.secret.clone();
        confined
    }
}

impl ServerTarget {
    /// A program with its rendered environment.
    pub(super) async fn program(
        written: &ServerManifest,
        inside: Arc<Inside>,
        safe: Option<&Safe<'_>>,
    ) -> Result<ServerTarget, Failure> {
        let env = match &written.server {
            ServerLocation::Npm { given, .. } | ServerLocation::Binary { given, .. } => {
                Values::fill(&given.env, &written.id, safe).await?
            }
            ServerLocation::Docker { .. } | ServerLocation::Remote { .. } => Values::default(),
        };
        let key = TargetKey::Program(inside.profile.clone(), fingerprint(&env.secret));
        let personal = !env.secret.is_empty();
        Ok(ServerTarget { way: ServerTransport::Program(inside, env), key, personal })
    }

    /// A remote server with its rendered headers.
    pub(super) async fn remote(
        written: &ServerManifest,
        address: Arc<RemoteAddress>,
        safe: Option<&Safe<'_>>,
    ) -> Result<ServerTarget, Failure> {
        let values = Values::fill(&carried(written).map_err(unsent)?, &written.id, safe).await?;
        let mut headers = HeaderMap::new();
        for (name, value) in &values.plain {
            let (name, value) = header(name, value).map_err(unsent)?;
            headers.insert(name, value);
        }
        for (name, value) in &values.secret {
            let (name, mut value) = header(name, value.expose()).map_err(unsent)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let personal = !values.secret.is_empty();
        let key = TargetKey::Remote(address.url.as_str().into(), fingerprint(&values.secret));
        Ok(ServerTarget { way: ServerTransport::Remote(address, headers), key, personal })
    }

    pub(super) async fn connect(
        &self,
        place: &WorkingFolder,
        lookup: DnsLookup,
        wanted: &ConnectionKey<'_>,
    ) -> Result<Connection, Stop> {
        match &self.way {
            ServerTransport::Program(inside, env) => {
                Connection::start(inside.given(env), &place.walls, wanted).await
            }
            ServerTransport::Remote(address, headers) => {
                let (guard, url) = (&address.guard, &address.url);
                let client = keeping(guard, lookup, url).await.map_err(unready)?;
                let writes = reconnecting(guard, lookup, url).await.map_err(unready)?;
                let url = url.clone().into_url();
                let http = HttpTransport::new(client, writes, url, headers);
                Connection::reach(http, wanted).await
            }
        }
    }
}

fn covered(shown: &[MountedPath], path: &std::path::Path) -> bool {
    shown.iter().any(|shown| path.starts_with(&shown.path))
}

/// A digest that distinguishes secret values; `None` where there are none.
fn fingerprint(values: &BTreeMap<String, Secret>) -> Option<Digest> {
    if values.is_empty() {
        return None;
    }
    let plain: Vec<&[u8]> = values
        .iter()
        .flat_map(|(name, value)| [name.as_bytes(), value.expose().as_bytes()])
        .collect();
    Some(Digest::of_parts(&plain))
}

/// The headers of every request, as unrendered templates.
pub(super) fn carried(written: &ServerManifest) -> Result<BTreeMap<String, String>, Stop> {
    let ServerLocation::Remote { headers, auth, .. } = &written.server else {
        return Ok(BTreeMap::new());
    };
    let mut carried = headers.clone();
    let login = match auth {
        Some(login) => Some(login.bearer.as_ref().ok_or_else(|| no_login(written))?),
        None => None,
    };
    if let Some(bearer) = login {
        carried.insert(AUTHORIZATION.to_string(), format!("Bearer {bearer}"));
    }
    if carried.is_empty() && written.auth.is_some() {
        return Err(no_login(written));
    }
    Ok(carried)
}

fn no_login(written: &ServerManifest) -> Stop {
    let words = format!("driver `{}` declares a login that this version cannot use", written.id);
    Stop::new(Code::CredentialMissing, words)
        .help("nothing is sent without it; write `server.auth.bearer` or `server.headers` with `${secrets.NAME}`")
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Stop> {
    let fixed = ["accept", "content-type", "content-length", "host", "mcp-session-id"];
    let read = HeaderName::from_bytes(name.as_bytes()).ok();
    let read = read.filter(|read| !fixed.contains(&read.as_str()));
    let read = read.zip(HeaderValue::from_str(value).ok());
    read.ok_or_else(|| {
        Stop::new(Code::SetupRequired, format!("a request cannot carry the header `{name}`"))
    })
}

/// Validates a manifest without touching disk or network.
pub(super) fn sound(written: &ServerManifest) -> Result<(), Stop> {
    let templates: HashMap<String, String> = match &written.server {
        ServerLocation::Remote { .. } => carried(written)?.into_iter().collect(),
        ServerLocation::Binary { given, .. } | ServerLocation::Npm { given, .. } => {
            fixed(given, &written.id)?;
            given.env.clone().into_iter().collect()
        }
        ServerLocation::Docker { .. } => HashMap::new(),
    };
    for (name, text) in &templates {
        secrets_only(name, text, &written.id)?;
    }
    Ok(())
}

/// Refuses placeholders in arguments, because every process on the machine can list them.
fn fixed(given: &ProgramInputs, driver: &str) -> Result<(), Stop> {
    match given.args.iter().find(|arg| arg.contains("${")) {
        Some(arg) => {
            let words =
                format!("driver `{driver}`: the argument `{arg}` cannot hold a placeholder");
            Err(Stop::new(Code::SetupRequired, words)
                .help("hand secrets over in `env`, and what differs from call to call as an argument of the tool"))
        }
        None => Ok(()),
    }
}
