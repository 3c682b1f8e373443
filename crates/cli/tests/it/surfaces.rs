//! Surface tests: five hundred tools over MCP and REST; few are shown, all are found.

#[cfg(target_os = "linux")]
mod away;
#[cfg(target_os = "linux")]
mod blocked;
mod elsewhere;
mod found;
mod legacy;
mod tiers;
mod told_apart;

use haft_testkit::{ALLOW, Backend, Folder, READ, Served};

use crate::stage;

/// What stands in every schema, and in no reply but that of a load.
const CANARY: &str = "amount_of_everything";

/// How many tools there are beside the builtin ones.
const TOOLS: usize = 500;

/// A read whose schema has the canary in it.
fn read_with_canary() -> String {
    format!("{READ}inputs: {{ type: object, properties: {{ {CANARY}: {{ type: integer }} }} }}\n")
}

/// Five hundred tools in front of a backend, on a surface that shows none of them by itself.
fn warehouse(backend: &Backend) -> Served {
    let read = read_with_canary();
    (0..TOOLS).fold(Served::by(backend), |served, number| {
        let id = match number {
            7 => "weather.forecast".to_owned(),
            _ => format!("shelf{number:03}.count"),
        };
        served.at(&id, &read, "GET", &format!("/{id}"))
    })
}

/// The surface of all callers, and a rule that allows every call.
fn settings(more: &str) -> String {
    format!("[[surface]]\nscope = \"workspace\"\ntools = [\"*\"]\n{more}{ALLOW}")
}

/// The kinds of events about surfaces, in the order of the log.
fn events(folder: &Folder) -> Vec<String> {
    let ran = stage::run(folder, "events --json");
    let said = String::from_utf8(ran.stdout).unwrap();
    let kind = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["event_type"].as_str().unwrap_or_default().to_owned()
    };
    let about = |kind: &String| kind.contains("surface") || kind.contains("deferred");
    said.lines().map(kind).filter(about).collect()
}

/// Asks until there is an answer.
#[cfg(target_os = "linux")]
#[track_caller]
fn eventually<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(std::time::Instant::now() < until, "it never comes");
    }
}
