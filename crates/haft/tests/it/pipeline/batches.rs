//! Batch property test: every call of a random batch gets a result, whatever is cancelled
//! meanwhile.

use std::time::Duration;

use haft_driver::{Attempt, BoxFuture, Cancel, Failure, Output};
use haft_model::{
    BatchOrdering, Code, ContextPolicy, EffectState, InterruptBehavior, OnFailure, Progress,
    QueueState, ResultStatus, Stop, YieldPolicy,
};
use haft_runtime::{Batch, BatchCall, BatchNews, CallOptions, Patience};
use serde_json::{Value, json};

use crate::pipeline::batch::call;
use crate::pipeline::turns::story;
use crate::stage::{READ, Setting, Stage, WRITE, extras};
use crate::story::checked;
use haft_testkit::SeededRandom;

const TOOLS: [&str; 6] =
    ["note.show", "note.keep", "note.alone", "note.ask", "note.shut", "note.none"];

/// Does what its input says, and wants the context changed.
fn told(attempt: Attempt<'_>) -> BoxFuture<'_, Result<Output, Failure>> {
    Box::pin(async move {
        let effect = match attempt.plan.effects.may_mutate() {
            true => EffectState::Committed,
            false => EffectState::None,
        };
        for _ in 0..attempt.input["steps"].as_u64().unwrap_or(0) {
            attempt.link.progress(Progress::default()).await;
        }
        let failure = |code| {
            Err(Failure::new(Stop::new(code, "it did not work out"), EffectState::NotCommitted))
        };
        match attempt.input["act"].as_str() {
            Some("fail") => failure(Code::ExecutionFailed),
            Some("wait") => {
                tokio::select! {
                    () = attempt.cancel.cancelled() => {}
                    () = tokio::time::sleep(Duration::from_millis(5)) => {}
                }
                failure(Code::CanceledCaller)
            }
            _ => {
                let context_modifiers = vec![json!({ "cwd": attempt.input["act"] })];
                Ok(Output { effect, context_modifiers, ..Output::read(json!({})) })
            }
        }
    })
}

fn stage(dice: &mut SeededRandom) -> Stage {
    let safe =
        "{ supports_cancel: true, concurrency: { safe: true, locks: [\"file:${input.path}\"] } }";
    let mut setting = Setting::default()
        .tool("note.show", &extras(READ, safe))
        .tool("note.keep", &extras(WRITE, safe))
        .tool("note.alone", WRITE)
        .tool("note.ask", WRITE)
        .tool("note.shut", READ)
        .settings(
            "[[rule]]\ntool = \"note.ask\"\nverdict = \"ask\"\n\
             [[rule]]\ntool = \"note.shut\"\nverdict = \"deny\"\n\
             [[rule]]\ntool = \"note.*\"\nverdict = \"allow\"\n",
        )
        .options(|options| options.max_parallel = 1 + dice.below(3));
    for tool in ["note.show", "note.keep", "note.alone", "note.ask"] {
        setting = setting.act(tool, told);
    }
    setting.open()
}

fn batch(stage: &Stage, dice: &mut SeededRandom) -> Batch {
    let count = 1 + dice.below(7);
    let calls = (0..count).map(|index| {
        let act = dice.choose(&["go", "go", "go", "fail", "wait"]);
        let path = dice.choose(&["a", "a/b", "b"]);
        let input = json!({ "act": act, "path": path, "steps": dice.below(3) });
        let depends_on =
            (0..index).filter(|_| dice.below(4) == 0).map(|it| it.to_string()).collect();
        let call = call(stage, dice.choose(&TOOLS), input);
        BatchCall { depends_on, priority: dice.below(3) as i32, ..call }
    });
    let calls: Vec<BatchCall> = calls.collect();
    let ordering = dice.choose(BatchOrdering::ALL);
    let yields = match ordering {
        BatchOrdering::PreserveTerminalOrder => dice.choose(&YieldPolicy::ALL[..2]),
        BatchOrdering::AllowUnordered | BatchOrdering::Serial => dice.choose(YieldPolicy::ALL),
    };
    Batch {
        ordering,
        yields: Some(yields),
        interrupt: dice.choose(InterruptBehavior::ALL),
        on_failure: Some(dice.choose(OnFailure::ALL)),
        context: dice.choose(ContextPolicy::ALL),
        ..Batch::new(calls)
    }
}

/// What came of one random batch: how many calls were superseded.
async fn round(seed: u64) -> usize {
    let mut dice = SeededRandom::new(seed);
    let stage = stage(&mut dice);
    let batch = batch(&stage, &mut dice);
    let (count, yields) = (batch.calls.len(), batch.yields);
    let cancel = Cancel::new();
    let manner =
        CallOptions { cancel: cancel.clone(), patience: Patience::Leave, ..CallOptions::default() };
    let mut released = stage.host.runtime().batch(batch, manner).unwrap();
    let handle = released.handle();
    let (interrupts, discards) = (dice.below(4) == 0, dice.below(3) == 0);
    let (moment, victim) = (dice.below(8) as u64, dice.below(count));
    let mut results = Vec::new();
    let mut turn = 0;
    let taking = async {
        while let Some(news) = released.news().await {
            match news {
                BatchNews::Progress { index, .. } => {
                    let early = index > turn && yields == Some(YieldPolicy::AllOrdered);
                    assert!(!early, "seed {seed}: progress of {index} in the turn of {turn}");
                }
                BatchNews::Result { index, envelope } => {
                    results.push((index, *envelope));
                    turn += 1;
                }
            }
        }
    };
    let wishing = async {
        // Some cancel before anything ran, so that there is something to supersede on any machine.
        if moment > 0 {
            tokio::time::sleep(Duration::from_millis(moment)).await;
        }
        if discards {
            handle.discard(&[victim], "another stream").await.unwrap();
        }
        if interrupts {
            cancel.cancel();
        }
    };
    let both = async { tokio::join!(wishing, taking) };
    let ended = tokio::time::timeout(Duration::from_secs(30), both).await;
    assert!(ended.is_ok(), "seed {seed} hangs");
    let order: Vec<usize> = results.iter().map(|(index, _)| *index).collect();
    if yields != Some(YieldPolicy::UnorderedStreaming) {
        assert_eq!(order, (0..count).collect::<Vec<_>>(), "seed {seed}");
    }
    let different: std::collections::BTreeSet<_> = order.iter().collect();
    assert_eq!((order.len(), different.len()), (count, count), "seed {seed}");
    let mut superseded = 0;
    for (_, envelope) in &results {
        let told = story(&stage, &envelope.invocation_id).await;
        if envelope.status == ResultStatus::Pending {
            continue;
        }
        checked(&stage, envelope).await;
        let discarded = envelope.status == ResultStatus::Discarded;
        superseded += usize::from(discarded);
        let expected = if discarded { QueueState::Discarded } else { QueueState::Yielded };
        assert_eq!(told.queue_state(), Some(expected), "seed {seed}");
        let outcomes = told.context_modifiers.len();
        assert_eq!(outcomes, usize::from(envelope.context_modifiers.is_some()), "seed {seed}");
    }
    let later: Vec<(usize, Vec<Value>)> = released.context_modifiers().await;
    assert!(later.is_sorted_by_key(|(index, _)| *index), "seed {seed}");
    superseded
}

#[tokio::test]
async fn random_batches_yield_one_result_per_call() {
    let mut superseded = 0;
    for seed in 1..=120 {
        superseded += round(seed).await;
    }
    assert!(superseded > 0, "nothing was superseded, so nothing was shown");
}
