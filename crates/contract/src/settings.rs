//! `haft.toml`: the settings of a workspace.
//!
//! The table in [`crate::shape::documents::settings`] says what each field takes and what holds when
//! it is absent; the types here are what is left to read once a file went through it.

mod lint;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use haft_model::Role;
use haft_model::{ActorId, Digest, Period, RateScope, Risk, Rule};
use serde::Deserialize;

use crate::shape::documents::settings::SETTINGS;
use crate::shape::{check, fitting};
use crate::source::{self, Node, Syntax};
use crate::{Diagnostic, Report, Source, rules};

/// Everything a `haft.toml` says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Settings {
    /// What holds for the workspace as a whole.
    pub workspace: Workspace,
    /// Where things are kept.
    pub store: Store,
    /// Where callers are heard.
    pub server: ServerSettings,
    /// Who calls and who answers.
    #[serde(rename = "actor")]
    pub actors: Vec<Actor>,
    /// Which calls go, ask or stop.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
    /// Who is asked along the way.
    #[serde(rename = "hook")]
    pub hooks: Vec<Hook>,
    /// Who sees which tools.
    #[serde(rename = "surface")]
    pub surfaces: Vec<SurfaceSettings>,
    /// How much may run.
    pub limits: LimitSettings,
    /// Where spans of calls are sent.
    pub telemetry: Telemetry,
}

/// `[workspace]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Workspace {
    /// Its name; the folder's when absent.
    pub name: Option<String>,
    /// The highest risk that runs without asking when no rule speaks.
    pub autonomy: Risk,
    /// What an ask becomes where nobody can be asked.
    pub non_interactive: NonInteractive,
    /// Who fills in forms of backends.
    pub forms: Forms,
    /// What becomes of a call whose process died before anything was sent.
    pub unsent: Unsent,
    /// Whether drivers are confined.
    pub sandbox: Sandbox,
    /// Driver tags that are allowed; none listed means all.
    pub policy_tags: BTreeSet<String>,
    /// Driver tags that are denied, even where they are allowed.
    pub denied_tags: BTreeSet<String>,
    /// Regions that drivers may serve from; none listed means all.
    pub region: BTreeSet<String>,
    /// Whether a driver that lists `global` is in every region.
    pub region_global_matches: bool,
    /// Who a caller on this machine without a token is.
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

/// What an ask becomes where nobody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NonInteractive {
    /// It waits in the inbox.
    Ask,
    /// The call ends.
    Deny,
}

/// Who fills in forms of backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forms {
    /// Whoever called, or nobody.
    Off,
    /// People, in the inbox, where whoever called cannot show a form.
    Inbox,
    /// People, in the inbox, for every call that no person made.
    People,
}

/// What becomes of a call whose process died before anything was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unsent {
    /// It ends.
    Refuse,
    /// It runs, if the rules still allow it.
    Run,
}

/// Whether drivers are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sandbox {
    /// They are.
    On,
    /// They are not, and everything says so.
    Off,
}

/// `[store]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Store {
    /// `sqlite:…` or `postgres://…`.
    pub url: String,
    /// `file:…` or `s3://…`.
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

/// `[server]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ServerSettings {
    /// `<host>:<port>`.
    pub listen: String,
    /// The names that callers from outside know it by.
    pub hosts: BTreeSet<String>,
    /// Whose access tokens are taken; nobody's when absent.
    pub oauth: Option<OAuth>,
    /// How many sessions of MCP there may be, of all actors.
    pub max_sessions: usize,
    /// How many one actor may have.
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

/// `[server.oauth]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OAuth {
    /// The authorization server.
    pub issuer: String,
    /// What a token has to be made out for.
    pub audience: String,
    /// The roles here of each role in a token.
    pub roles: BTreeMap<String, BTreeSet<Role>>,
}

/// One `[[actor]]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Actor {
    /// `user:<name>` or `agent:<name>`.
    pub id: ActorId,
    /// Whose it is; the workspace's name when absent.
    pub tenant: Option<String>,
    /// What it may do.
    pub roles: BTreeSet<Role>,
}

/// One `[[hook]]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Hook {
    /// When it is asked.
    pub event: HookEvent,
    /// About which tools, as a glob.
    pub tool: String,
    /// Who is asked.
    #[serde(flatten)]
    pub target: HookTarget,
    /// The secret that signs what is sent to an address.
    pub secret: Option<String>,
    /// How long it may take.
    pub timeout_ms: u64,
    /// Whether its yes counts; its no always does.
    pub may_allow: bool,
}

/// When a hook is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEvent {
    /// Before a call is judged.
    PreToolUse,
    /// After a call succeeded.
    PostToolUse,
    /// After a call failed.
    PostToolUseFailure,
    /// When a person would be asked.
    PermissionRequest,
    /// When it was decided.
    PermissionDecision,
    /// Before a result is stored.
    ResultPersistence,
}

/// Whom a hook asks.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookTarget {
    /// A program and its arguments.
    Run(Vec<String>),
    /// An address.
    Url(String),
}

/// One `[[surface]]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SurfaceSettings {
    /// `<kind>` or `<kind>:<name>`.
    pub scope: String,
    /// The tools on it, as globs.
    pub tools: Vec<String>,
    /// From how many tools on schemas are sent only when asked for.
    pub defer_above: u64,
    /// From how many bytes of schemas on they are sent only when asked for.
    pub defer_above_bytes: Option<u64>,
    /// Whether tools that may change something are left out.
    pub only_reads: bool,
    /// Whether there is nobody who could take part in a call.
    pub nobody_there: bool,
    /// Whether the model cannot load schemas on the way, so that none are left out.
    pub all_schemas: bool,
    /// How many bytes the schema of one tool may have.
    pub largest_schema: Option<u64>,
    /// Kinds of tools that the model cannot use.
    pub without_kinds: BTreeSet<String>,
}

/// `[limits]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LimitSettings {
    /// How many calls run at once.
    pub max_parallel: u64,
    /// How many calls in how long.
    pub rates: Vec<RateLimit>,
    /// How many calls drivers carry out at once.
    pub drivers: Vec<DriverLimit>,
    /// When a driver that fails is left alone.
    pub rest: RestLimit,
    /// How long a form of a backend waits for people, in milliseconds; the host's when absent.
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

/// `[telemetry]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Telemetry {
    /// The base address of a collector; nothing is sent when absent.
    pub endpoint: Option<String>,
    /// What the service is called.
    pub service: String,
    /// Whether inputs and results are told, as far as people may see them.
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
    /// Which drivers, together, as a glob.
    pub driver: String,
    /// How many calls run at once.
    pub max_parallel: u64,
}

/// `limits.rest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RestLimit {
    /// After how many failures in a row; 0 is never.
    pub failures: u32,
    /// For how long, in milliseconds.
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
    /// Which tools are counted together, as a glob.
    pub tool: String,
    /// Which drivers, as a glob. A rate of drivers counts attempts.
    pub driver: Option<String>,
    /// In how long.
    pub per: Period,
    /// How many calls.
    pub value: u64,
    /// Whose calls are counted together.
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
