//! Answers that are lost: what was surely not sent, and of what nobody knows what became.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use haft_driver::Cancel;
use haft_model::{Code, EffectState, Stop};
use haft_testkit::{Act, Then};
use serde_json::json;

use crate::stage::Stage;

#[test]
fn where_nobody_listens_nothing_was_submitted() {
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
    // What it was sent is the beginning of a handshake.
    assert_eq!(server.join().unwrap()[..2], [0x16, 0x03]);
}

#[test]
fn a_write_whose_answer_is_lost_is_unknown_whether_or_not_it_took_place() {
    for then in [Then::Reset, Then::Close, Then::Garbage, Then::Half(500), Then::Half(404)] {
        for act in [Act::commits(then.clone()), Act::refuses(then.clone())] {
            let stage = Stage::writing(json!({}));
            stage.backend.will(act.clone());
            let (_, effect, submissions) = stage.run(json!({})).fate();
            assert_eq!((effect, submissions), (EffectState::Unknown, 1), "{act:?}");
            // Nobody sends a write twice behind our back.
            assert_eq!(stage.backend.heard().len(), 1, "{act:?}");
        }
    }
}

#[test]
fn a_write_whose_answer_breaks_off_after_its_status_took_place() {
    let stage = Stage::writing(json!({}));
    stage.backend.will(Act::commits(Then::Half(200)));
    let fate = stage.run(json!({})).fate();
    assert_eq!(fate, (Code::OutputInvalid, EffectState::Committed, 1));
}

#[test]
fn a_write_that_is_late_is_told_by_how_far_it_got() {
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
fn a_submission_that_is_not_recorded_sends_nothing_in_either_manner() {
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
fn a_submission_comes_after_connecting_unless_the_manifest_wants_it_before() {
    for (submitted, connections) in [("on_connect", 0), ("on_write", 1)] {
        let stage = Stage::writing(json!({})).haft(json!({"submitted": submitted}));
        let mut seen = None;
        let mut look = || {
            // The connection may be taken a moment after it stands.
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
fn a_call_that_is_called_off_before_its_connection_is_unsent_and_after_it_unknown() {
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
fn a_get_that_may_change_something_is_a_write_and_a_post_that_may_not_is_a_read() {
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
