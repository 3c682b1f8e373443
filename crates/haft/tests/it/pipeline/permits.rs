//! Permit tests: a permit is for one exact plan.

use std::sync::{Arc, Mutex};

use haft_driver::{Attempt, Cancel, Link, Output};
use haft_model::{Code, Digest};
use serde_json::json;

use crate::stage::{READ, Setting};

#[tokio::test]
async fn permit_refuses_plan_digest_differing_in_one_byte() {
    let refused: Arc<Mutex<Vec<Option<Code>>>> = Arc::default();
    let seen = refused.clone();
    let stage = Setting::default()
        .tool("note.show", READ)
        .act("note.show", move |attempt| {
            let text = attempt.plan.digest.to_string();
            let changed = (0..text.len()).map(|at| {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1;
                let mut plan = attempt.plan.clone();
                plan.digest = Digest::from(String::from_utf8(bytes).unwrap().as_str());
                plan
            });
            let tried = |plan: &haft_model::Plan| {
                let (link, _) = Link::new();
                let deadline = attempt.deadline;
                Attempt::new(attempt.permit(), plan, 1, deadline, Cancel::new(), link)
                    .err()
                    .map(|stop| stop.code)
            };
            let mut answers: Vec<_> = changed.map(|plan| tried(&plan)).collect();
            answers.push(tried(attempt.plan));
            *seen.lock().unwrap() = answers;
            Box::pin(async { Ok(Output::read(json!({}))) })
        })
        .open();
    stage.call("note.show", json!({"a": 1})).await;
    let mut expected = vec![Some(Code::Internal); "sha256:".len() + 64];
    expected.push(None);
    assert_eq!(*refused.lock().unwrap(), expected);
}
