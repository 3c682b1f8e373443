//! Number precision: numbers are exact from the caller's text to the driver, or the call is
//! refused.

use haft_driver::HookAnswer;
use haft_model::{Call, Code, Digest, Envelope, HookPoint};
use haft_runtime::{CallOptions, Patience, Reply};
use haft_testkit::{NumberTexts, decimal};
use serde_json::{Value, json};

use crate::stage::*;

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

fn pay(haft: &str) -> Stage {
    Setting::default().tool("pay", &extras(WRITE, haft)).settings(ALLOW).open()
}

async fn sent(stage: &Stage, text: &str, key: Option<&str>) -> Envelope {
    let mut call = Call::new(stage.agent(), "pay", Value::Null);
    call.sent = Some(text.to_owned());
    call.key = key.map(str::to_owned);
    stage.host.call(call).await
}

fn refusal(envelope: &Envelope) -> Option<(Code, String, String)> {
    let error = envelope.error.clone()?;
    Some((error.error_code, error.field.unwrap_or_default(), error.help.unwrap_or_default()))
}

fn inexact(field: &str) -> Option<(Code, String, String)> {
    Some((Code::InputNumberNotExact, field.to_owned(), "send it as a string".to_owned()))
}

#[tokio::test]
async fn an_accepted_number_reaches_driver_and_store_unchanged() {
    let stage = pay("{}");
    let (mut accepted, mut refused) = (0, 0);
    for (index, number) in NumberTexts(0x1234_5678_9abc_def1).take(300).enumerate() {
        let text = format!("{{\"list\": [{{\"n\": {number}}}]}}");
        let envelope = sent(&stage, &text, Some(&format!("k{index}"))).await;
        if let Some(refusal) = refusal(&envelope) {
            assert_eq!(Some(refusal), inexact("/list/0/n"), "{number}");
            refused += 1;
            continue;
        }
        accepted += 1;
        let written = decimal(&number);
        let given = stage.canary.inputs().pop().unwrap();
        assert_eq!(decimal(&given["list"][0]["n"].to_string()), written, "{number} at the driver");
        let shown = envelope.structured_content.unwrap();
        assert_eq!(decimal(&shown["list"][0]["n"].to_string()), written, "{number} in the result");
        let kept = stage.host.reader().payload(&envelope.invocation_id, &Digest::of(&given)).await;
        let kept: String = String::from_utf8(kept.unwrap().unwrap()).unwrap();
        let kept = kept.split(':').next_back().unwrap().trim_end_matches(['}', ']']);
        assert_eq!(decimal(kept), written, "{number} in the store");
    }
    assert_eq!(stage.canary.count(), accepted);
    assert!(accepted > 60 && refused > 60, "{accepted} accepted, {refused} refused");
}

#[tokio::test]
async fn ids_beyond_53_bits_never_share_an_intent() {
    let stage = pay("{}");
    let ids: Vec<u64> = (0..24).map(|n| 9_007_199_254_740_984 + n).collect();
    for key in [None, Some("k")] {
        let mut reached = Vec::new();
        for id in &ids {
            let key = key.map(|key| format!("{key}{}", id / 4));
            let envelope = sent(&stage, &format!("{{\"id\":{id}}}"), key.as_deref()).await;
            match refusal(&envelope) {
                None => {
                    assert!(!envelope.replayed, "{id} is answered as another");
                    assert_eq!(envelope.structured_content.unwrap()["id"], json!(id));
                    reached.push(*id);
                }
                // A key that meant another id is a conflict, and that is told.
                Some((Code::Conflict, ..)) => assert!(key.is_some(), "{id}"),
                other => assert_eq!(other, inexact("/id"), "{id}"),
            }
        }
        assert!(reached.len() > 4, "{reached:?}");
    }
}

#[tokio::test]
async fn values_of_programs_are_exact_or_refused_too() {
    let stage = pay("{}");
    let refused = stage.call("pay", json!({"a": [{"id": 1_234_567_890_123_456_789_u64}]})).await;
    assert_eq!(refusal(&refused), inexact("/a/0/id"));
    let mut call = Call::new(stage.agent(), "pay", json!({}));
    call.context = json!({"trace": 9_007_199_254_740_993_u64});
    let refused = stage.host.call(call).await;
    assert_eq!(refusal(&refused), inexact("context"));
    assert_eq!(stage.canary.count(), 0);
    let facts = stage.facts(&refused.invocation_id).await;
    assert!(!facts.is_empty(), "a refusal is on record");
}

#[tokio::test]
async fn equal_numbers_are_one_intent_however_spelled() {
    let stage = pay("{ idempotency: { key: \"charge-${input.id}\" } }");
    let first = sent(&stage, "{\"id\": 1}", None).await;
    assert_eq!(first.error, None);
    for text in ["{\"id\": 1.0}", "{\"id\": 10e-1}", "{\"id\": 0.01e2}"] {
        let again = sent(&stage, text, None).await;
        assert_eq!(
            (again.error, again.invocation_id),
            (None, first.invocation_id.clone()),
            "{text}"
        );
    }
    assert_eq!(stage.canary.inputs(), [json!({"id": 1})]);
}

#[tokio::test]
async fn a_key_that_comes_twice_is_refused() {
    let stage = pay("{}");
    let refused = sent(&stage, "{\"to\": \"ana\", \"to\": \"eve\"}", None).await;
    let error = refused.error.unwrap();
    assert_eq!((error.error_code, error.field.as_deref()), (Code::InputSchema, Some("/to")));
    assert_eq!(stage.canary.count(), 0);
}

#[tokio::test]
async fn hooks_and_people_change_no_number_unseen() {
    let big = || json!({"id": 9_007_199_254_740_993_u64});
    let hook = Scripted::new("rounds", HookPoint::PreToolUse, move |_| {
        Ok(HookAnswer { updated_input: Some(big()), ..HookAnswer::default() })
    });
    let stage = Setting::default().tool("pay", WRITE).settings(ALLOW).hook(hook).open();
    let error = stage.call("pay", json!({"id": 1})).await.error.unwrap();
    assert_eq!(error.error_code, Code::InputMutation);
    assert!(error.message.contains("9007199254740993"), "{}", error.message);
    let stage = Setting::default().tool("pay", WRITE).open();
    let manner = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
    let call = Call::new(stage.agent(), "pay", json!({"id": 1}));
    let pending = stage.host.runtime().call(call, manner).await;
    let reply = Reply { edited_input: Some(big()), ..stage.yes() };
    let question = pending.approval_id.unwrap();
    let refused = stage.host.runtime().answer_and_run(&question, reply).await.unwrap_err();
    assert_eq!((refused.code, refused.field.as_deref()), (Code::InputNumberNotExact, Some("/id")));
    assert_eq!(stage.canary.count(), 0);
}

#[tokio::test]
async fn a_sensitive_number_that_is_refused_is_not_shown() {
    let stage = pay("{ data: { sensitive: [/card] } }");
    let refused = sent(&stage, "{\"card\": 4111111111111111.00000001}", None).await;
    let told = serde_json::to_string(&refused).unwrap();
    assert_eq!(refusal(&refused).map(|(code, ..)| code), Some(Code::InputNumberNotExact));
    assert!(!told.contains("4111111111111111"), "{told}");
}
