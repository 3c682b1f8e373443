//! Context modifier tests: which changes of its caller's context a driver may make.

use haft_driver::{Attempt, BoxFuture, Failure, Output};
use haft_model::{Code, ContextOutcome, ContextPolicy, EffectState, Envelope, Stop};
use haft_runtime::{Batch, CallOptions};
use serde_json::{Value, json};

use crate::pipeline::batch::{ALLOW, call};
use crate::pipeline::turns::{SAFE, all, story};
use crate::stage::{READ, Setting, Stage, WRITE, extras};
use crate::story::checked;

type Ran<'a> = BoxFuture<'a, Result<Output, Failure>>;

fn act(attempt: Attempt<'_>) -> Ran<'_> {
    let wish = vec![json!({ "cwd": attempt.input["n"] })];
    Box::pin(async { Ok(Output { context_modifiers: wish, ..Output::committed(json!({})) }) })
}

/// Two calls side by side and one alone, each of which wants the context changed.
async fn modified(context: ContextPolicy) -> (Stage, Vec<Envelope>, Vec<(usize, Vec<Value>)>) {
    let stage = Setting::default()
        .tool("note.share", &extras(WRITE, SAFE))
        .tool("note.alone", WRITE)
        .settings(ALLOW)
        .act("note.share", act)
        .act("note.alone", act)
        .open();
    let tools = ["note.share", "note.share", "note.alone"].into_iter().zip(1..);
    let calls = tools.map(|(tool, n)| call(&stage, tool, json!({ "n": n })));
    let batch = Batch { context, ..Batch::new(calls) };
    let mut released = stage.host.runtime().batch(batch, CallOptions::default()).unwrap();
    assert_eq!(released.context_modifiers().await, []);
    let results = all(&mut released).await;
    let later = released.context_modifiers().await;
    drop(released);
    (stage, results, later)
}

#[tokio::test]
async fn batch_context_policy_decides_fate_of_context_modifiers() {
    use ContextOutcome::{Applied, Deferred, Rejected};
    let cases = [
        (ContextPolicy::AllowSerialOnly, [Rejected, Rejected, Applied]),
        (ContextPolicy::DeferUntilBatchComplete, [Deferred; 3]),
        (ContextPolicy::Forbid, [Rejected; 3]),
    ];
    for (policy, expected) in cases {
        let (stage, results, later) = modified(policy).await;
        let given = |envelope: &Envelope| envelope.context_modifiers.clone().unwrap();
        let outcomes: Vec<_> = results.iter().map(|envelope| given(envelope).outcome).collect();
        assert_eq!(outcomes, expected, "{policy}");
        for (envelope, n) in results.iter().zip(1..) {
            let given = given(envelope);
            let counts = given.outcome == Applied;
            assert_eq!(given.modifiers, if counts { vec![json!({ "cwd": n })] } else { vec![] });
            assert_eq!(envelope.warnings.len(), usize::from(given.outcome == Rejected));
            // The effect stands whatever became of the context.
            assert_eq!((envelope.is_error, envelope.effect_state), (false, EffectState::Committed));
            let told = story(&stage, &envelope.invocation_id).await;
            let on_record: Vec<_> =
                told.context_modifiers.iter().map(|(_, one)| one.outcome).collect();
            match given.outcome {
                Deferred => assert_eq!(on_record, [Deferred, Applied]),
                outcome => assert_eq!(on_record, [outcome]),
            }
            checked(&stage, envelope).await;
        }
        let deferred = policy == ContextPolicy::DeferUntilBatchComplete;
        let expected: Vec<_> =
            (0..3).filter(|_| deferred).map(|n| (n, vec![json!({ "cwd": n + 1 })])).collect();
        assert_eq!(later, expected);
    }
}

#[tokio::test]
async fn single_call_applies_context_modifiers_unless_it_fails() {
    let stage = Setting::default()
        .tool("note.show", &extras(READ, SAFE))
        .act("note.show", |attempt| {
            let wish = vec![json!({ "cwd": "src" })];
            let output = Output { context_modifiers: wish, ..Output::read(json!({})) };
            Box::pin(async move {
                match attempt.input["fails"].as_bool() {
                    Some(true) => Err(Failure {
                        partial: Some(Box::new(output)),
                        ..Failure::new(Stop::new(Code::ExecutionFailed, "no"), EffectState::None)
                    }),
                    _ => Ok(output),
                }
            })
        })
        .open();
    let well = stage.call("note.show", json!({})).await.context_modifiers.unwrap();
    assert_eq!(
        (well.outcome, well.modifiers),
        (ContextOutcome::Applied, vec![json!({"cwd": "src"})])
    );
    let failed = stage.call("note.show", json!({ "fails": true })).await;
    let given = failed.context_modifiers.clone().unwrap();
    assert_eq!((given.outcome, given.modifiers), (ContextOutcome::Rejected, vec![]));
}
