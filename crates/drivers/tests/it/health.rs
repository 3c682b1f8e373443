//! Tests of health checks: backends that work, that are absent, and that time out.

use haft_contract::DriverManifest;
use haft_drivers::{Checkup, DeclaredEntries, WorkingFolder, probe};
use haft_model::{DriverKind, Timestamp};
use haft_sandbox::{AddressGuard, Launcher, Walls};
use haft_testkit::{Act, Backend, Folder, Keys, Then};
use serde_json::{Value, json};

/// The result of a health check, in words.
async fn looked(manifest: Value) -> String {
    match checkup(manifest).await {
        None => "nothing to look at".to_owned(),
        Some(Checkup { why: None, .. }) => "well".to_owned(),
        Some(Checkup { why: Some(why), .. }) => why,
    }
}

async fn checkup(manifest: Value) -> Option<Checkup> {
    let folder = Folder::new().file("notes/log", "");
    let place = WorkingFolder {
        root: folder.path().to_owned(),
        hidden: Vec::new(),
        programs: Vec::new(),
        walls: Walls::By(Launcher::at(env!("CARGO_BIN_EXE_haft-drivers-test-launcher"))),
        guard: AddressGuard::public(),
        variable: |name| std::env::var(name).ok(),
        secrets: Default::default(),
    };
    let kind = match manifest.get("base_url") {
        Some(_) => DriverKind::Http,
        None => DriverKind::Builtin,
    };
    let manifest = DriverManifest::from_json(kind, &manifest);
    let declared = DeclaredEntries { manifest, serves: Vec::new() };
    probe(&declared, &place, Timestamp::UNIX_EPOCH).await
}

fn exec(check: Value) -> Value {
    let mut check = check;
    check["method"] = json!("exec");
    json!({"id": "d", "health_check": check})
}

#[tokio::test]
async fn a_driver_that_says_nothing_is_not_looked_at() {
    assert_eq!(looked(json!({"id": "d"})).await, "nothing to look at");
    assert_eq!(looked(json!({"health_check": {"method": "noop"}})).await, "well");
}

#[tokio::test]
async fn a_command_is_well_when_it_ends_as_expected() {
    for (check, expected) in [
        (json!({"cmd": "true"}), "well"),
        (json!({"cmd": "sh -c 'exit 3'", "expect_exit": 3}), "well"),
        (json!({"cmd": "sh -c 'exit 3'"}), "`sh -c 'exit 3'` ended with code 3"),
        (json!({"cmd": "sleep 60", "timeout_ms": 300}), "it did not answer within 300 ms"),
        (json!({"cmd": "/no/such/program"}), "`/no/such/program` does not exist"),
        (json!({"cmd": "test -e notes/log"}), "well"),
        // A health check cannot write.
        (json!({"cmd": "touch notes/new"}), "`touch notes/new` ended with code 1"),
        (json!({}), "it has no `cmd`"),
    ] {
        assert_eq!(looked(exec(check.clone())).await, expected, "{check}");
    }
}

#[tokio::test]
async fn http_health_check_passes_on_expected_status() {
    let backend = Backend::new(Keys::Ignored);
    let host = backend.host();
    let http = |request: Value, egress: Value| {
        json!({"network": {"egress": egress}, "health_check": {
            "method": "http", "timeout_ms": 2000, "http": request,
        }})
    };
    let url = format!("http://{host}/health");
    assert_eq!(looked(http(json!({"url": url}), json!([host]))).await, "well");
    let expects = json!({"url": url, "expect_status": 503});
    backend.will(Act::refuses(Then::status(503)));
    assert_eq!(looked(http(expects.clone(), json!([host]))).await, "well");
    backend.will(Act::refuses(Then::status(503)));
    let answered = looked(http(json!({"url": url}), json!([host]))).await;
    assert_eq!(answered, format!("`{url}` answered 503"));
    let heard = backend.heard().len();
    let closed = looked(http(json!({"url": url}), json!(["127.0.0.1:1"]))).await;
    assert_ne!(closed, "well");
    assert_eq!(backend.heard().len(), heard, "a host that is not listed hears nothing");
}

#[tokio::test]
async fn a_host_is_well_when_it_answers_at_all() {
    let backend = Backend::new(Keys::Ignored);
    let ping = |host: &str| {
        json!({"base_url": format!("http://{host}"), "network": {"egress": [host]},
            "health_check": {"method": "ping", "timeout_ms": 500}})
    };
    backend.will(Act::refuses(Then::status(500)));
    assert_eq!(looked(ping(&backend.host())).await, "well");
    backend.will(Act::refuses(Then::Hang));
    assert_eq!(looked(ping(&backend.host())).await, "it did not answer within 500 ms");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(looked(ping(&nobody.to_string())).await, "`127.0.0.1` cannot be reached");
    let nowhere = looked(json!({"health_check": {"method": "ping"}})).await;
    assert_eq!(nowhere, "there is no host to ping; use `exec`, `http` or `noop`");
}

#[tokio::test]
async fn health_check_result_stays_fresh_for_declared_interval() {
    let check = |every: &str| json!({"health_check": {"method": "noop", "every": every}});
    let now = Timestamp::UNIX_EPOCH;
    let later = |seconds| Timestamp::from_second(seconds).unwrap();
    let ten = checkup(check("PT10S")).await.unwrap();
    assert!(ten.ok() && ten.is_fresh(now) && ten.is_fresh(later(9)) && !ten.is_fresh(later(10)));
    let silent = checkup(json!({"health_check": {"method": "noop"}})).await.unwrap();
    assert_eq!((silent.at, silent.until), (now, later(300)));
    let unread = checkup(json!({"health_check": {"method": "guess"}})).await.unwrap();
    assert!(!unread.ok());
}
