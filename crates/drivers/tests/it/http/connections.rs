//! Tests of connection reuse: a write that may have been sent is never retried.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use haft_driver::{Cancel, Clearance};
use haft_drivers::Http;
use haft_model::{Code, DualTime, EffectState, Stop, Timestamp};
use haft_testkit::{Act, Then};
use serde_json::json;

use crate::http::stage::{Ended, Stage};

/// Runs calls one after the other on the same driver.
fn in_a_row(stage: &Stage, calls: usize) -> Vec<Ended> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let driver = stage.driver();
    runtime.block_on(async {
        let mut ended = Vec::new();
        for _ in 0..calls {
            ended.push(call(stage, &driver).await);
        }
        ended
    })
}

async fn call(stage: &Stage, driver: &Http) -> Ended {
    stage.call(driver, json!({}), &Cancel::new(), &mut || Ok(())).await
}

#[test]
fn connections_are_reused_unless_connecting_is_the_effect() {
    let on_connect = || Stage::writing(json!({})).haft(json!({"submitted": "on_connect"}));
    for (stage, connections, submissions) in
        [(Stage::reading(json!({})), 1, 0), (Stage::writing(json!({})), 1, 1), (on_connect(), 3, 1)]
    {
        for ended in in_a_row(&stage, 3) {
            assert_eq!(ended.submissions, submissions);
            ended.output();
        }
        assert_eq!((stage.backend.connections(), stage.backend.heard().len()), (connections, 3));
    }
}

#[test]
fn write_on_reused_connection_is_recorded_before_first_byte() {
    let stage = Stage::writing(json!({}));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let driver = stage.driver();
    runtime.block_on(async {
        call(&stage, &driver).await.output();
        let mut seen = None;
        let mut look = || {
            seen = Some((stage.backend.connections(), stage.backend.heard().len()));
            Ok(())
        };
        stage.call(&driver, json!({}), &Cancel::new(), &mut look).await.output();
        assert_eq!(seen, Some((1, 1)));
        let mut refuse = || Err(Stop::new(Code::Internal, "the disk is full"));
        let ended = stage.call(&driver, json!({}), &Cancel::new(), &mut refuse).await;
        assert_eq!(ended.fate(), (Code::Internal, EffectState::NotSubmitted, 1));
    });
    assert_eq!((stage.backend.connections(), stage.backend.heard().len()), (1, 2));
}

#[test]
fn write_broken_on_reused_connection_is_unknown_sent_once() {
    for then in [Then::Reset, Then::Close, Then::Garbage] {
        let stage = Stage::writing(json!({}));
        stage.backend.will(Act::commits(Then::Id));
        stage.backend.will(Act::commits(then.clone()));
        let mut ended = in_a_row(&stage, 3);
        ended.pop().unwrap().output();
        let (_, effect, submissions) = ended.pop().unwrap().fate();
        assert_eq!((effect, submissions), (EffectState::Unknown, 1), "{then:?}");
        // The server received each once, and the driver reused no connection to this host again.
        assert_eq!((stage.backend.connections(), stage.backend.heard().len()), (2, 3), "{then:?}");
    }
}

/// A server that answers one request per connection, announces no close, and closes it.
struct Fickle {
    host: String,
    closed: mpsc::Receiver<()>,
    thread: std::thread::JoinHandle<Vec<usize>>,
}

impl Fickle {
    fn new(connections: usize) -> Fickle {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let (told, closed) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut requests = Vec::new();
            for stream in listener.incoming().take(connections) {
                requests.push(serve(&mut stream.unwrap()));
                told.send(()).unwrap();
            }
            requests
        });
        Fickle { host, closed, thread }
    }
}

/// Answers one request and returns its size in bytes.
fn serve(stream: &mut TcpStream) -> usize {
    let mut heard = Vec::new();
    let mut byte = [0];
    while !heard.ends_with(b"\r\n\r\n{}") {
        stream.read_exact(&mut byte).unwrap();
        heard.extend(byte);
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    stream.write_all(head.as_bytes()).unwrap();
    heard.len()
}

#[test]
fn write_on_stale_connection_is_sent_once_over_new() {
    let server = Fickle::new(3);
    let mut stage = Stage::writing(json!({}))
        .with("base_url", json!(format!("http://{}", server.host)))
        .with("network", json!({"egress": [server.host]}));
    stage.network = vec![server.host.clone()];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let driver = stage.driver();
    runtime.block_on(async {
        for _ in 0..3 {
            let ended = call(&stage, &driver).await;
            assert_eq!(ended.submissions, 1);
            assert_eq!(ended.output().effect, EffectState::Committed);
            server.closed.recv().unwrap();
            // The connection is closed, and the client gets to see it.
            for _ in 0..500 {
                tokio::task::yield_now().await;
            }
        }
    });
    assert_eq!(server.thread.join().unwrap().len(), 3);
}

/// A clearance that passes a number of checks.
fn passing(checks: usize) -> Clearance {
    let made = AtomicUsize::new(0);
    Clearance::until(DualTime::from(Timestamp::UNIX_EPOCH), move || {
        let passed = made.fetch_add(1, Ordering::SeqCst) < checks;
        DualTime::from(if passed { Timestamp::MIN } else { Timestamp::MAX })
    })
}

/// Answers one request and closes, then returns what arrives over the next connection.
fn once_and_gone() -> (String, mpsc::Receiver<()>, std::thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let (told, closed) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        serve(&mut listener.accept().unwrap().0);
        told.send(()).unwrap();
        let mut heard = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut heard).unwrap();
        heard
    });
    (host, closed, thread)
}

#[test]
fn clearance_expired_while_connecting_again_sends_nothing() {
    let (host, closed, thread) = once_and_gone();
    let mut stage = Stage::writing(json!({}))
        .with("base_url", json!(format!("http://{host}")))
        .with("network", json!({"egress": [host]}));
    stage.network = vec![host];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let driver = stage.driver();
    runtime.block_on(async {
        call(&stage, &driver).await.output();
        closed.recv().unwrap();
        for _ in 0..500 {
            tokio::task::yield_now().await;
        }
        // The checks of the submission and of the connection that is gone.
        stage.clearance = passing(2);
        let fate = call(&stage, &driver).await.fate();
        assert_eq!(fate, (Code::TimeoutBeforeSubmit, EffectState::NotCommitted, 1));
    });
    assert_eq!(thread.join().unwrap(), b"", "it connected, and sent nothing");
}

#[test]
fn clearance_expired_during_connect_sends_nothing() {
    let mut stage = Stage::writing(json!({})).haft(json!({"submitted": "on_connect"}));
    // The checks of the submission and before the connection.
    stage.clearance = passing(2);
    let fate = in_a_row(&stage, 1).pop().unwrap().fate();
    assert_eq!(fate, (Code::TimeoutBeforeSubmit, EffectState::NotCommitted, 1));
    assert_eq!(stage.backend.heard().len(), 0);
}

#[test]
fn tls_offers_both_http_versions() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 5];
        stream.read_exact(&mut head).unwrap();
        let mut greeting = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
        stream.read_exact(&mut greeting).unwrap();
        greeting
    });
    let mut stage = Stage::writing(json!({}))
        .with("base_url", json!(format!("https://{host}")))
        .with("network", json!({"egress": [host]}));
    stage.network = vec![host];
    stage.run(json!({})).failure();
    let offered = b"\x02h2\x08http/1.1";
    assert!(server.join().unwrap().windows(offered.len()).any(|part| part == offered));
}
