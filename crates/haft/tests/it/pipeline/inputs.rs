//! Input stages: the four inputs of a call, and which component may change them.

use haft_driver::HookAnswer;
use haft_model::{Call, Code, Decided, Digest, Event, Fact, HookPoint, Mutation, MutationSource};
use haft_runtime::{CallOptions, Patience};
use serde_json::{Value, json};

use crate::stage::{READ, Scripted, Setting, Stage, WRITE, extras};
use crate::story::{checked, sent};

const INPUTS: &str = "inputs: { type: object, additionalProperties: false, properties: { \
     path: { type: string }, n: { type: number }, size: { type: integer, default: 3 }, \
     tenant: { type: string } } }\n";

fn absolute() -> Scripted {
    Scripted::new("absolute", HookPoint::PreToolUse, |heard| {
        let mut input = heard.observable_input.clone();
        input["path"] = json!("/srv/notes/a.txt");
        input["tenant"] = json!("ours");
        Ok(HookAnswer {
            updated_input: Some(input),
            message: Some("paths are absolute here".into()),
            ..HookAnswer::default()
        })
    })
}

fn setting() -> Setting {
    let tool = extras(&format!("{WRITE}{INPUTS}"), "{ data: { internal: [/tenant] } }");
    Setting::default().tool("note.keep", &tool).hook(absolute())
}

#[tokio::test]
async fn each_of_four_inputs_is_recorded_with_its_source() {
    let stage = setting().open();
    let text = "{ \"path\":\"a.txt\",\n\t\"n\": 1.50e1 }";
    let mut call = Call::new(stage.agent(), "note.keep", Value::Null);
    call.sent = Some(text.to_owned());
    let manner = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
    let pending = stage.host.runtime().call(call, manner).await;
    let mut edited = json!({"path": "/srv/notes/a.txt", "n": 15, "size": 3, "tenant": "ours"});
    edited["size"] = json!(7);
    let reply = haft_runtime::Reply { edited_input: Some(edited.clone()), ..stage.yes() };
    let envelope = stage.answer(&pending.approval_id.clone().unwrap(), reply).await;
    assert_eq!(envelope.error, None);
    assert_eq!(stage.canary.inputs(), [edited.clone()]);
    let facts = checked(&stage, &envelope).await;

    let bytes = stage.host.reader().payload(&envelope.invocation_id, &sent(&facts)).await.unwrap();
    assert_eq!(bytes.as_deref(), Some(text.as_bytes()), "what was sent is kept byte for byte");
    let observable = ready(&facts);
    let permission = asked(&facts);
    let called = decided(&facts).call_input.clone().unwrap().digest;
    let digests = [sent(&facts), observable.0, permission, called];
    assert_eq!(
        digests.map(|digest| digest.to_string()),
        [
            Digest::of_bytes(text.as_bytes()),
            Digest::of(&json!({"path": "a.txt", "n": 15, "size": 3})),
            Digest::of(&json!({"path": "/srv/notes/a.txt", "n": 15, "size": 3, "tenant": "ours"})),
            Digest::of(&edited),
        ]
        .map(|digest| digest.to_string())
    );
    let changes =
        [mutation(&observable.1), mutation(&hooked(&facts)), mutation(&decided(&facts).mutations)];
    assert_eq!(
        changes,
        [
            (
                MutationSource::Runtime,
                "haft".into(),
                vec!["/size".into()],
                "defaults of the contract were filled in".into()
            ),
            (
                MutationSource::Hook,
                "absolute".into(),
                vec!["/path".into(), "/tenant".into()],
                "paths are absolute here".into()
            ),
            (
                MutationSource::PermissionPrompt,
                "user:ana".into(),
                vec!["/size".into()],
                "the approver edited it".into()
            ),
        ]
    );
}

#[tokio::test]
async fn an_internal_field_from_outside_is_refused() {
    let stage = setting().open();
    let refused = stage.call("note.keep", json!({"path": "a", "tenant": "theirs"})).await;
    let error = refused.error.clone().unwrap();
    assert_eq!((error.error_code, error.field.as_deref()), (Code::InputSchema, Some("/tenant")));
    checked(&stage, &refused).await;
    assert_eq!(stage.canary.count(), 0);
}

#[tokio::test]
async fn a_hook_that_spoils_the_input_ends_the_call() {
    let spoil = Scripted::new("spoil", HookPoint::PreToolUse, |_| {
        Ok(HookAnswer { updated_input: Some(json!({"path": 3})), ..HookAnswer::default() })
    });
    let stage = Setting::default().tool("note.show", &format!("{READ}{INPUTS}")).hook(spoil).open();
    let envelope = stage.call("note.show", json!({"path": "a"})).await;
    assert_eq!(envelope.error.as_ref().unwrap().error_code, Code::InputMutation);
    checked(&stage, &envelope).await;
    assert_eq!(stage.canary.count(), 0);
}

#[tokio::test]
async fn approver_edit_violating_schema_is_refused() {
    let stage = setting().open();
    let pending = stage.call_and_leave("note.keep", json!({"path": "a"})).await;
    let question = pending.approval_id.unwrap();
    let reply = haft_runtime::Reply { edited_input: Some(json!({"path": 3})), ..stage.yes() };
    let refused = stage.host.runtime().answer(&question, reply).await.unwrap_err();
    assert_eq!(refused.code, Code::InputSchema);
    let open = open_questions(&stage).await;
    assert_eq!(open, 1, "the question waits for an answer that counts");
}

async fn open_questions(stage: &Stage) -> usize {
    let filter = haft_ledger::QuestionFilter { open: true, ..Default::default() };
    stage.store.questions(&filter).await.unwrap().len()
}

fn ready(facts: &[Fact]) -> (Digest, Vec<Mutation>) {
    let found = facts.iter().find_map(|fact| match &fact.event {
        Event::ArgumentsReady(ready) => {
            Some((ready.observable_input.digest.clone(), ready.mutations.clone()))
        }
        _ => None,
    });
    found.unwrap()
}

fn asked(facts: &[Fact]) -> Digest {
    let found = facts.iter().find_map(|fact| match &fact.event {
        Event::PermissionRequested(question) => Some(question.bound.call_input.clone()),
        _ => None,
    });
    found.unwrap()
}

fn hooked(facts: &[Fact]) -> Vec<Mutation> {
    let found = facts.iter().find_map(|fact| match &fact.event {
        Event::PreHookCompleted(run) => run.mutation.clone(),
        _ => None,
    });
    found.into_iter().collect()
}

fn decided(facts: &[Fact]) -> Decided {
    let found = facts.iter().rev().find_map(|fact| match &fact.event {
        Event::PermissionDecided(decided) => Some(Decided::clone(decided)),
        _ => None,
    });
    found.unwrap()
}

fn mutation(found: &[Mutation]) -> (MutationSource, String, Vec<String>, String) {
    let [change] = found else { panic!("{found:?}") };
    (change.source, change.by.clone(), change.changed.clone(), change.reason.clone())
}
