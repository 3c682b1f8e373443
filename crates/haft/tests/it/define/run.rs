//! Body tests: arguments, answers, failures, panics and cancellation of bodies in Rust.

use std::time::{Duration, Instant};

use haft::{Args, Cancel, Definitions, DriverHandle, Link, ToolFailure, ToolHandle, define_driver};
use haft_driver::{Attempt, DriverMessage, Failure, Output};
use haft_model::{Code, Decision, EffectState, InvocationId, Progress, Stop, Timestamp, Verdict};
use haft_policy::Permit;
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::define::{Area, Kept, Note, Sides, area, host, keep, load, plan};

/// How an attempt is begun.
struct Given {
    deadline: Instant,
    cancel: Cancel,
    link: Link,
}

impl Given {
    /// With plenty of time, and without a listener.
    fn plenty() -> Given {
        let deadline = Instant::now() + Duration::from_secs(60);
        Given { deadline, cancel: Cancel::new(), link: Link::new().0 }
    }
}

/// Plans a call and lets the driver carry it out.
async fn run<In, Out>(
    tool: &ToolHandle<In, Out>,
    driver: &DriverHandle,
    input: Value,
    given: Given,
) -> Result<Output, Failure> {
    let folder = Folder::new().file("haft.toml", "");
    let workspace = load(&folder, Definitions::new().tool(tool).driver(driver));
    let plan = plan(workspace.snapshot(), tool.contract().key.id.as_str(), input).unwrap();
    let now = Timestamp::now();
    let allowed = Decision {
        verdict: Verdict::Allow,
        deciding: None,
        opinions: Vec::new(),
        needs: Vec::new(),
        code: None,
        suggested_updates: Vec::new(),
        decided_at: now,
    };
    let permit = Permit::of_decision(&allowed, &plan, &InvocationId::from("one"), now).unwrap();
    let Given { deadline, cancel, link } = given;
    let code = workspace.code_drivers().remove(driver.id()).unwrap();
    code.preflight(&plan).unwrap();
    code.run(Attempt::new(&permit, &plan, 1, deadline, cancel, link).unwrap()).await
}

/// A driver of `note.keep` whose body ends as it is told.
fn keeping<Running>(body: impl Fn(Args<Note>) -> Running + Send + Sync + 'static) -> DriverHandle
where
    Running: Future<Output = Result<Kept, ToolFailure>> + Send + 'static,
{
    define_driver("host-notes").implement(&keep(), body).define().unwrap()
}

fn failed(code: Code, message: &str, effect: EffectState) -> Result<Output, Failure> {
    Err(Failure::new(Stop::new(code, message), effect))
}

#[tokio::test]
async fn body_result_is_output_and_contract_determines_effect() {
    let given = json!({ "width": 3, "height": 5 });
    assert_eq!(
        run(&area(), &host(), given, Given::plenty()).await,
        Ok(Output::read(json!({ "area": 15 })))
    );
    assert_eq!(
        run(&keep(), &host(), json!({ "text": "four" }), Given::plenty()).await,
        Ok(Output::committed(json!({ "length": 4 })))
    );
}

#[tokio::test]
async fn body_panic_fails_with_unknown_effect_for_writes() {
    let writes = keeping(|args| async move { panic!("no {}", args.input.text) });
    assert_eq!(
        run(&keep(), &writes, json!({ "text": "ink" }), Given::plenty()).await,
        failed(Code::ExecutionFailed, "`note.keep` panicked: no ink", EffectState::Unknown)
    );
    let reads = define_driver("host-shapes")
        .implement(&area(), |args: Args<Sides>| {
            assert!(args.input.width > 9, "too small");
            async { Ok(Area { area: 0 }) }
        })
        .define()
        .unwrap();
    assert_eq!(
        run(&area(), &reads, json!({ "width": 1 }), Given::plenty()).await,
        failed(Code::ExecutionFailed, "`shape.area` panicked: too small", EffectState::None)
    );
}

#[tokio::test]
async fn tool_failure_carries_message_stop_or_known_effect() {
    let end = |driver: DriverHandle| async move {
        run(&keep(), &driver, json!({ "text": "x" }), Given::plenty()).await
    };
    assert_eq!(
        end(keeping(|_| async { Err("the shelf is full".into()) })).await,
        failed(Code::ExecutionFailed, "the shelf is full", EffectState::Unknown)
    );
    assert_eq!(
        end(keeping(|_| async { Err(Stop::new(Code::Conflict, "it is there").into()) })).await,
        failed(Code::Conflict, "it is there", EffectState::Unknown)
    );
    let known = keeping(|_| async {
        Err(ToolFailure::new("the shelf is locked").effect(EffectState::NotCommitted))
    });
    assert_eq!(
        end(known).await,
        failed(Code::ExecutionFailed, "the shelf is locked", EffectState::NotCommitted)
    );
    let caused = keeping(|_| async {
        let number: u32 = serde_json::from_str("seven")?;
        Ok(Kept { length: number as usize })
    });
    assert_eq!(end(caused).await.unwrap_err().stop.code, Code::ExecutionFailed);
}

#[tokio::test]
async fn body_reports_progress_and_fails_if_submission_is_unrecorded() {
    let handle = define_driver("host-notes")
        .implement(&keep(), |args: Args<Note>| async move {
            let half = Progress { percent: Some(50.0), ..Progress::default() };
            args.link.progress(half).await;
            args.link.submit().await?;
            Ok(Kept { length: 1 })
        })
        .reports_submission()
        .define()
        .unwrap();
    let (link, mut heard) = Link::new();
    let given = Given { link, ..Given::plenty() };
    let listening = async {
        let first = heard.next().await;
        assert!(matches!(&first, DriverMessage::Progress(said) if said.percent == Some(50.0)));
        let DriverMessage::Submit(recorded) = heard.next().await else { panic!("no submission") };
        recorded.send(Err(Stop::new(Code::Internal, "the disk is full"))).unwrap();
    };
    let tool = keep();
    let running = run(&tool, &handle, json!({ "text": "x" }), given);
    let (ended, ()) = tokio::join!(running, listening);
    assert_eq!(ended, failed(Code::Internal, "the disk is full", EffectState::NotSubmitted));
}

#[tokio::test(start_paused = true)]
async fn cancelled_body_may_still_return_output() {
    let hears = keeping(|args| async move {
        args.cancel.cancelled().await;
        Ok(Kept { length: 0 })
    });
    let cancel = Cancel::new();
    cancel.cancel();
    let given = Given { cancel, ..Given::plenty() };
    assert_eq!(
        run(&keep(), &hears, json!({ "text": "x" }), given).await,
        Ok(Output::committed(json!({ "length": 0 })))
    );
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_end_is_dropped() {
    let never = keeping(|_| async { std::future::pending().await });
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(
        run(&keep(), &never, json!({ "text": "x" }), Given { cancel, ..Given::plenty() }).await,
        failed(Code::CanceledCaller, "`note.keep` was called off", EffectState::Unknown)
    );
    assert_eq!(
        run(&keep(), &never, json!({ "text": "x" }), Given::plenty()).await,
        failed(
            Code::TimeoutUnknownCommit,
            "`note.keep` ran out of time, and may have changed something",
            EffectState::Unknown
        )
    );
}

#[tokio::test]
async fn input_valid_by_schema_but_not_type_fails_preflight() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Strict {
        #[schemars(with = "String")]
        #[expect(dead_code, reason = "reading it is what is tested")]
        address: std::net::IpAddr,
    }
    let tool = haft::Tool::<Strict, Value>::builder("host.name")
        .description("Names a host.")
        .read_only()
        .define()
        .unwrap();
    let driver = define_driver("host-names")
        .implement(&tool, |_: Args<Strict>| async { Ok(json!({})) })
        .define()
        .unwrap();
    let folder = Folder::new().file("haft.toml", "");
    let workspace = load(&folder, Definitions::new().tool(&tool).driver(&driver));
    let plan = plan(workspace.snapshot(), "host.name", json!({ "address": "here" })).unwrap();
    let stop = driver.code().preflight(&plan).unwrap_err();
    assert_eq!(stop.code, Code::InputValue);
}
