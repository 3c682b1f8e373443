//! Routing harness: reads a case, asks the catalog and prints its whole answer.
//!
//! A driver is a line, `id kind`, followed by what else it says, parted by `; `: a field of the
//! manifest, a field of its `implements` entry after `> `, or what is known of it after `!`.
//! A call is words: `pin=`, `region=` and `note=` are the caller's, `allow=`, `deny=`, `stay=` and
//! `no-global` the workspace's.

use std::fmt::Write as _;
use std::sync::Arc;

use haft_catalog::{
    AuthState, DriverHost, DriverState, DriverStates, Health, Mend, OpenBreaker, Outlook, Parts,
    Probe, RoutingPolicy, Sender,
};
use haft_contract::{Driver, ParsedManifest, Report, Source, ToolManifest, read};
use haft_model::{Call, DriverId, Plan, RejectedDriver, Stop, parse_date, parse_timestamp};
use serde_json::json;

use crate::accepted;

/// Compares the whole answer to one call.
#[track_caller]
pub(crate) fn check(tool: &str, drivers: &str, call: &str, answer: &str) {
    let lines: Vec<&str> = drivers.lines().collect();
    assert_eq!(route(tool, &lines, call), answer);
}

/// The answer to a call, in words.
pub(crate) fn route(tool: &str, drivers: &[&str], call: &str) -> String {
    let mut parts = Parts {
        tools: vec![read_tool(tool)],
        host: DriverHost { os: "linux", arch: "x64", id: "haft" },
        ..Parts::default()
    };
    let mut outlook = Outlook::default();
    for line in drivers {
        parts.drivers.push(read_driver(line, &mut outlook.states));
    }
    let mut asked =
        Call::new(haft_model::ActorId::from("agent:local"), "shop.find", json!({ "item": "lamp" }));
    for word in call.split_whitespace() {
        said(word, &mut asked, &mut parts.routing);
    }
    let today = parse_date("2026-01-01").unwrap();
    let snapshot = accepted::accepted(parts);
    let planned = snapshot.select(&asked.tool, today).and_then(|entry| {
        let input = entry.parse(asked.input.clone(), Sender::Caller)?;
        snapshot.bind(entry, &asked, input.into(), &outlook)
    });
    match planned {
        Ok((plan, _)) => chosen(&plan),
        Err(stop) => refused(&stop),
    }
}

fn said(word: &str, call: &mut Call, workspace: &mut RoutingPolicy) {
    match word.split_once('=').unwrap_or((word, "")) {
        ("pin", id) => call.pinned = Some(DriverId::from(id)),
        ("region", region) => call.region.push(region.into()),
        ("note", text) => call.input["note"] = json!(text),
        ("allow", tag) => workspace.allowed_tags.push(tag.into()),
        ("deny", tag) => workspace.denied_tags.push(tag.into()),
        ("stay", region) => workspace.region.push(region.into()),
        ("no-global", _) => workspace.global_matches = false,
        _ => panic!("`{word}` says nothing of a call"),
    }
}

fn read_tool(fields: &str) -> Arc<ToolManifest> {
    let text = format!(
        "---\nname: Find\nid: shop.find\ndescription: Finds an item in a shop.\nversion: 1.0.0\n\
         mutates: []\nrisk_level: 0\n\
         inputs: {{ type: object, properties: {{ item: {{ type: string }}, note: {{ type: string }} \
         }}, required: [item] }}\noutputs: {{ type: object }}\n{fields}\n---\n"
    );
    match manifest(".tools/shop.find/TOOL.md", &text) {
        ParsedManifest::Tool(tool) => tool,
        other => panic!("not a tool: {other:?}"),
    }
}

fn read_driver(line: &str, states: &mut DriverStates) -> Arc<Driver> {
    let mut said = line.split("; ");
    let (id, kind) = said.next().unwrap().split_once(' ').unwrap();
    let (own, entry) = fields_of_kind(kind);
    let mut text = format!(
        "---\nname: {id}\nid: {id}\ndescription: A shop.\nversion: 1.0.0\nkind: {kind}\n{own}"
    );
    let mut serves = format!("  - tool: shop.find\n    metadata: {{ {entry} }}\n");
    let mut range = "^1";
    for word in said {
        if let Some(state) = word.strip_prefix('!') {
            known(state, states.entry(DriverId::from(id)).or_default());
        } else if let Some(version) = word.strip_prefix("> version: ") {
            range = version;
        } else if let Some(field) = word.strip_prefix("> ") {
            let _ = writeln!(serves, "    {field}");
        } else {
            let _ = writeln!(text, "{word}");
        }
    }
    let _ = write!(text, "implements:\n{serves}    version: \"{range}\"\n---\n");
    match manifest(&format!(".drivers/{id}/DRIVER.md"), &text) {
        ParsedManifest::Driver(driver) => driver,
        other => panic!("not a driver: {other:?}"),
    }
}

/// What a kind of driver has to say, in its manifest and in its `implements` entry.
fn fields_of_kind(kind: &str) -> (&'static str, &'static str) {
    match kind {
        "builtin" => ("", ""),
        "sdk" => ("package: shop\npackage_manager: npm\n", "sdk: { function_ref: find }"),
        "http" => (
            "base_url: https://shop.example\nnetwork: { egress: [shop.example] }\n",
            "http: { endpoint: /items }",
        ),
        "mcp" => {
            ("server: { kind: binary, path: shop }\ntransport: stdio\n", "mcp: { tool_name: find }")
        }
        "cli" => ("bin: shop\n", "cli: { argv: [find] }"),
        _ => panic!("`{kind}` is no kind of driver"),
    }
}

fn known(word: &str, state: &mut DriverState) {
    let mend = |why: &str, run: &str| Mend { why: why.to_owned(), run: run.to_owned() };
    match word {
        "installed" => state.installed = Probe::Passed,
        "not-installed" => {
            state.installed = Probe::Failed(mend("`shop` is not installed", "haft setup shop"));
        }
        "right-version" => state.version = Probe::Passed,
        "wrong-version" => {
            state.version =
                Probe::Failed(mend("`shop` is 1, and `2` is needed", "haft setup shop"));
        }
        "by-login" => state.login = Some(mend("the caller is not logged in", "haft login shop")),
        "rests" => {
            let until = parse_timestamp("2026-01-01T00:00:30Z").unwrap();
            state.rest = Some(OpenBreaker { failures: 5, until });
        }
        "logged-in" => state.auth = AuthState::LoggedIn,
        "logged-out" => state.auth = AuthState::LoggedOut,
        "expired" => state.auth = AuthState::Expired,
        "sick" => state.health = Health::Failed("nobody answers".to_owned()),
        time => state.health = Health::Passed(parse_timestamp(time).unwrap()),
    }
}

fn manifest(file: &str, text: &str) -> ParsedManifest {
    let source = Source::new(file, text);
    let reading = read(&source, Report::new(&source));
    reading.manifest.unwrap_or_else(|| panic!("{text}\n{:#?}", reading.diagnostics))
}

fn chosen(plan: &Plan) -> String {
    let route = &plan.route;
    format!("{}: {}{}", route.driver, route.reason, others(&route.rejected))
}

fn refused(stop: &Stop) -> String {
    let mut text = format!("{}: {}", stop.code, stop.message);
    let parts = [
        ("field", stop.field.clone()),
        ("help", stop.help.clone()),
        ("cause", (!stop.cause.is_empty()).then(|| stop.cause.to_string())),
    ];
    for (name, value) in parts {
        if let Some(value) = value {
            let _ = write!(text, "\n{name}: {value}");
        }
    }
    text + &others(&stop.rejected)
}

fn others(rejected: &[RejectedDriver]) -> String {
    let line = |other: &RejectedDriver| {
        let phase = serde_json::to_value(other.phase).unwrap();
        let phase = phase.as_str().unwrap();
        format!("\n- {}, {phase}, {}: {}", other.driver, other.why, other.reason)
    };
    rejected.iter().map(line).collect()
}
