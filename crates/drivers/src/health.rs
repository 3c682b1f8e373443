//! Health check: probes a backend once, as its driver declares, and reports whether it is usable.
//!
//! The caller decides when to probe and what follows. A probe changes nothing: it reads what its
//! driver reads, reaches the hosts that its driver reaches, and writes nowhere.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_contract::driver::manifest::{
    DriverManifest, HealthCheck, HealthMethod, HttpProbe, KindFields,
};
use haft_model::host::covers;
use haft_model::{Timestamp, after, parse_duration};
use haft_sandbox::ExitKind;
use reqwest::Method;
use serde::{Deserialize, Serialize};

use crate::argv_split;
use crate::failure::OUT_OF_MEMORY;
use crate::http::egress_allowlist;
use crate::sandbox_opening::{SandboxOpening, looking};
use crate::web::{ConnectRoute, Outgoing, Sending, SubmissionPoint, look_up};
use crate::{DeclaredEntries, WorkingFolder};

/// Default timeout of a probe, and how long its result is valid.
const PATIENCE_MS: u64 = 5000;
const HOLDS: &str = "PT5M";

/// The result of a health check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkup {
    /// When the probe ran.
    pub at: Timestamp,
    /// When the result expires.
    pub until: Timestamp,
    /// Why the backend is unusable; `None` if it is usable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Checkup {
    /// Whether the backend is usable.
    pub fn ok(&self) -> bool {
        self.why.is_none()
    }

    /// Whether the result is still valid.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        now < self.until
    }
}

/// Probes the backend of a driver; `None` if the driver declares no health check. Dropping the
/// future ends every process that it started.
pub async fn probe(
    declared: &DeclaredEntries,
    place: &WorkingFolder,
    now: Timestamp,
) -> Option<Checkup> {
    let (why, every) = match &declared.manifest {
        Ok(manifest) => {
            let check = manifest.health_check.as_ref()?;
            (looked(check, manifest, place).await.err(), check.every.clone())
        }
        Err(stop) => (Some(stop.message.clone()), None),
    };
    let every = every.as_deref().and_then(parse_duration).or_else(|| parse_duration(HOLDS));
    let until = every.and_then(|every| after(now, every)).unwrap_or(now);
    Some(Checkup { at: now, until, why })
}

async fn looked(
    written: &HealthCheck,
    manifest: &DriverManifest,
    place: &WorkingFolder,
) -> Result<(), String> {
    let patience = Duration::from_millis(written.timeout_ms.unwrap_or(PATIENCE_MS));
    let late = || format!("it did not answer within {} ms", patience.as_millis());
    let web = Web { egress: egress(manifest), place };
    let looking = async {
        match written.method {
            HealthMethod::Noop => Ok(()),
            HealthMethod::Ping => web.ping(manifest).await,
            HealthMethod::Http => {
                web.request(written.http.as_ref().ok_or("it has no `http`")?).await
            }
            HealthMethod::Exec => {
                let cmd = written.cmd.as_deref().ok_or("it has no `cmd`")?;
                let deadline = Instant::now() + patience;
                let opening = opening(manifest, place, &web.egress)?;
                match ran(cmd, &opening, place, deadline).await? {
                    ExitKind::Exited(code) if code == written.expect_exit.unwrap_or(0) => Ok(()),
                    ExitKind::Exited(code) => Err(format!("`{cmd}` ended with code {code}")),
                    ExitKind::Killed(signal) => {
                        Err(format!("`{cmd}` was ended by signal {signal}"))
                    }
                    ExitKind::OutOfMemory => Err(format!("`{cmd}` was ended: {OUT_OF_MEMORY}")),
                    ExitKind::OutOfTime | ExitKind::CalledOff => Err(late()),
                }
            }
        }
    };
    tokio::time::timeout(patience + GRACE, looking).await.unwrap_or_else(|_| Err(late()))
}

/// How long a program may take to exit after its timeout.
const GRACE: Duration = Duration::from_millis(500);

/// The hosts on the driver's egress allowlist.
fn egress(manifest: &DriverManifest) -> BTreeSet<String> {
    manifest.egress().iter().map(|host| host.to_ascii_lowercase()).collect()
}

/// The sandbox profile of a probe: it reads and reaches what the driver does, and writes nothing.
fn opening(
    manifest: &DriverManifest,
    place: &WorkingFolder,
    egress: &BTreeSet<String>,
) -> Result<SandboxOpening, String> {
    let effects = looking(egress.iter().cloned());
    SandboxOpening::within(manifest, &effects, place).map_err(|stop| stop.message)
}

/// Runs a command without a shell.
async fn ran(
    cmd: &str,
    opening: &SandboxOpening,
    place: &WorkingFolder,
    deadline: Instant,
) -> Result<ExitKind, String> {
    let words = argv_split::split(cmd, place.variable);
    let mut words = words.map_err(|why| format!("`{cmd}`: {why}"))?;
    if words.is_empty() {
        return Err("its `cmd` names no program".to_owned());
    }
    let program = words.remove(0);
    let confined = opening.confined(&program, words, place);
    let ended = confined.run(&place.walls, deadline, pending()).await;
    ended.map(|ended| ended.end).map_err(|refused| refused.to_string())
}

/// HTTP probes to the hosts of a driver.
struct Web<'a> {
    egress: BTreeSet<String>,
    place: &'a WorkingFolder,
}

impl Web<'_> {
    /// Whether the driver's host answers at all, whatever the status.
    async fn ping(&self, manifest: &DriverManifest) -> Result<(), String> {
        let base = match &manifest.kind {
            KindFields::Http(fields) => Some(fields.base_url.as_str()),
            KindFields::Mcp(fields) => fields.server.url(),
            KindFields::Builtin | KindFields::Cli(_) | KindFields::Sdk(_) => None,
        };
        let base = base.ok_or("there is no host to ping; use `exec`, `http` or `noop`")?;
        self.asked(Method::HEAD, base).await.map(drop)
    }

    async fn request(&self, request: &HttpProbe) -> Result<(), String> {
        let method = request.method.as_deref().unwrap_or("GET");
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| "its method is none")?;
        let status = self.asked(method, &request.url).await?;
        let expected = match request.expect_status {
            Some(expected) => status == expected,
            None => (200..300).contains(&status),
        };
        if expected { Ok(()) } else { Err(format!("`{}` answered {status}", request.url)) }
    }

    /// The status of one request, over a connection of its own.
    async fn asked(&self, method: Method, url: &str) -> Result<u16, String> {
        let listed: Vec<String> = self.egress.iter().cloned().collect();
        let guard = egress_allowlist::opened(self.place.guard.clone(), &listed, url);
        let url = guard.check_url(url).map_err(|forbidden| forbidden.to_string())?;
        let host = format!("{}:{}", url.host(), url.port());
        if !self.egress.iter().any(|listed| covers(listed, &host)) {
            return Err(format!("`{host}` is not in `network.egress` of the driver"));
        }
        let sending = Arc::new(Sending::silent());
        let (lookup, submitted) = (look_up, SubmissionPoint::OnWrite);
        let way = ConnectRoute { guard: &guard, lookup, sending: &sending, submitted };
        let request = Outgoing { method, ..Outgoing::get(url.clone()) };
        let answer = way.send(&request).await.map_err(|fault| fault.told(url.host()))?;
        Ok(answer.status().as_u16())
    }
}
