//! Tests of `http.fetch`: only public addresses on every hop, and a true effect state.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use haft_driver::{Cancel, Driver as _};
use haft_model::{Blame, Code, EffectState, Stop, ToolKey};
use haft_sandbox::AddressGuard;
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::builtin::server::{Server, send, until_gone};
use crate::builtin::stage::{Around, Ended, Stage};

/// A stage whose guard opens one local server in addition to public addresses.
fn open_to(server: &Server) -> Stage {
    Stage::guarded(Folder::new(), AddressGuard::public().allowing("127.0.0.1", server.port))
}

fn fetch(stage: &Stage, url: &str) -> Ended {
    stage.run("http.fetch", json!({"url": url}))
}

fn page(server: &Server, path: &str, content: &str) -> Value {
    json!({"url": server.url(path), "status": 200, "media_type": "text/plain", "content": content,
           "encoding": "utf-8", "size": content.len(), "more": false})
}

#[test]
fn a_page_is_fetched_and_submitted_once() {
    let server = Server::new(|_, stream| {
        send(stream, "200 OK\r\nContent-Type: Text/Plain; charset=utf-8", "né".as_bytes());
    });
    let ended = fetch(&open_to(&server), &server.url("/a?b=c"));
    assert_eq!(ended.submissions, 1);
    assert_eq!(ended.value(), (page(&server, "/a?b=c", "né"), EffectState::Committed));
}

#[test]
fn a_page_that_is_missing_is_an_answer_too() {
    let server = Server::new(|_, stream| send(stream, "404 Not Found", b"\xff"));
    let (value, effect) = fetch(&open_to(&server), &server.url("/")).value();
    let expected = json!({"url": server.url("/"), "status": 404,
        "media_type": "application/octet-stream", "content": "/w==", "encoding": "base64",
        "size": 1, "more": false});
    assert_eq!((value, effect), (expected, EffectState::Committed));
}

#[test]
fn a_packed_page_is_unpacked() {
    const PACKED: [u8; 39] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 215, 81, 40, 72, 76, 206, 78, 77,
        81, 40, 207, 47, 202, 73, 1, 0, 72, 239, 46, 204, 19, 0, 0, 0,
    ];
    let server = Server::new(|_, stream| {
        send(stream, "200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip", &PACKED);
    });
    let value = fetch(&open_to(&server), &server.url("/")).value().0;
    assert_eq!(value, page(&server, "/", "hello, packed world"));
}

#[test]
fn fetch_truncates_body_at_five_megabytes_and_reports_more() {
    let server = Server::new(|path, stream| {
        let size = path.trim_start_matches('/').parse().unwrap();
        send(stream, "200 OK", &vec![b'x'; size]);
    });
    let most = 5 * 1024 * 1024;
    for (size, given, more) in [(most, most, false), (most + 1, most, true)] {
        let value = fetch(&open_to(&server), &server.url(&format!("/{size}"))).value().0;
        assert_eq!((&value["size"], &value["more"]), (&json!(given), &json!(more)));
        assert_eq!(value["content"].as_str().unwrap().len(), given);
    }
}

#[test]
fn redirects_are_followed_five_times() {
    let server = Server::new(|path, stream| {
        let left: u32 = path.trim_start_matches("/hop/").parse().unwrap();
        match left.checked_sub(1) {
            Some(next) => send(stream, &format!("302 Found\r\nLocation: {next}"), b""),
            None => send(stream, "200 OK\r\nContent-Type: text/plain", b"there"),
        }
    });
    let stage = open_to(&server);
    let ended = fetch(&stage, &server.url("/hop/5"));
    assert_eq!((ended.submissions, server.hits()), (1, 6));
    assert_eq!(ended.value().0, page(&server, "/hop/0", "there"));
    let message = "the answer points elsewhere more than 5 times".to_owned();
    let expected = (Code::ExecutionFailed, message, EffectState::Committed);
    assert_eq!(fetch(&stage, &server.url("/hop/6")).refusal(), expected);
}

#[test]
fn redirect_to_blocked_address_is_refused_without_request() {
    let closed = Server::new(|_, stream| send(stream, "200 OK", b"secret"));
    let port = closed.port;
    let server = Server::new(move |path, stream| {
        let target = match path {
            "/other" => format!("http://127.0.0.1:{port}/"),
            "/decimal" => format!("http://2130706433:{port}/"),
            "/mapped" => format!("//[::ffff:127.0.0.1]:{port}/"),
            "/name" => format!("http://localhost:{port}/"),
            "/metadata" => "http://169.254.169.254/latest/meta-data".to_owned(),
            "/file" => "file:///etc/passwd".to_owned(),
            _ => "http://name:word@example.com/".to_owned(),
        };
        send(stream, &format!("301 Moved\r\nLocation: {target}"), b"");
    });
    let stage = open_to(&server);
    let cases = [
        ("/other", Code::SandboxViolation),
        ("/decimal", Code::SandboxViolation),
        ("/mapped", Code::SandboxViolation),
        ("/name", Code::SandboxViolation),
        ("/metadata", Code::SandboxViolation),
        ("/file", Code::InputValue),
        ("/credentials", Code::InputValue),
    ];
    for (path, expected) in cases {
        let (code, message, effect) = fetch(&stage, &server.url(path)).refusal();
        assert_eq!((code, effect), (expected, EffectState::Committed), "{path}: {message}");
        assert!(!message.contains("word@"), "{message}");
    }
    assert_eq!(closed.hits(), 0);
}

#[test]
fn blocked_and_malformed_urls_are_refused_preflight_and_running() {
    let server = Server::new(|_, stream| send(stream, "200 OK", b"secret"));
    let stage = Stage::new();
    let port = server.port;
    let closed = [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "127.1",
        "017700000001",
        "[::ffff:127.0.0.1]",
        "[::1]",
        "0.0.0.0",
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "169.254.169.254",
        "10.0.0.1",
    ];
    let closed = closed.map(|host| (format!("http://{host}:{port}/"), Code::SandboxViolation));
    let odd = ["file:///etc/passwd", "gopher://example.com/", "ftp://example.com/", "example.com"];
    let odd = odd.map(|url| (url.to_owned(), Code::InputValue));
    let named = ["http://a@example.com/", "http://a:b@127.0.0.1/", "https://:b@example.com/"];
    let named = named.map(|url| (url.to_owned(), Code::InputValue));
    for (url, code) in closed.into_iter().chain(odd).chain(named) {
        let stop = stage.preflight("http.fetch", json!({"url": url})).unwrap_err();
        assert_eq!((stop.code, stop.field.as_deref()), (code, Some("/url")), "{url}");
        let ended = fetch(&stage, &url);
        assert_eq!(ended.submissions, 0);
        let refusal = ended.refusal();
        assert_eq!((refusal.0, refusal.2), (code, EffectState::NotSubmitted), "{url}");
    }
    assert_eq!(server.hits(), 0);
}

#[test]
fn dns_rebinding_reaches_only_the_address_checked_once() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    static PORT: AtomicUsize = AtomicUsize::new(0);
    /// Resolves to a public address on the first lookup, and to this machine afterwards.
    fn rebinding(_: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let public = ASKED.fetch_add(1, Ordering::SeqCst) == 0;
        PORT.store(usize::from(port), Ordering::SeqCst);
        let address = if public { [192, 0, 2, 1] } else { [127, 0, 0, 1] };
        Ok(vec![SocketAddr::from((address, port))])
    }
    fn local(_: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let public = SocketAddr::from(([8, 8, 8, 8], port));
        Ok(vec![public, SocketAddr::from(([127, 0, 0, 1], port))])
    }
    fn unknown(_: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        Err(io::Error::other("no such name"))
    }
    let server = Server::new(|_, stream| {
        send(stream, "200 OK\r\nContent-Type: text/plain", b"by name");
    });
    let url = format!("http://name.example:{}/", server.port);
    let with = |guard: AddressGuard, lookup| {
        let mut stage = Stage::guarded(Folder::new(), guard);
        stage.builtin = stage.builtin.looking_up(lookup);
        fetch(&stage, &url)
    };

    let refusal = with(AddressGuard::public(), local).refusal();
    let message = "`name.example` may not be reached: it is this machine".to_owned();
    assert_eq!(refusal, (Code::SandboxViolation, message, EffectState::NotSubmitted));

    let failure = with(AddressGuard::public(), unknown).result.unwrap_err();
    assert_eq!(failure.stop.blame, Blame::Request, "the name is the caller's choice");
    let refusal = with(AddressGuard::public(), unknown).refusal();
    let message = "`name.example` cannot be looked up".to_owned();
    assert_eq!(refusal, (Code::DependencyUnavailable, message, EffectState::NotSubmitted));

    // The first answer is blocked as well, so nothing leaves this machine.
    let (code, ..) = with(AddressGuard::public(), rebinding).refusal();
    assert_eq!((code, ASKED.load(Ordering::SeqCst)), (Code::SandboxViolation, 1));
    assert_eq!(server.hits(), 0);

    let opened = AddressGuard::public().allowing("name.example", server.port);
    let value = with(opened, rebinding).value().0;
    assert_eq!((&value["content"], ASKED.load(Ordering::SeqCst)), (&json!("by name"), 2));
    assert_eq!(PORT.load(Ordering::SeqCst), usize::from(server.port));
}

#[test]
fn a_host_that_cannot_be_reached_was_sent_nothing() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let guard = AddressGuard::public().allowing("127.0.0.1", gone);
    let stage = Stage::guarded(Folder::new(), guard);
    let ended = fetch(&stage, &format!("http://127.0.0.1:{gone}/"));
    assert_eq!(ended.submissions, 0);
    let message = "`127.0.0.1` cannot be reached".to_owned();
    let expected = (Code::DependencyUnavailable, message, EffectState::NotSubmitted);
    assert_eq!(ended.refusal(), expected);
}

#[test]
fn server_without_tls_receives_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        send(&mut stream, "200 OK", b"secret");
    });
    let guard = AddressGuard::public().allowing("127.0.0.1", port);
    let stage = Stage::guarded(Folder::new(), guard);
    let ended = fetch(&stage, &format!("https://127.0.0.1:{port}/"));
    answering.join().unwrap();
    assert_eq!(ended.submissions, 0);
    let message = "`127.0.0.1` cannot be reached".to_owned();
    let expected = (Code::DependencyUnavailable, message, EffectState::NotSubmitted);
    assert_eq!(ended.refusal(), expected);
}

#[test]
fn a_submission_that_is_not_recorded_sends_nothing() {
    let server = Server::new(|_, stream| send(stream, "200 OK", b""));
    let stage = open_to(&server);
    let input = json!({"url": server.url("/")});
    let mut refuse = |_: &Cancel| Err(Stop::new(Code::Internal, "the disk is full"));
    let failure = stage.run_around("http.fetch", input, &mut refuse).failure();
    assert_eq!(
        (failure.stop.message.as_str(), failure.effect),
        ("the disk is full", EffectState::NotSubmitted)
    );
    assert_eq!(server.hits(), 0);
}

#[test]
fn slow_server_is_left_at_timeout_or_cancellation() {
    let server = Server::new(|path, stream| {
        if path == "/half" {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").unwrap();
        }
        until_gone(stream);
    });
    let stage = open_to(&server);
    let late = "time ran out before the whole answer was there";
    let timeout = Code::TimeoutUnknownCommit;
    let cases = [
        ("/", 300, false, timeout, late, EffectState::Unknown),
        ("/half", 300, false, timeout, late, EffectState::Committed),
        ("/", 30_000, true, Code::CanceledCaller, "it was called off", EffectState::NotCommitted),
    ];
    for (path, patience, cancel, code, message, effect) in cases {
        let start = Instant::now();
        let around = Around {
            patience: Duration::from_millis(patience),
            cancel: Cancel::new(),
            on_submit: &mut |token| {
                if cancel {
                    token.cancel();
                }
                Ok(())
            },
        };
        let ended = stage.run_with("http.fetch", json!({"url": server.url(path)}), around);
        assert!(start.elapsed() < Duration::from_secs(3), "{path}");
        assert_eq!((ended.submissions, ended.cancel_heard), (1, cancel), "{path}");
        let refusal = ended.refusal();
        if cancel {
            // The request may have been sent before the cancellation arrived.
            assert_eq!((refusal.0, refusal.1.as_str()), (code, message));
        } else {
            assert_eq!(refusal, (code, message.to_owned(), effect), "{path}");
        }
    }
}

#[test]
fn read_only_contract_reports_no_effect() {
    let server = Server::new(|path, stream| {
        if path == "/half" {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").unwrap();
        } else {
            send(stream, "200 OK", b"");
        }
    });
    let stage = Stage { read_only: haft_model::Tri::Yes, ..open_to(&server) };
    assert_eq!(fetch(&stage, &server.url("/")).value().1, EffectState::None);
    assert_eq!(fetch(&stage, &server.url("/half")).failure().effect, EffectState::None);
    let closed = fetch(&stage, "http://127.0.0.1/").failure();
    assert_eq!(closed.effect, EffectState::NotSubmitted);
}

#[test]
fn truncated_or_garbled_response_fails_after_submission() {
    let server = Server::new(|path, stream| {
        if path == "/half" {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").unwrap();
        } else {
            stream.write_all(b"nonsense\r\n\r\n").unwrap();
        }
    });
    let stage = open_to(&server);
    let cases = [
        ("/half", "the answer of `127.0.0.1` broke off", EffectState::Committed),
        ("/", "`127.0.0.1` did not answer as a web server does", EffectState::Unknown),
    ];
    for (path, message, effect) in cases {
        let expected = (Code::ExecutionFailed, message.to_owned(), effect);
        assert_eq!(fetch(&stage, &server.url(path)).refusal(), expected);
    }
}

#[test]
fn each_fetched_host_is_a_destination_of_its_own() {
    let stage = Stage::guarded(Folder::new(), AddressGuard::public());
    let of = |tool: &str, input| stage.builtin.destination(&ToolKey::new(tool, 1), &input);
    for (url, expected) in [
        ("https://One.example/a", Some("one.example:443")),
        ("http://one.example/b?c", Some("one.example:80")),
        ("http://one.example:8080/", Some("one.example:8080")),
        ("no address", None),
    ] {
        assert_eq!(of("http.fetch", json!({ "url": url })).as_deref(), expected, "{url}");
    }
    assert_eq!(of("fs.read", json!({ "path": "a", "url": "http://one.example/" })), None);
}
