//! Agent tests: agents with a scripted model read, ask a person and write once, by tools that they
//! are shown and by tools that they search and load first.

use serde_json::json;

use crate::clients::deferred::OURS;
use crate::clients::installed::{LANGGRAPH, MODERN, OPENAI, Python};
use crate::clients::notes::{Shown, approve, notes};
use crate::clients::script::{Era, Over, Script, without_ids};

/// An agent finishes what it was told to do, and what it is told on the way is what the others are.
#[track_caller]
fn finishes(script: &'static str, python: &Python, over: Over) {
    for shown in [Shown::All, Shown::Few] {
        let folder = notes(shown);
        let reached = over.reach(&folder, Era::Auto, shown);
        let mut script = Script::python(script, python, &reached.told);
        match shown {
            Shown::All => assert_eq!(
                script.next("tools"),
                json!(["note_add", "note_count", "note_list", "note_read"])
            ),
            Shown::Few => {
                let mut ours = OURS;
                ours.sort_unstable();
                assert_eq!(script.next("tools"), json!(ours));
                assert_eq!(script.next("found"), json!(["note_add", "note_list", "note_read"]));
            }
        }
        let asked = script.raw("asked");
        let says = "agent:local wants to use note.add@1: approval is `always`";
        assert_eq!(without_ids(&asked), format!("{says}; a person has to decide (apr_[id])"));
        assert_eq!(folder.read("canary.txt"), "", "nothing is done before somebody says yes");
        approve(&folder, &asked);
        script.go_on();
        assert_eq!(script.next("said"), json!("Oil the walnut tray. Oiled."));
        script.end();
        assert_eq!(folder.read("canary.txt"), "Oiled.\n");
    }
}

#[test]
fn pydantic_ai_agent_finishes_task_over_http() {
    finishes("agent_pydantic.py", &MODERN, Over::Http);
}

#[test]
fn pydantic_ai_agent_finishes_task_over_stdio() {
    finishes("agent_pydantic.py", &MODERN, Over::Stdio);
}

#[test]
fn openai_agents_agent_finishes_task_over_http() {
    finishes("agent_openai.py", &OPENAI, Over::Http);
}

#[test]
fn openai_agents_agent_finishes_task_over_stdio() {
    finishes("agent_openai.py", &OPENAI, Over::Stdio);
}

#[test]
fn an_agent_of_langgraph_finishes_its_task_over_http() {
    finishes("agent_langgraph.py", &LANGGRAPH, Over::Http);
}

#[test]
fn an_agent_of_langgraph_finishes_its_task_over_stdio() {
    finishes("agent_langgraph.py", &LANGGRAPH, Over::Stdio);
}
