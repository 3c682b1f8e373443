//! Tests of lost responses: which requests were surely not sent, and whose effect is unknown.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use haft_driver::Cancel;
use haft_model::{Code, EffectState, Stop};
use haft_testkit::{Act, Then};
use serde_json::json;

use crate::http::stage::Stage;

#[test]
fn refused_connection_submits_nothing() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut stage = Stage::writing(json!({}))
        .with("base_url", json!(format!("http://{closed}")))
        .with("network", json!({"egress": [closed]}));
    stage.network = vec![closed];
    let (code, effect, submissions) = stage.run(json!({})).fate();
    assert_eq!(
        (code, effect, submissions),
        (Code::DependencyUnavailable, EffectState::NotSubmitted, 0)
    );
}

#[test]
fn a_server_that_speaks_no_tls_gets_no_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut greeting = [0; 5];
        stream.read_exact(&mut greeting).unwrap();
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        greeting
    });
    let mut stage = Stage::writing(json!({}))
        .with("base_url", json!(format!("https://{host}")))
        .with("network", json!({"egress": [host]}));
    stage.network = vec![host];
    let fate = stage.run(json!({})).fate();
    assert_eq!(fate, (Code::DependencyUnavailable, EffectState::NotSubmitted, 0));
    // The server received the beginning of a TLS handshake.
    assert_eq!(server.join().unwrap()[..2], [0x16, 0x03]);
}

#[test]
fn write_with_lost_answer_is_unknown_committed_or_not() {
    for then in [Then::Reset, Then::Close, Then::Garbage, Then::Half(500), Then::Half(404)] {
        for act in [Act::commits(then.clone()), Act::refuses(then.clone())] {
            let stage = Stage::writing(json!({}));
            stage.backend.will(act.clone());
            let (_, effect, submissions) = stage.run(json!({})).fate();
            assert_eq!((effect, submissions), (EffectState::Unknown, 1), "{act:?}");
            // The HTTP client does not retry a write.
            assert_eq!(stage.backend.heard().len(), 1, "{act:?}");
        }
    }
}

#[test]
fn write_truncated_after_success_status_is_committed() {
    let stage = Stage::writing(json!({}));
    stage.backend.will(Act::commits(Then::Half(200)));
    let fate = stage.run(json!({})).fate();
    assert_eq!(fate, (Code::OutputInvalid, EffectState::Committed, 1));
}

#[test]
fn timed_out_write_reports_effect_by_its_progress() {
    for (then, expected) in [
        (Then::Hang, (Code::TimeoutUnknownCommit, EffectState::Unknown, 1)),
        (Then::Drip(503), (Code::TimeoutUnknownCommit, EffectState::Unknown, 1)),
        (Then::Drip(200), (Code::OutputInvalid, EffectState::Committed, 1)),
    ] {
        let mut stage = Stage::writing(json!({}));
        stage.patience = Duration::from_millis(300);
        stage.backend.will(Act::commits(then.clone()));
        assert_eq!(stage.run(json!({})).fate(), expected, "{then:?}");
    }
    let mut read = Stage::reading(json!({}));
    read.patience = Duration::from_millis(100);
    read.backend.will(Act::refuses(Then::Hang));
    let fate = read.run(json!({})).fate();
    assert_eq!(fate, (Code::TimeoutUnknownCommit, EffectState::None, 0), "it was sent");
}

#[test]
fn unrecorded_submission_sends_nothing_in_either_mode() {
    for submitted in ["on_connect", "on_write"] {
        let stage = Stage::writing(json!({})).haft(json!({"submitted": submitted}));
        let mut refuse = || Err(Stop::new(Code::Internal, "the disk is full"));
        let ended = stage.run_around(json!({}), &Cancel::new(), &mut refuse);
        assert_eq!(ended.submissions, 1, "{submitted}");
        let failure = ended.failure();
        assert_eq!(
            (failure.stop.message.as_str(), failure.effect),
            ("the disk is full", EffectState::NotSubmitted),
            "{submitted}"
        );
        assert_eq!(stage.backend.heard(), [], "{submitted}");
    }
}

#[test]
fn submission_follows_connecting_unless_manifest_wants_it_before() {
    for (submitted, connections) in [("on_connect", 0), ("on_write", 1)] {
        let stage = Stage::writing(json!({})).haft(json!({"submitted": submitted}));
        let mut seen = None;
        let mut look = || {
            // The server may accept the connection a moment after it is established.
            while connections > stage.backend.connections() {
                std::thread::yield_now();
            }
            seen = Some((stage.backend.connections(), stage.backend.heard().len()));
            Ok(())
        };
        stage.run_around(json!({}), &Cancel::new(), &mut look).output();
        assert_eq!(seen, Some((connections, 0)), "{submitted}");
    }
}

#[test]
fn cancellation_before_connecting_is_unsent_and_after_is_unknown() {
    let stage = Stage::writing(json!({}));
    let cancel = Cancel::new();
    cancel.cancel();
    let before = stage.run_around(json!({}), &cancel, &mut || Ok(())).fate();
    assert_eq!(before, (Code::CanceledCaller, EffectState::NotSubmitted, 0));
    assert_eq!(stage.backend.connections(), 0);

    stage.backend.will(Act::commits(Then::Hang));
    let cancel = Cancel::new();
    let after = std::thread::scope(|scope| {
        scope.spawn(|| {
            stage.backend.wait_for(1);
            cancel.cancel();
        });
        stage.run_around(json!({}), &cancel, &mut || Ok(())).fate()
    });
    assert_eq!(after, (Code::CanceledCaller, EffectState::Unknown, 1));
}

#[test]
fn contract_not_http_method_decides_read_or_write() {
    use haft_model::Tri;
    let mut get = Stage::reading(json!({}));
    get.read_only = Tri::Unknown;
    get.backend.will(Act::commits(Then::Reset));
    let (_, effect, submissions) = get.run(json!({})).fate();
    assert_eq!((effect, submissions), (EffectState::Unknown, 1));
    let mut post = Stage::writing(json!({}));
    post.read_only = Tri::Yes;
    post.backend.will(Act::refuses(Then::status(503)));
    assert_eq!(post.run(json!({})).fate().1, EffectState::None);
}
