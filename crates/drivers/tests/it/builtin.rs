//! Tests of the builtin tools, with real folders and a local server.

mod fetching;
mod governing;
mod judged;
mod links;
mod listing;
mod promises;
mod reading;
mod searching;
mod server;
mod stage;
mod writing;

use haft_drivers::Builtin;
use haft_model::{Code, EffectState};
use serde_json::json;

use stage::Stage;

#[test]
fn the_time_is_what_the_clock_says() {
    let ended = Stage::new().run("time.now", json!({}));
    let expected = json!({"utc": "2026-01-31T12:00:00.123Z", "unix_ms": 1_769_860_800_123_i64});
    assert_eq!(ended.value(), (expected, EffectState::None));
}

#[test]
fn every_tool_it_names_is_one_it_knows() {
    let stage = Stage::new();
    for tool in Builtin::tools() {
        let known = stage.preflight(tool, json!({})).err().map(|stop| stop.code);
        assert_ne!(known, Some(Code::RouteNone), "{tool}");
    }
    let unknown = stage.preflight("fs.burn", json!({})).unwrap_err();
    assert_eq!(
        (unknown.code, unknown.message.as_str()),
        (Code::RouteNone, "there is no builtin tool `fs.burn`")
    );
    let failure = stage.run("fs.burn", json!({})).failure();
    assert_eq!((failure.stop.code, failure.effect), (Code::RouteNone, EffectState::NotSubmitted));
}
