//! Settings: `haft.toml`, the configuration of a workspace.
//!
//! The table in [`crate::shape::documents::settings`] says what each field takes and what holds when
//! it is absent; the types here are what is left to read once a file went through it.

mod lint;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use haft_model::Role;
use haft_model::{ActorId, Digest, Forms, NonInteractive, Period, RateScope, Risk, Rule, Unsent};
use serde::Deserialize;

use crate::shape::documents::settings::SETTINGS;
use crate::shape::{check, fitting};
use crate::source::{self, Node, Syntax};
use crate::{Diagnostic, Report, Source, rules};

/// Everything a `haft.toml` says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Settings {
    /// Settings of the workspace as a whole.
    pub workspace: Workspace,
    /// The store of the ledger and the payloads.
    pub store: Store,
    /// The listening server.
    pub server: ServerSettings,
    /// The actors that call and approve.
    #[serde(rename = "actor")]
    pub actors: Vec<Actor>,
    /// Authorization rules: which calls run, ask or stop.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
    /// Hooks around calls.
    #[serde(rename = "hook")]
    pub hooks: Vec<Hook>,
    /// Surfaces: which actors see which tools.
    #[serde(rename = "surface")]
    pub surfaces: Vec<SurfaceSettings>,
    /// Concurrency and rate limits.
    pub limits: LimitSettings,
    /// OpenTelemetry export of spans.
    pub telemetry: Telemetry,
}

/// `[workspace]`: settings of the workspace as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Workspace {
    /// Its name; the folder's when absent.
    pub name: Option<String>,
    /// The highest risk that runs without asking when no rule speaks.
    pub autonomy: Risk,
    /// What an approval request becomes where no approver is reachable.
    pub non_interactive: NonInteractive,
    /// Elicitation: who fills in forms of backends.
    pub forms: Forms,
    /// Recovery: what becomes of a call whose process died before it sent anything.
    pub unsent: Unsent,
    /// Whether drivers run in a sandbox.
    pub sandbox: Sandbox,
    /// Driver tags that are allowed; none listed means all.
    pub policy_tags: BTreeSet<String>,
    /// Driver tags that are denied, even where they are allowed.
    pub denied_tags: BTreeSet<String>,
    /// Regions that drivers may serve from; none listed means all.
    pub region: BTreeSet<String>,
    /// Whether a driver that lists `global` is in every region.
    pub region_global_matches: bool,
    /// The actor of a local caller without a token.
    pub default_actor: ActorId,
}

impl Default for Workspace {
    fn default() -> Workspace {
        Workspace {
            name: None,
            autonomy: Risk::READ,
            non_interactive: NonInteractive::Ask,
            forms: Forms::Inbox,
            unsent: Unsent::Refuse,
            sandbox: Sandbox::On,
            policy_tags: BTreeSet::new(),
            denied_tags: BTreeSet::new(),
            region: BTreeSet::new(),
            region_global_matches: true,
            default_actor: ActorId::from("agent:local"),
        }
    }
}

/// Whether drivers run in a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sandbox {
    /// Drivers run in a sandbox.
    On,
    /// Drivers run unconfined, and every report says so.
    Off,
}

/// `[store]`: where ledger and payloads are stored.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Store {
    /// `sqlite:<file>`.
    pub url: String,
    /// `file:<folder>`.
    pub payloads: String,
    /// The file that remembers which store the workspace has; one in the user's state folder when
    /// absent.
    pub identity_file: Option<String>,
}

impl Default for Store {
    fn default() -> Store {
        Store {
            url: "sqlite:.haft/haft.db".into(),
            payloads: "file:.haft/payloads".into(),
            identity_file: None,
        }
    }
}

/// `[server]`: the listening server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ServerSettings {
    /// The listening address, `<host>:<port>`.
    pub listen: String,
    /// The names that callers from outside know it by.
    pub hosts: BTreeSet<String>,
    /// The authorization server whose access tokens the server accepts; none when absent.
    pub oauth: Option<OAuth>,
    /// The most MCP sessions of all actors together.
    pub max_sessions: usize,
    /// The most MCP sessions of one actor.
    pub max_sessions_per_actor: usize,
}

impl Default for ServerSettings {
    fn default() -> ServerSettings {
        ServerSettings {
            listen: "127.0.0.1:7311".into(),
            hosts: BTreeSet::new(),
            oauth: None,
            max_sessions: 10_000,
            max_sessions_per_actor: 1_000,
        }
    }
}

/// `[server.oauth]`: access tokens of an authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OAuth {
    /// The authorization server.
    pub issuer: String,
    /// The audience that a token must carry.
    pub audience: String,
    /// Maps each role in a token to roles here.
    pub roles: BTreeMap<String, BTreeSet<Role>>,
}

/// One `[[actor]]`: a caller or approver that the workspace knows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Actor {
    /// `user:<name>` or `agent:<name>`.
    pub id: ActorId,
    /// The actor's tenant; the workspace's name when absent.
    pub tenant: Option<String>,
    /// The actor's roles.
    pub roles: BTreeSet<Role>,
}

/// One `[[hook]]`: a program or address that is asked around calls.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Hook {
    /// The event that triggers it.
    pub event: HookEvent,
    /// The tools it applies to, as a glob.
    pub tool: String,
    /// The program or address that answers.
    #[serde(flatten)]
    pub target: HookTarget,
    /// The secret that signs requests to an address.
    pub secret: Option<String>,
    /// Timeout in milliseconds.
    pub timeout_ms: u64,
    /// Whether its allow counts; its deny always does.
    pub may_allow: bool,
}

/// The event that triggers a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEvent {
    /// Before a call is authorized.
    PreToolUse,
    /// After a call succeeded.
    PostToolUse,
    /// After a call failed.
    PostToolUseFailure,
    /// Before a person is asked for approval.
    PermissionRequest,
    /// After the approval was decided.
    PermissionDecision,
    /// Before a result is stored.
    ResultPersistence,
}

/// The target of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookTarget {
    /// A program and its arguments.
    Run(Vec<String>),
    /// A URL that receives the event.
    Url(String),
}

/// One `[[surface]]`: the tools that a scope of callers sees.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SurfaceSettings {
    /// `<kind>` or `<kind>:<name>`.
    pub scope: String,
    /// The tools on it, as globs.
    pub tools: Vec<String>,
    /// Deferred loading: above this number of tools, schemas are sent on request only.
    pub defer_above: u64,
    /// Deferred loading: above this many bytes of schemas, they are sent on request only.
    pub defer_above_bytes: Option<u64>,
    /// Whether tools that may change something are hidden.
    pub only_reads: bool,
    /// Whether no person is present who could take part in a call.
    pub nobody_there: bool,
    /// Turns deferred loading off, for models that cannot load schemas.
    pub all_schemas: bool,
    /// The largest schema of one tool, in bytes.
    pub largest_schema: Option<u64>,
    /// Kinds of tools that the model cannot use.
    pub without_kinds: BTreeSet<String>,
}

/// `[limits]`: concurrency limits, rate limits and the circuit breaker.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LimitSettings {
    /// How many calls run at once.
    pub max_parallel: u64,
    /// Rate limits, each counted on its own.
    pub rates: Vec<RateLimit>,
    /// Concurrency limits per driver.
    pub drivers: Vec<DriverLimit>,
    /// Circuit breaker: when calls to a failing driver are suspended.
    pub rest: RestLimit,
    /// Timeout of a backend's form that waits for people, in milliseconds; the host's when absent.
    pub form_ms: Option<u64>,
}

impl Default for LimitSettings {
    fn default() -> LimitSettings {
        LimitSettings {
            max_parallel: 10,
            rates: Vec::new(),
            drivers: Vec::new(),
            rest: RestLimit::default(),
            form_ms: None,
        }
    }
}

/// `[telemetry]`: export of spans to a collector.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Telemetry {
    /// The base URL of an OTLP collector; nothing is sent when absent.
    pub endpoint: Option<String>,
    /// The service name of the spans.
    pub service: String,
    /// Whether spans carry inputs and results, redacted as they are for people.
    pub content: bool,
    /// Whether commands such as `haft call` send spans too.
    pub commands: bool,
}

impl Default for Telemetry {
    fn default() -> Telemetry {
        Telemetry { endpoint: None, service: "haft".into(), content: false, commands: false }
    }
}

/// One entry of `limits.drivers`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct DriverLimit {
    /// The drivers that share this limit, as a glob.
    pub driver: String,
    /// How many calls run at once.
    pub max_parallel: u64,
}

/// Circuit breaker: `limits.rest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RestLimit {
    /// Failures in a row that open the breaker; 0 turns it off.
    pub failures: u32,
    /// How long the breaker stays open, in milliseconds.
    pub pause_ms: u64,
}

impl Default for RestLimit {
    fn default() -> RestLimit {
        RestLimit { failures: 5, pause_ms: 30_000 }
    }
}

/// One entry of `limits.rates`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RateLimit {
    /// The tools that share this limit, as a glob.
    pub tool: String,
    /// The drivers it counts, as a glob; such a limit counts attempts.
    pub driver: Option<String>,
    /// The window: a second to a day.
    pub per: Period,
    /// Calls per window.
    pub value: u64,
    /// Whose calls share the limit.
    pub scope: RateScope,
}

/// Reads a `haft.toml`. What is wrong is reported, and its default stands in for it.
///
/// Settings with an error are for showing, not for running: a `deny` that could not be read is not
/// among the rules.
pub fn read(source: &Source) -> (Settings, Vec<Diagnostic>) {
    let mut report = Report::new(source);
    let settings = source::parse(source, Syntax::Toml, &mut report)
        .map(|node| from_node(node, &mut report))
        .unwrap_or_default();
    (settings, report.into_diagnostics())
}

/// The digest of what a `haft.toml` says, whatever its comments and spaces; that of its text where it
/// cannot be read.
pub fn digest(source: &Source) -> Digest {
    match source::parse(source, Syntax::Toml, &mut Report::new(source)) {
        Some(node) => Digest::of(&node.to_json()),
        None => Digest::of_bytes(source.text().as_bytes()),
    }
}

fn from_node(mut node: Node, report: &mut Report) -> Settings {
    lint::single_brackets(&mut node, &SETTINGS, report);
    check(&node, &SETTINGS, "W001", report);
    let mut sound = fitting(&node, &SETTINGS);
    lint::check(&mut sound, report);
    serde_json::from_value(sound.to_json()).unwrap_or_else(|cause| {
        // The table let something through that the types do not hold.
        report.add(&rules::Y005, node.span, format!("the settings do not fit: {cause}"));
        Settings::default()
    })
}
