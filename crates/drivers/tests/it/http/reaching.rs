//! Tests of the egress allowlist: only hosts that driver and contract both list are reached.

use std::net::SocketAddr;

use haft_model::{Code, EffectState};
use haft_sandbox::AddressGuard;
use haft_testkit::{Act, Backend, Keys, Then};
use serde_json::json;

use crate::http::stage::Stage;

fn refusal(stage: &Stage) -> (Code, String) {
    let stop = stage.preflight(json!({})).unwrap_err();
    assert_eq!(stage.backend.connections(), 0);
    (stop.code, stop.message)
}

#[test]
fn host_missing_from_either_egress_allowlist_is_not_reached() {
    let mut stage = Stage::writing(json!({}));
    let host = stage.backend.host();
    stage.network = Vec::new();
    let words =
        format!("`shop.pay@1` may not reach `{host}`: its contract does not list that host");
    assert_eq!(refusal(&stage), (Code::SandboxViolation, words));
    stage.network = vec!["elsewhere.example".to_owned()];
    assert_eq!(refusal(&stage).0, Code::SandboxViolation);
    stage.network = vec!["*".to_owned()];
    stage.run(json!({})).output();

    for egress in [json!([]), json!(["*"]), json!(["127.0.0.1:1"])] {
        let stage = Stage::writing(json!({})).with("network", json!({"egress": egress}));
        assert_eq!(refusal(&stage).0, Code::SandboxViolation, "{egress}");
    }
}

#[test]
fn private_host_is_reachable_only_when_manifest_names_it() {
    let stage = Stage::writing(json!({}));
    let port_less = stage.with("network", json!({"egress": ["127.0.0.1"]}));
    port_less.run(json!({})).output();
    let mut star = Stage::writing(json!({})).with("network", json!({"egress": ["*"]}));
    let words = "`127.0.0.1` may not be reached: it is this machine".to_owned();
    assert_eq!(refusal(&star), (Code::SandboxViolation, words));
    star.guard = AddressGuard::public().allowing("127.0.0.1", star.backend.port());
    star.run(json!({})).output();
}

#[test]
fn alternate_spelling_of_blocked_address_in_base_is_refused() {
    for host in [
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "169.254.169.254",
        "0",
    ] {
        let stage = Stage::reading(json!({})).with("network", json!({"egress": ["*"]}));
        let base = format!("http://{host}:{}", stage.backend.port());
        let mut stage = stage.with("base_url", json!(base));
        stage.network = vec!["*".to_owned()];
        assert_eq!(refusal(&stage).0, Code::SandboxViolation, "{host}");
        assert_eq!(stage.run(json!({})).fate().0, Code::SandboxViolation, "{host}");
        assert_eq!(stage.backend.connections(), 0, "{host}");
    }
    for base in [
        "file:///etc/passwd",
        "ftp://shop.example",
        "http://a:b@shop.example",
        "http://[fe80::1%25eth0]",
    ] {
        let stage = Stage::reading(json!({})).with("base_url", json!(base));
        let (code, words) = refusal(&stage);
        assert_eq!(code, Code::SandboxViolation, "{base}");
        assert!(!words.contains("a:b"), "{words}");
    }
}

/// A DNS lookup of an attacker who wants to reach this machine.
type Lookup = fn(&str, u16) -> std::io::Result<Vec<SocketAddr>>;

const LOOKUPS: [Lookup; 4] = [
    |_, port| Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]),
    |_, port| {
        let public = SocketAddr::from(([8, 8, 8, 8], port));
        Ok(vec![public, SocketAddr::from(([127, 0, 0, 1], port))])
    },
    |_, port| {
        Ok(vec![format!("[::ffff:127.0.0.1]:{port}").parse().map_err(std::io::Error::other)?])
    },
    |_, port| Ok(vec![format!("[fe80::1%1]:{port}").parse().map_err(std::io::Error::other)?]),
];

#[test]
fn public_name_resolving_to_loopback_is_refused() {
    for (at, read) in (0..LOOKUPS.len()).flat_map(|at| [(at, true), (at, false)]) {
        let stage = if read { Stage::reading(json!({})) } else { Stage::writing(json!({})) };
        let base = format!("http://shop.example:{}", stage.backend.port());
        let mut stage = stage
            .with("base_url", json!(base))
            .with("network", json!({"egress": ["shop.example"]}));
        stage.network = vec!["shop.example".to_owned()];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let driver = stage.driver().looking_up(LOOKUPS[at]);
        let cancel = haft_driver::Cancel::new();
        let ended = runtime.block_on(stage.call(&driver, json!({}), &cancel, &mut || Ok(())));
        let failure = ended.failure();
        assert_eq!(failure.stop.code, Code::SandboxViolation, "{at} {failure:?}");
        assert_eq!(stage.backend.connections(), 0);
    }
}

#[test]
fn a_name_is_looked_up_once_for_every_connection() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    /// Resolves to this machine, which the guard opens by its name.
    fn local(_: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        ASKED.fetch_add(1, Ordering::SeqCst);
        Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))])
    }
    let stage = Stage::writing(json!({})).haft(json!({"submitted": "on_connect"}));
    let base = format!("http://shop.example:{}", stage.backend.port());
    let mut stage =
        stage.with("base_url", json!(base)).with("network", json!({"egress": ["shop.example"]}));
    stage.network = vec!["shop.example".to_owned()];
    stage.guard = AddressGuard::public().allowing("shop.example", stage.backend.port());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let driver = stage.driver().looking_up(local);
    runtime.block_on(async {
        for _ in 0..2 {
            let cancel = haft_driver::Cancel::new();
            stage.call(&driver, json!({}), &cancel, &mut || Ok(())).await.output();
        }
    });
    // One lookup per connection: the checked address is the used address.
    assert_eq!((ASKED.load(Ordering::SeqCst), stage.backend.connections()), (2, 2));
}

fn to(place: String) -> Then {
    let header = format!("Location: {place}\r\n");
    Then::Answer(302, header.leak(), Vec::new())
}

#[test]
fn read_follows_redirects_within_allowlist_without_leaking_headers() {
    let other = Backend::new(Keys::Ignored);
    let stage = Stage::reading(json!({"headers": {"X-Note": "mine"}}));
    let hosts = vec![stage.backend.host(), other.host()];
    let mut stage = stage.with("network", json!({"egress": hosts}));
    stage.network = hosts;
    stage.backend.will(Act::refuses(to("/again".to_owned())));
    stage.backend.will(Act::refuses(to(format!("http://{}/there", other.host()))));
    let ended = stage.run(json!({}));
    assert_eq!(ended.submissions, 0);
    let output = ended.output();
    assert_eq!((output.structured, output.effect), (Some(json!({})), EffectState::None));
    let paths: Vec<_> = stage.backend.heard().into_iter().map(|heard| heard.path).collect();
    assert_eq!(paths, ["/look", "/again"]);
    let there = other.heard().remove(0);
    assert_eq!((there.path.as_str(), there.header("x-note")), ("/there", None));
}

#[test]
fn redirects_off_allowlist_loops_and_writes_are_not_followed() {
    let other = Backend::new(Keys::Ignored);
    let stage = Stage::reading(json!({}));
    stage.backend.will(Act::refuses(to(format!("http://{}/", other.host()))));
    assert_eq!(stage.run(json!({})).fate(), (Code::SandboxViolation, EffectState::None, 0));
    for place in [
        "http://2130706433:1/",
        "//[::ffff:127.0.0.1]:1/",
        "http://localhost:1/",
        "http://169.254.169.254/latest/meta-data",
        "file:///etc/passwd",
        "http://a:b@127.0.0.1/",
    ] {
        let stage = Stage::reading(json!({}));
        stage.backend.will(Act::refuses(to(place.to_owned())));
        let failure = stage.run(json!({})).failure();
        assert_eq!(
            (failure.stop.code, failure.effect),
            (Code::SandboxViolation, EffectState::None)
        );
        assert!(!failure.stop.message.contains("a:b"), "{}", failure.stop.message);
    }
    assert_eq!(other.connections(), 0);
    let stage = Stage::reading(json!({}));
    for _ in 0..9 {
        stage.backend.will(Act::refuses(to("/round".to_owned())));
    }
    assert_eq!(stage.run(json!({})).fate(), (Code::ExecutionFailed, EffectState::None, 0));
    assert_eq!(stage.backend.heard().len(), 6);
    let stage = Stage::writing(json!({}));
    stage.backend.will(Act::commits(to("/elsewhere".to_owned())));
    assert_eq!(stage.run(json!({})).fate(), (Code::ExecutionFailed, EffectState::Unknown, 1));
    assert_eq!((stage.backend.heard().len(), other.connections()), (1, 0));
}
