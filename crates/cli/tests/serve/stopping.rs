//! A server that is to end.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use haft_testkit::{ALLOW, Act, Backend, Keys, Served, Then, WRITE};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::stage::json as told;
use crate::wire::Server;

#[test]
fn whoever_waits_for_an_answer_gets_it_before_the_server_ends() {
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
    crate::eventually(|| TcpStream::connect(address).is_err().then_some(()));
    backend.let_go();
    let mut answer = String::new();
    caller.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("\"status\":\"succeeded\""), "{answer}");
    let ended = crate::eventually(|| server.process().try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
    assert_eq!(backend.effects(), 1);
    let (_, runs) = told(&folder, "runs --json");
    assert_eq!(
        (&runs[0]["status"], &runs[0]["effect_state"]),
        (&json!("succeeded"), &json!("committed"))
    );
}
