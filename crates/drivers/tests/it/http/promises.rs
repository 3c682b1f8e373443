//! Driver conformance of the http driver.

use haft_driver::conformance::{
    ConformanceCase, Hostile, Ill, check, check_clearance, hardened, left,
};
use haft_testkit::{Act, Then};
use serde_json::json;

use crate::http::stage::Stage;
use crate::plans::permit;

/// The rounds in which a case reaches the backend, and some to spare.
const ROUNDS: usize = 8;

fn hold(name: &str, stage: &Stage, act: Option<Act>) {
    for act in act.into_iter().cycle().take(ROUNDS) {
        stage.backend.will(act);
    }
    let plan = stage.plan(json!({"order": "o1"}));
    let permit = permit(&plan);
    let effects = || stage.backend.effects();
    let case = ConformanceCase {
        name,
        plan: &plan,
        permit: &permit,
        most_bytes: 1000,
        effects: Some(&effects),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(check(&stage.driver(), &[case])), [], "{name}");
}

#[test]
fn a_read_keeps_the_promises_of_a_driver() {
    hold("a read", &Stage::reading(json!({})), None);
    hold("a slow read", &Stage::reading(json!({})), Some(Act::refuses(Then::Hang)));
}

#[test]
fn write_meets_driver_conformance_however_it_is_answered() {
    for submitted in ["on_write", "on_connect"] {
        let stage = || Stage::writing(json!({})).haft(json!({"submitted": submitted}));
        hold("a write", &stage(), None);
        hold("a write that is reset", &stage(), Some(Act::commits(Then::Reset)));
        hold("a write that is refused", &stage(), Some(Act::refuses(Then::status(422))));
        hold("a write whose gateway fails", &stage(), Some(Act::commits(Then::status(502))));
        hold("a write that floods", &stage(), Some(Act::commits(Then::Flood(200))));
    }
}

#[test]
fn hanging_write_meets_driver_conformance() {
    hold("a write that hangs", &Stage::writing(json!({})), Some(Act::commits(Then::Hang)));
}

#[test]
fn expired_clearance_sends_no_request() {
    for (submitted, method) in
        [("on_write", "POST"), ("on_connect", "POST"), ("on_write", "DELETE")]
    {
        let stage = Stage::writing(json!({"method": method})).haft(json!({"submitted": submitted}));
        let plan = stage.plan(json!({"order": "o1"}));
        let (permit, effects) = (permit(&plan), || stage.backend.heard().len());
        let effects: Option<&(dyn Fn() -> usize + Sync)> = Some(&effects);
        let case = ConformanceCase {
            name: method,
            plan: &plan,
            permit: &permit,
            most_bytes: 1000,
            effects,
        };
        let (driver, runtime) = (stage.driver(), tokio::runtime::Builder::new_current_thread());
        let runtime = { runtime }.enable_all().build().unwrap();
        // The second time over the connection that the first one left.
        for _ in 0..2 {
            assert_eq!(runtime.block_on(check_clearance(&driver, &[case])), [], "{submitted}");
        }
    }
}

const SECRETS: [(&str, &str); 1] = [("KEY", "open-sesame")];

/// Entries that read and entries that write, each plain and as a stream.
fn stages() -> Vec<Stage> {
    let http =
        json!({"headers": {"X-Key": "${secrets.KEY}"}, "query_template": {"k": "${secrets.KEY}"}});
    let mut streaming = http.clone();
    streaming["streaming"] = json!({"transport": "ndjson"});
    vec![
        Stage::reading(http.clone()),
        Stage::writing(http),
        Stage::reading(streaming.clone()),
        Stage::writing(streaming),
    ]
}

#[test]
fn driver_meets_conformance_with_hostile_backend() {
    let text = |media_type, body: &[u8]| Then::Answer(200, media_type, body.to_vec());
    let json_type = "Content-Type: application/json\r\n";
    let echo = br#"{"heard":"open-sesame"}"#;
    // The last field: whether the connection is closed, so that none can be reused.
    for (ill, then, over) in [
        (Ill::Well, Then::Id, false),
        (Ill::Well, text(json_type, echo), false),
        (Ill::Lies, Then::Garbage, true),
        (Ill::Hangs, Then::Hang, true),
        (Ill::Hangs, Then::Drip(200), true),
        (Ill::Floods, Then::Flood(200), true),
        (Ill::ClosesEarly, Then::Half(200), true),
        (Ill::ClosesEarly, Then::Reset, true),
        (Ill::ClosesEarly, Then::Close, true),
        (Ill::WrongType, text("Content-Type: application/json\r\n", b"<html>"), false),
        (Ill::WrongType, text("Content-Type: application/json\r\n", b"\xff"), false),
    ] {
        for stage in stages() {
            let echoes = matches!(&then, Then::Answer(_, _, body) if body == echo);
            let reads = stage.read_only == haft_model::Tri::Yes;
            let act = if reads { Act::refuses } else { Act::commits };
            stage.backend.will(act(then.clone()));
            let plan = stage.plan(json!({"order": "o1"}));
            let (permit, effects) = (permit(&plan), || stage.backend.effects());
            let name =
                format!("{then:?} of {}", stage.manifest["implements"][0]["metadata"]["http"]);
            let effects: Option<&(dyn Fn() -> usize + Sync)> = Some(&effects);
            let case = ConformanceCase {
                name: &name,
                plan: &plan,
                permit: &permit,
                most_bytes: 1000,
                effects,
            };
            let mut hostile = Hostile::new(case, ill).with_secrets(&SECRETS);
            hostile = if echoes { hostile.whose_backend_echoes() } else { hostile };
            hostile = if over { hostile.leaving_nothing_of(&left::open_files) } else { hostile };
            let patience = if ill == Ill::Hangs { 300 } else { 8000 };
            hostile = hostile.within(std::time::Duration::from_millis(patience));
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let breaches = runtime.unwrap().block_on(hardened(&stage.driver(), &[hostile]));
            assert_eq!(breaches, []);
        }
    }
}
