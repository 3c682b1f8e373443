//! Tests of untrusted tool descriptions: a server's claims are recorded and never believed.

use std::sync::{Arc, Mutex};

use haft_driver::Cancel;
use haft_drivers::mcp::{Sight, ToolStanding, Witness};
use haft_model::{Code, EffectState};
use serde_json::json;

use crate::mcp::stage::Stage;

#[test]
fn missing_server_tool_is_refused_naming_existing_ones() {
    let mut stage = Stage::writing("gone", &[]);
    let ended = stage.run(json!({}));
    let submissions = ended.submissions;
    let failure = ended.failure();
    assert_eq!(failure.stop.message, "the server of driver `test` has no tool `gone`");
    let help = failure.stop.help.unwrap();
    assert!(help.starts_with("it has `add`, `ask`, `change`, `echo`"), "{help}");
    let fate = (failure.stop.code, failure.effect, submissions);
    assert_eq!(fate, (Code::SetupRequired, EffectState::NotSubmitted, 0));
}

#[test]
fn call_lacking_input_required_by_server_is_refused() {
    let mut stage = Stage::writing("echo", &[]);
    let failure = stage.run(json!({"word": "x"})).failure();
    let words =
        "the server of driver `test` requires `text` of `echo`, and the call does not send it";
    assert_eq!((failure.stop.code, failure.stop.message.as_str()), (Code::SetupRequired, words));
    assert_eq!(failure.effect, EffectState::NotSubmitted);
}

#[test]
fn changed_upstream_tool_is_refused_until_reaccepted() {
    let mut stage = Stage::reading("echo", &[]);
    stage.run(json!({"text": "a"})).output();
    stage.manifest["implements"][0]["metadata"]["mcp"]["tool_name"] = json!("change");
    // A new driver is another witness, so the one that saw the first list stays.
    let known: Arc<Mutex<Vec<Sight>>> = Arc::default();
    let witness: Witness = {
        let known = known.clone();
        Arc::new(move |sight: &Sight| {
            let mut known = known.lock().unwrap();
            match known.iter().find(|known| known.tool == sight.tool) {
                Some(known) if known.digest != sight.digest => ToolStanding::Changed,
                Some(_) => ToolStanding::Accepted,
                None => {
                    known.push(sight.clone());
                    ToolStanding::Accepted
                }
            }
        })
    };
    let mut stage = Stage::reading("echo", &["described=Says it once."]);
    let driver = stage.fresh().witnessed_by(witness.clone());
    let call = |stage: &Stage, driver: &_| {
        let plan = stage.plan_of(json!({"text": "a"}));
        stage.runtime.block_on(stage.call(driver, plan, &Cancel::new(), &mut || Ok(())))
    };
    call(&stage, &driver).output();
    stage.manifest["server"]["args"] = json!(["described=Sends it to everybody."]);
    let changed = stage.fresh().witnessed_by(witness);
    let failure = call(&stage, &changed).failure();
    let words = "the server of driver `test` changed its tool `echo` since it was accepted";
    assert_eq!((failure.stop.code, failure.stop.message.as_str()), (Code::ToolBlocked, words));
    let help = "look at what it says now, then `haft accept test.tool@1`";
    assert_eq!(failure.stop.help.as_deref(), Some(help));
    known.lock().unwrap().clear();
    call(&stage, &changed).output();
    let _inside = stage.runtime.enter();
    drop((driver, changed));
}

#[test]
fn list_changed_notification_triggers_one_relist() {
    let mut stage = Stage::reading("change", &[]);
    stage.manifest["implements"][1]["metadata"]["mcp"]["tool_name"] = json!("journal");
    stage.run(json!({"text": "Another."})).output();
    let lists = |heard: Vec<String>| heard.iter().filter(|heard| *heard == "tools/list").count();
    // A notification arrives at any time, and then the tools are listed once.
    let looked = (0..200).map(|_| lists(stage.journal())).find(|times| *times > 1);
    assert_eq!(looked, Some(2));
    assert_eq!(lists(stage.journal()), 2);
}
