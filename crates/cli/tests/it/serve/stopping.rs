//! Graceful shutdown tests of the server.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use haft_testkit::{ALLOW, Act, Backend, Keys, READ, Served, Then, WRITE, processor_time};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};

use crate::stage::json as told;
use crate::wire::Server;

#[test]
fn graceful_shutdown_delivers_results_to_waiting_callers() {
    let backend = Backend::new(Keys::Ignored);
    backend.will(Act::commits(Then::json(200, "{\"id\": \"1\"}")).held());
    let folder = Served::by(&backend).at("pay", WRITE, "POST", "/pay").with(ALLOW);
    let mut server = Server::of(&folder);
    let address = server.address;
    let body = json!({"tool": "pay", "input": {"order": "7"}}).to_string();
    let mut caller = TcpStream::connect(address).unwrap();
    caller.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(
        caller,
        "POST /v1/call HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    backend.wait_for(1);
    let process = Pid::from_child(server.process());
    kill_process(process, Signal::TERM).unwrap();
    crate::serve::eventually(|| TcpStream::connect(address).is_err().then_some(()));
    backend.let_go();
    let mut answer = String::new();
    caller.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("\"status\":\"succeeded\""), "{answer}");
    let ended = crate::serve::eventually(|| server.process().try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
    assert_eq!(backend.effects(), 1);
    let (_, runs) = told(&folder, "runs --json");
    assert_eq!(
        (&runs[0]["status"], &runs[0]["effect_state"]),
        (&json!("succeeded"), &json!("committed"))
    );
}

/// What a server may take to end: its patience with calls, twice its grace, and its farewell, with a margin
/// for a machine that is busy.
const BOUND: Duration = Duration::from_secs(20 + 2 * 5 + 5 + 5);

#[test]
fn server_under_hostile_validation_ends_within_its_bound() {
    let backend = Backend::new(Keys::Ignored);
    // Every name is matched against every pattern.
    let patterns: Map<String, Value> =
        (0..200).map(|n| (format!("^(a|b)*{n}"), json!({ "type": "integer" }))).collect();
    let schema = json!({ "type": "object", "patternProperties": patterns });
    let hostile = format!("{READ}inputs: {schema}\n");
    let served = Served::by(&backend).at("hostile", &hostile, "POST", "/hostile");
    let folder = served.with(ALLOW);
    let mut server = Server::of(&folder);
    let address = server.address;
    let input: Map<String, Value> =
        (0..3000).map(|n| (format!("{}{n}", "ab".repeat(20)), json!(n))).collect();
    let body = json!({"tool": "hostile", "input": input}).to_string();
    let process = server.process().id().to_string();
    let before = processor_time(&process);
    let callers: Vec<TcpStream> = (0..6)
        .map(|_| {
            let mut caller = TcpStream::connect(address).unwrap();
            write!(
                caller,
                "POST /v1/call HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .unwrap();
            caller
        })
        .collect();
    crate::serve::eventually(|| {
        (processor_time(&process) - before > Duration::from_millis(500)).then_some(())
    });
    let ready = server.get("/v1/ready");
    assert_eq!(ready.status, 200, "{}", String::from_utf8_lossy(&ready.body));
    let began = Instant::now();
    kill_process(Pid::from_child(server.process()), Signal::TERM).unwrap();
    let ended = crate::serve::eventually(|| server.process().try_wait().unwrap());
    assert!(began.elapsed() < BOUND, "{:?}", began.elapsed());
    assert!(ended.code().is_some(), "{ended:?}");
    drop(callers);
}
