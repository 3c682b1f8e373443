//! Health check: probes a backend once, as its driver declares, and reports whether it is usable.
//!
//! The caller decides when to probe and what follows. A probe changes nothing: it reads what its
//! driver reads, reaches the hosts that its driver reaches, and writes nowhere.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_model::host::covers;
use haft_model::{Timestamp, after, parse_duration};
use haft_sandbox::ExitKind;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// `health_check` of a manifest.
#[derive(Deserialize)]
struct HealthCheckText {
    method: Looking,
    cmd: Option<String>,
    http: Option<ProbeRequest>,
    expect_exit: Option<i32>,
    every: Option<String>,
    timeout_ms: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Looking {
    Ping,
    Exec,
    Http,
    Noop,
}

#[derive(Deserialize)]
struct ProbeRequest {
    method: Option<String>,
    url: String,
    expect_status: Option<u16>,
}

/// Probes the backend of a driver; `None` if the driver declares no health check. Dropping the
/// future ends every process that it started.
pub async fn probe(
    declared: &DeclaredEntries,
    place: &WorkingFolder,
    now: Timestamp,
) -> Option<Checkup> {
    let written = declared.manifest.get("health_check")?;
    let unread = |fault| format!("`health_check` cannot be read: {fault}");
    let (why, every) = match HealthCheckText::deserialize(written) {
        Ok(written) => (looked(&written, declared, place).await.err(), written.every),
        Err(fault) => (Some(unread(fault)), None),
    };
    let every = every.as_deref().and_then(parse_duration).or_else(|| parse_duration(HOLDS));
    let until = every.and_then(|every| after(now, every)).unwrap_or(now);
    Some(Checkup { at: now, until, why })
}

async fn looked(
    written: &HealthCheckText,
    declared: &DeclaredEntries,
    place: &WorkingFolder,
) -> Result<(), String> {
    let patience = Duration::from_millis(written.timeout_ms.unwrap_or(PATIENCE_MS));
    let late = || format!("it did not answer within {} ms", patience.as_millis());
    let web = Web { egress: egress(&declared.manifest), place };
    let looking = async {
        match written.method {
            Looking::Noop => Ok(()),
            Looking::Ping => web.ping(&declared.manifest).await,
            Looking::Http => web.request(written.http.as_ref().ok_or("it has no `http`")?).await,
            Looking::Exec => {
                let cmd = written.cmd.as_deref().ok_or("it has no `cmd`")?;
                let deadline = Instant::now() + patience;
                let opening = opening(declared, place, &web.egress)?;
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
fn egress(manifest: &Value) -> BTreeSet<String> {
    let of = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_array);
    let listed = of("/sandbox/network/egress").or_else(|| of("/network/egress"));
    let hosts = listed.into_iter().flatten().filter_map(Value::as_str);
    hosts.map(str::to_ascii_lowercase).collect()
}

/// The sandbox profile of a probe: it reads and reaches what the driver does, and writes nothing.
fn opening(
    declared: &DeclaredEntries,
    place: &WorkingFolder,
    egress: &BTreeSet<String>,
) -> Result<SandboxOpening, String> {
    let effects = looking(egress.iter().cloned());
    SandboxOpening::within(&declared.manifest, &effects, place).map_err(|stop| stop.message)
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
    async fn ping(&self, manifest: &Value) -> Result<(), String> {
        let base = ["/base_url", "/server/url"].iter().find_map(|field| manifest.pointer(field));
        let base = base.and_then(Value::as_str);
        let base = base.ok_or("there is no host to ping; use `exec`, `http` or `noop`")?;
        self.asked(Method::HEAD, base).await.map(drop)
    }

    async fn request(&self, request: &ProbeRequest) -> Result<(), String> {
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
