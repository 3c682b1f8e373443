//! Settings: whole files in, whole settings or whole diagnostics out.

mod mistakes;

use haft_model::{ActorId, Risk, Rule, Verdict};
use serde_json::json;

use super::*;

fn set<T: Ord, const N: usize>(items: [T; N]) -> BTreeSet<T> {
    BTreeSet::from(items)
}

const FULL: &str = r#"
[workspace]
name = "bakery"
autonomy = 1
non_interactive = "deny"
forms = "people"
unsent = "run"
sandbox = "on"
policy_tags = ["eu-hosted", "audited"]
denied_tags = ["beta"]
region = ["EU", "CH"]
region_global_matches = false
default_actor = "agent:kiosk"

[store]
url = "sqlite:/srv/bakery/haft.db"
payloads = "file:/srv/bakery/payloads"
identity_file = "/var/lib/bakery/store.json"

[server]
listen = "0.0.0.0:8443"
hosts = ["tools.bakery.example"]
max_sessions = 500

[server.oauth]
issuer = "https://login.bakery.example"
audience = "haft"
roles = { bakers = ["agent"], owners = ["approver", "admin"] }

[[actor]]
id = "agent:planner"
tenant = "north"
roles = ["agent"]

[[actor]]
id = "user:mira"
roles = ["auditor", "approver"]

[[rule]]
verdict = "allow"
tool = "stock.*"
class = "read-only"
actor = "agent:*"
reason = "counting flour hurts nobody"
match = ["stock.count {}", 'stock.list {"page": 2}']
not_match = ["oven.start {}", "stock.drop {}"]

[[rule]]
verdict = "deny"
command = "rm *"

[[hook]]
event = "permission_request"
tool = "oven.*"
run = ["hooks/opening-hours", "--strict"]
timeout_ms = 500
may_allow = true

[[hook]]
event = "post_tool_use_failure"
url = "https://alerts.bakery.example/haft"
secret = "alerts/signing"

[[surface]]
scope = "role:agent"
tools = ["stock.*", "oven.*"]
defer_above = 12
defer_above_bytes = 20000
only_reads = true
nobody_there = true
all_schemas = true
largest_schema = 9000
without_kinds = ["browser_action"]

[[surface]]
scope = "workspace"

[limits]
max_parallel = 4
rates = [
  { tool = "oven.*", per = "hour", value = 6, scope = "tenant" },
  { tool = "*", per = "second", value = 20 },
]
drivers = [{ driver = "oven-*", max_parallel = 2 }]
rest = { failures = 3 }
form_ms = 1000

[telemetry]
endpoint = "http://collector:4318"
service = "bakery-tools"
content = true
commands = true
"#;

fn rule(verdict: Verdict) -> Rule {
    Rule {
        verdict,
        tool: None,
        action: None,
        class: None,
        path: None,
        url: None,
        command: None,
        actor: None,
        reason: None,
        matches: Vec::new(),
        not_matches: Vec::new(),
    }
}

fn full() -> Settings {
    Settings {
        workspace: Workspace {
            name: Some("bakery".into()),
            autonomy: Risk::SCOPED_WRITE,
            non_interactive: NonInteractive::Deny,
            forms: Forms::People,
            unsent: Unsent::Run,
            sandbox: Sandbox::On,
            policy_tags: set(["audited".into(), "eu-hosted".into()]),
            denied_tags: set(["beta".into()]),
            region: set(["CH".into(), "EU".into()]),
            region_global_matches: false,
            default_actor: ActorId::from("agent:kiosk"),
        },
        store: Store {
            url: "sqlite:/srv/bakery/haft.db".into(),
            payloads: "file:/srv/bakery/payloads".into(),
            identity_file: Some("/var/lib/bakery/store.json".into()),
        },
        server: ServerSettings {
            listen: "0.0.0.0:8443".into(),
            hosts: BTreeSet::from(["tools.bakery.example".into()]),
            oauth: Some(OAuth {
                issuer: "https://login.bakery.example".into(),
                audience: "haft".into(),
                roles: BTreeMap::from([
                    ("bakers".into(), set([Role::Agent])),
                    ("owners".into(), set([Role::Approver, Role::Admin])),
                ]),
            }),
            max_sessions: 500,
            max_sessions_per_actor: 1_000,
        },
        actors: vec![
            Actor {
                id: ActorId::from("agent:planner"),
                tenant: Some("north".into()),
                roles: set([Role::Agent]),
            },
            Actor {
                id: ActorId::from("user:mira"),
                tenant: None,
                roles: set([Role::Auditor, Role::Approver]),
            },
        ],
        rules: full_rules(),
        hooks: full_hooks(),
        surfaces: vec![
            SurfaceSettings {
                scope: "role:agent".into(),
                tools: vec!["stock.*".into(), "oven.*".into()],
                defer_above: 12,
                defer_above_bytes: Some(20_000),
                only_reads: true,
                nobody_there: true,
                all_schemas: true,
                largest_schema: Some(9000),
                without_kinds: set(["browser_action".into()]),
            },
            SurfaceSettings {
                scope: "workspace".into(),
                tools: vec!["*".into()],
                defer_above: 40,
                defer_above_bytes: None,
                only_reads: false,
                nobody_there: false,
                all_schemas: false,
                largest_schema: None,
                without_kinds: set([]),
            },
        ],
        telemetry: Telemetry {
            endpoint: Some("http://collector:4318".into()),
            service: "bakery-tools".into(),
            content: true,
            commands: true,
        },
        limits: LimitSettings {
            drivers: vec![DriverLimit { driver: "oven-*".into(), max_parallel: 2 }],
            rest: RestLimit { failures: 3, pause_ms: 30_000 },
            form_ms: Some(1000),
            max_parallel: 4,
            rates: vec![
                RateLimit {
                    tool: "oven.*".into(),
                    driver: None,
                    per: Period::Hour,
                    value: 6,
                    scope: RateScope::Tenant,
                },
                RateLimit {
                    tool: "*".into(),
                    driver: None,
                    per: Period::Second,
                    value: 20,
                    scope: RateScope::Workspace,
                },
            ],
        },
    }
}

fn full_rules() -> Vec<Rule> {
    vec![
        Rule {
            tool: Some("stock.*".into()),
            class: Some("read-only".into()),
            actor: Some("agent:*".into()),
            reason: Some("counting flour hurts nobody".into()),
            matches: vec!["stock.count {}".into(), "stock.list {\"page\": 2}".into()],
            not_matches: vec!["oven.start {}".into(), "stock.drop {}".into()],
            ..rule(Verdict::Allow)
        },
        Rule { command: Some("rm *".into()), ..rule(Verdict::Deny) },
    ]
}

fn full_hooks() -> Vec<Hook> {
    vec![
        Hook {
            event: HookEvent::PermissionRequest,
            tool: "oven.*".into(),
            target: HookTarget::Run(vec!["hooks/opening-hours".into(), "--strict".into()]),
            secret: None,
            timeout_ms: 500,
            may_allow: true,
        },
        Hook {
            event: HookEvent::PostToolUseFailure,
            tool: "*".into(),
            target: HookTarget::Url("https://alerts.bakery.example/haft".into()),
            secret: Some("alerts/signing".into()),
            timeout_ms: 2000,
            may_allow: false,
        },
    ]
}

#[test]
fn a_full_file_is_read_field_by_field() {
    assert_eq!(read(&Source::new("haft.toml", FULL)), (full(), vec![]));
}

#[test]
fn an_empty_file_is_the_defaults() {
    assert_eq!(read(&Source::new("haft.toml", "")), (Settings::default(), vec![]));
    assert_eq!(read(&Source::new("haft.toml", "# later\n")), (Settings::default(), vec![]));
}

#[test]
fn a_whole_number_may_be_written_with_a_point() {
    let (settings, diagnostics) = read(&Source::new("haft.toml", "[workspace]\nautonomy = 2.0\n"));
    assert_eq!((settings.workspace.autonomy, diagnostics), (Risk::EXTERNAL, vec![]));
}

#[test]
fn editors_are_told_the_defaults() {
    let schema = crate::shape::json_schema(&SETTINGS);
    let default = |pointer: &str| schema.pointer(pointer).cloned();
    assert_eq!(
        default("/properties/server/properties/listen/default"),
        Some(json!("127.0.0.1:7311"))
    );
}

#[test]
fn invalid_settings_are_dropped_and_valid_ones_kept() {
    let text = r#"
[workspace]
name = "bakery"
autonomy = 9
[store]
url = "mysql://db/x"
payloads = "file:p"
[server.oauth]
audience = "haft"
[[rule]]
verdict = "allow"
tool = "stock.*"
clas = "read-only"
[[rule]]
verdict = "deny"
tool = "oven.*"
[[rule]]
verdict = "ask"
[limits]
rates = [{ tool = "*", per = "week", value = 1 }, { tool = "*", per = "day", value = 1 }]
"#;
    let (settings, diagnostics) = read(&Source::new("haft.toml", text));
    let expected = Settings {
        workspace: Workspace { name: Some("bakery".into()), ..Workspace::default() },
        store: Store { payloads: "file:p".into(), ..Store::default() },
        rules: vec![Rule { tool: Some("oven.*".into()), ..rule(Verdict::Deny) }],
        limits: LimitSettings {
            rates: vec![RateLimit {
                tool: "*".into(),
                driver: None,
                per: Period::Day,
                value: 1,
                scope: RateScope::Workspace,
            }],
            ..LimitSettings::default()
        },
        ..Settings::default()
    };
    let codes: Vec<_> = diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
    assert_eq!(settings, expected);
    assert_eq!(codes, ["W003", "W012", "W016", "W030", "W040", "W023"]);
}
