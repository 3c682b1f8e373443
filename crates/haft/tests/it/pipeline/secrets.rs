//! Redaction tests: sensitive values appear in no entry, envelope, question, error or event.

use haft_driver::{Failure, HookAnswer, Output};
use haft_model::{Call, Code, Content, EffectState, Envelope, HookPoint, Link, Progress, Stop};
use haft_runtime::{CallOptions, Patience};
use serde_json::{Value, json};

use crate::stage::{Scripted, Setting, Stage, WRITE, extras};

/// A canary for a value that must stay redacted.
const CANARY: &str = "canary \"471108150815\"\\0815";
const NUMBER: i64 = 987_654_321;

fn contract() -> String {
    let inputs = "inputs: { type: object, required: [card], properties: { \
        card: { type: object, properties: { number: { type: string }, pin: { type: integer } } }, \
        note: { type: string } } }\n";
    extras(
        &format!("{WRITE}{inputs}"),
        "{ data: { sensitive: [/card] }, audit: [/note, /card/number], \
         supports_cancel: true, concurrency: { locks: [\"card:{{input.card.number}}\"] } }",
    )
}

fn secret() -> Value {
    json!({"card": {"number": CANARY, "pin": NUMBER}, "note": format!("for {CANARY}")})
}

/// Everything that the store and the host give, as text.
async fn everything(stage: &Stage, envelopes: &[&Envelope]) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for entry in stage.store.entries(None, 10_000).await.unwrap() {
        texts.push((format!("entry {}", entry.seq), entry.line));
    }
    for record in stage.store.questions(&Default::default()).await.unwrap() {
        texts.push(("question".into(), serde_json::to_string(&record).unwrap()));
        texts.push(("summary".into(), record.question.summary));
    }
    for run in stage.store.runs(&Default::default()).await.unwrap() {
        texts.push(("run".into(), serde_json::to_string(&run).unwrap()));
        if let Some(result) = stage.host.reader().result(&run.invocation_id).await.unwrap() {
            texts.push(("stored result".into(), serde_json::to_string(&result).unwrap()));
        }
    }
    for envelope in envelopes {
        texts.push(("envelope".into(), serde_json::to_string(envelope).unwrap()));
        texts.push(("error".into(), format!("{:?}", envelope.error)));
    }
    texts
}

fn none_tells(texts: &[(String, String)]) {
    // As itself, as JSON writes it, and as JSON in JSON writes it.
    let once = serde_json::to_string(CANARY).unwrap();
    let twice = serde_json::to_string(&once).unwrap();
    let forms = [
        CANARY,
        once.trim_matches('"'),
        twice.trim_matches(['"', '\\']),
        "471108150815",
        "987654321",
    ];
    for (place, text) in texts {
        for form in forms {
            assert!(!text.contains(form), "{place} tells {form}: {text}");
        }
    }
}

fn allowed() -> Setting {
    Setting::default()
        .tool("note.pay", &contract())
        .settings("[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n")
}

#[tokio::test]
async fn a_success_that_repeats_everything_tells_nothing() {
    let hook = |name, point| {
        Scripted::new(name, point, |heard| {
            let seen = heard.plan.input.to_string();
            Ok(HookAnswer {
                message: Some(seen.clone()),
                opinion: Some((haft_model::Says::Allow, format!("saw {CANARY}"))),
                additional_context: vec![json!({ "seen": seen, CANARY: 1 })],
                ..HookAnswer::default()
            })
        })
    };
    let stage = allowed()
        .hook(hook("before", HookPoint::PreToolUse))
        .hook(hook("after", HookPoint::PostToolUse))
        .act("note.pay", |attempt| {
            Box::pin(async move {
                let progress = Progress {
                    message: Some(format!("paying with {CANARY}")),
                    current_step: Some(CANARY.into()),
                    ..Progress::default()
                };
                attempt.link.progress(progress).await;
                attempt.link.partial(vec![Content::text(CANARY)]).await;
                let link = Link { uri: format!("file:{CANARY}"), ..Link::default() };
                Ok(Output {
                    content: vec![
                        Content::text(attempt.input.to_string()),
                        Content::ResourceLink(link.clone()),
                    ],
                    artifacts: vec![Link { name: Some(CANARY.into()), ..link }],
                    native: vec![json!({"source": "bank", "id": CANARY})],
                    ..Output::committed(json!({"echo": attempt.input, CANARY: [NUMBER, CANARY]}))
                })
            })
        })
        .open();
    let envelope = stage.call("note.pay", secret()).await;
    assert_eq!(envelope.error, None);
    assert_eq!(envelope.redaction_state, "partial");
    assert_eq!(stage.canary.inputs(), [secret()], "the driver itself has to have it");
    none_tells(&everything(&stage, &[&envelope]).await);
}

#[tokio::test]
async fn a_failure_that_repeats_everything_tells_nothing() {
    let stage = allowed()
        .act("note.pay", |attempt| {
            Box::pin(async move {
                let stop = Stop::new(Code::ExecutionFailed, format!("the bank refused {CANARY}"))
                    .help(format!("try another than {CANARY}"))
                    .because(json!({"native": CANARY, "sent": attempt.input}));
                let failure = Failure::new(stop, EffectState::NotCommitted);
                Err(Failure {
                    native: vec![json!({"source": "bank", "id": CANARY})],
                    partial: Some(Box::new(Output::read(json!({"echo": attempt.input})))),
                    ..failure
                })
            })
        })
        .open();
    let envelope = stage.call("note.pay", secret()).await;
    assert_eq!(envelope.error.as_ref().unwrap().error_code, Code::ExecutionFailed);
    none_tells(&everything(&stage, &[&envelope]).await);
}

#[tokio::test]
async fn a_driver_that_panics_with_it_tells_nothing() {
    let stage = allowed()
        .act("note.pay", |_| Box::pin(async { panic!("cannot pay with {CANARY}") }))
        .open();
    let envelope = stage.call("note.pay", secret()).await;
    assert_eq!(envelope.error.as_ref().unwrap().error_code, Code::ExecutionFailed);
    none_tells(&everything(&stage, &[&envelope]).await);
}

#[tokio::test]
async fn refusals_tell_nothing() {
    let stage = Setting::default()
        .tool("note.pay", &contract())
        .settings("[[rule]]\ntool = \"*\"\nverdict = \"deny\"\n")
        .preflight("note.pay", |plan| match plan.input.get("note") {
            Some(note) if note == "odd" => {
                Err(Stop::new(Code::InputValue, format!("{CANARY} cannot be right"))
                    .at("/card/number"))
            }
            _ => Ok(()),
        })
        .open();
    let denied = stage.call("note.pay", secret()).await;
    let mut odd = secret();
    odd["note"] = json!("odd");
    let values = stage.call("note.pay", odd).await;
    let wrong = json!({"card": {"number": CANARY, "pin": CANARY}, "note": [CANARY]});
    let schema = stage.call("note.pay", wrong).await;
    let mut unreadable = Call::new(stage.agent(), "note.pay", Value::Null);
    unreadable.sent = Some(format!("{{\"card\": {{\"number\": \"{}\", ", CANARY.escape_default()));
    let unreadable = stage.host.call(unreadable).await;
    let unknown = stage.call("note.payy", secret()).await;
    let envelopes = [&denied, &values, &schema, &unreadable, &unknown];
    let codes = envelopes.map(|envelope| envelope.error.as_ref().unwrap().error_code);
    assert_eq!(
        codes,
        [
            Code::PermissionDenied,
            Code::InputValue,
            Code::InputSchema,
            Code::InputSchema,
            Code::ToolUnknown
        ]
    );
    none_tells(&everything(&stage, &envelopes).await);
}

#[tokio::test]
async fn a_question_and_its_edited_answer_tell_nothing() {
    let stage = Setting::default().tool("note.pay", &contract()).open();
    let before = json!({"card": {"number": "another thing", "pin": 1}, "note": "x"});
    let pending = stage.call_and_leave("note.pay", before).await;
    let question = pending.approval_id.clone().unwrap();
    let reply = haft_runtime::Reply { edited_input: Some(secret()), ..stage.yes() };
    let envelope = stage.answer(&question, reply).await;
    assert_eq!((envelope.error.clone(), stage.canary.count()), (None, 1));
    let asked = stage.call_and_leave("note.pay", secret()).await;
    let texts = everything(&stage, &[&pending, &envelope, &asked]).await;
    none_tells(&texts);
    assert!(texts.iter().all(|(_, text)| !text.contains("another thing")));
    let other = stage.another(|_| {});
    let id = asked.approval_id.unwrap();
    let answered = other.runtime().answer_and_run(&id, stage.yes()).await.unwrap();
    let haft_runtime::AnswerOutcome::CarriedOut(resumed) = answered else { panic!("{answered:?}") };
    assert_eq!(resumed.error, None);
    none_tells(&everything(&stage, &[&resumed]).await);
}

#[tokio::test]
async fn an_output_that_the_contract_withholds_is_not_given() {
    let stage = Setting::default()
        .tool("note.show", &extras(crate::stage::READ, "{ result: { redact: [/token] } }"))
        .open();
    let envelope = stage.call("note.show", json!({"token": CANARY, "id": 7})).await;
    assert_eq!(envelope.structured_content, Some(json!({"token": "[withheld]", "id": 7})));
    assert_eq!(envelope.redaction_state, "partial");
    let text = serde_json::to_string(&envelope).unwrap();
    assert!(!text.contains("471108150815"), "{text}");
}

#[tokio::test]
async fn hook_returning_redacted_input_preserves_sensitive_values() {
    let hook = Scripted::new("echo", HookPoint::PreToolUse, |heard| {
        assert_eq!(heard.plan.input, *heard.observable_input);
        let mut input = heard.observable_input.clone();
        input["note"] = json!("seen");
        Ok(HookAnswer { updated_input: Some(input), ..HookAnswer::default() })
    });
    let shown = hook.heard();
    let stage = Setting::default()
        .tool("note.pay", &contract())
        .settings("[[rule]]\ntool = \"note.pay\"\nverdict = \"allow\"\n")
        .hook(hook)
        .open();
    let envelope = stage.call("note.pay", secret()).await;
    assert_eq!(envelope.error, None);
    let withheld = json!({"card": "[withheld]", "note": "for [withheld]"});
    assert_eq!(*shown.lock().unwrap(), [withheld]);
    let whole = json!({"card": {"number": CANARY, "pin": NUMBER}, "note": "seen"});
    assert_eq!(stage.canary.inputs(), [whole]);
}

#[tokio::test]
async fn a_call_that_undoes_another_tells_nothing_of_it() {
    for fails in [false, true] {
        let undo = "{ data: { sensitive: [/card] }, compensation: { tool: card.undo, \
                    input: { who: \"${input.card}\" }, approval: always } }";
        let hook = Scripted::new("curious", HookPoint::PreToolUse, |_| Ok(HookAnswer::default()));
        let heard = hook.heard();
        let stage = Setting::default()
            .settings("[[rule]]\ntool = \"card.*\"\nverdict = \"allow\"\n")
            .hook(hook)
            .tool("card.use", &extras(WRITE, undo))
            .act("card.use", |_| Box::pin(async { Ok(Output::committed(json!({}))) }))
            .tool("card.undo", WRITE)
            .act("card.undo", move |attempt| {
                let input = attempt.input.clone().into_owned();
                Box::pin(async move {
                    if !fails {
                        return Ok(Output::committed(json!({"echo": input, "ok": true})));
                    }
                    let stop = Stop::new(Code::ExecutionFailed, format!("no: {CANARY}"));
                    Err(Failure::new(stop, EffectState::NotCommitted))
                })
            })
            .open();
        let used = stage.call("card.use", secret()).await;
        let manner = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
        let runtime = stage.host.runtime();
        let asked = runtime.compensate(&used.invocation_id, &stage.agent(), manner).await.unwrap();
        let ended = stage.answer(asked.approval_id.as_ref().unwrap(), stage.yes()).await;
        assert_eq!(ended.is_error, fails);
        assert_eq!(stage.canary.inputs()[1], json!({"who": secret()["card"]}));
        let mut texts = everything(&stage, &[&used, &asked, &ended]).await;
        texts.push(("hook".into(), Value::Array(heard.lock().unwrap().clone()).to_string()));
        none_tells(&texts);
    }
}
