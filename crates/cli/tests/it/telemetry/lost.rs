//! Collector outage tests: collectors that are gone, slow or unwilling.

use std::time::{Duration, Instant};

use haft_testkit::eventually;
use serde_json::json;

use crate::stage;
use crate::telemetry::collector::{Collector, Does};
use crate::telemetry::workspace;
use crate::wire::Server;

fn read(server: &Server) -> serde_json::Value {
    let body = json!({ "tool": "fs.read", "input": { "path": "notes.txt" } });
    let done = server.post("/v1/call", &body).json();
    assert_eq!(done["status"], "succeeded", "{done:#}");
    done
}

/// A number of `/metrics`.
fn counted(server: &Server, name: &str) -> u64 {
    let text = String::from_utf8(server.get("/metrics").body).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap_or_else(|| panic!("no {name}\n{text}")).parse().unwrap()
}

#[test]
fn spans_refused_by_collector_are_counted_and_in_doctor() {
    let collector = Collector::new(Does::Refuses(400));
    let folder = workspace(&collector, "");
    let server = Server::of(&folder);
    read(&server);
    eventually(|| (counted(&server, "haft_telemetry_dropped_total") == 1).then_some(()));
    assert_eq!(counted(&server, "haft_telemetry_sent_total"), 0);
    let (exit, told) = stage::json(&folder, "doctor --json");
    let found = told["examined"].as_array().unwrap();
    let spans = found.iter().find(|one| one["what"] == "telemetry").unwrap();
    assert_eq!((exit, &spans["state"]), (1, &json!("broken")), "{told:#}");
    let says = spans["says"].as_str().unwrap();
    assert!(says.ends_with("takes no spans: it answered with 400"), "{says}");
}

#[test]
fn doctor_reports_lost_spans_after_collector_recovers() {
    let refusing = Collector::new(Does::Refuses(400));
    let folder = workspace(&refusing, "");
    let server = Server::of(&folder);
    read(&server);
    eventually(|| folder.path().join(".haft/telemetry.json").exists().then_some(()));
    drop(server);
    let taking = Collector::new(Does::Takes);
    let settings = folder.read("haft.toml").replace(&refusing.base(), &taking.base());
    std::fs::write(folder.path().join("haft.toml"), settings).unwrap();
    let (_, told) = stage::json(&folder, "doctor --json");
    let found = told["examined"].as_array().unwrap();
    let spans = found.iter().find(|one| one["what"] == "telemetry").unwrap();
    assert_eq!(
        (&spans["state"], &spans["says"]),
        (
            &json!("warning"),
            &json!("the spans of 1 calls were lost and 0 sent: the collector answered with 400")
        )
    );
}

#[test]
fn a_collector_that_hangs_holds_no_call_up() {
    let collector = Collector::new(Does::Hangs);
    let folder = workspace(&collector, "");
    let server = Server::of(&folder);
    let began = Instant::now();
    for _ in 0..20 {
        read(&server);
    }
    // One request to the collector alone may take ten seconds.
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
    assert_eq!(counted(&server, "haft_telemetry_sent_total"), 0);
}

#[test]
fn recovered_collector_gets_the_spans_sent_again() {
    let collector = Collector::new(Does::Recovers);
    let folder = workspace(&collector, "");
    let server = Server::of(&folder);
    let done = read(&server);
    collector.of(done["invocation_id"].as_str().unwrap());
    eventually(|| (counted(&server, "haft_telemetry_sent_total") == 1).then_some(()));
    assert_eq!(counted(&server, "haft_telemetry_dropped_total"), 0);
}

#[test]
fn graceful_shutdown_flushes_pending_spans() {
    let collector = Collector::new(Does::Takes);
    let folder = workspace(&collector, "");
    let mut server = Server::of(&folder);
    let ids: Vec<_> = (0..5).map(|_| read(&server)["invocation_id"].clone()).collect();
    server.end();
    for id in ids {
        assert!(!collector.of(id.as_str().unwrap()).is_empty());
    }
}
