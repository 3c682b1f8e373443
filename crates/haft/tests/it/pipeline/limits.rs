//! Quota tests: who sets a limit, whose calls it counts, and that a call that did not run used
//! nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft::Workspace;
use haft_driver::{BoxFuture, Cancel, Failure, HookAnswer, Output};
use haft_ledger::{Draft, Error, MemoryStore, Receipt, SqliteStore, Store, Wait};
use haft_model::{
    Call, Code, Content, EffectState, Envelope, Event, HookPoint, ResultStatus, Says, Stop,
};
use haft_runtime::{Batch, CallOptions, Clock, StoppedClock};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};
use tokio::task::JoinSet;

use crate::meddled::{MeddledStore, Meddler};
use crate::stage::{READ, Scripted, Setting, Stage, WRITE, extras};
use crate::story::checked;

const POLICY: &str = ".policy/limits/POLICY.md";

/// Three more agents, two of them of another tenant.
const ACTORS: &str = "[[actor]]\nid = \"agent:second\"\nroles = [\"agent\"]\n\
    [[actor]]\nid = \"agent:far\"\nroles = [\"agent\"]\ntenant = \"elsewhere\"\n\
    [[actor]]\nid = \"agent:away\"\nroles = [\"agent\"]\ntenant = \"elsewhere\"\n";

fn rate(more: &str) -> String {
    format!("[limits]\nrates = [{{ tool = \"note.*\", per = \"hour\", value = 1{more} }}]\n")
}

fn limits(limit: &str) -> String {
    format!(
        "---\nschema: policy/v1\nid: \"@shop/limits\"\nversion: 1.0.0\ndefault: allow\n\
         limits:\n  - {{ kind: rate-tool-calls, value: 1, per: hour{limit} }}\n---\n\nLimits.\n"
    )
}

fn budget(budget: &str) -> String {
    format!(
        "---\nschema: agentgovernance/v1\ndoctype: policy\nslug: spend\nversion: 1.0.0\n\
         match: {{ action: note.keep }}\ndecision: allow\nbudget: {budget}\n---\n\nSpend.\n"
    )
}

/// An input that no other call has: equal calls that are not answered yet are one call.
fn fresh() -> Value {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    json!({"number": NEXT.fetch_add(1, Ordering::SeqCst)})
}

/// Whether a call was let through, and that it was not says which code it ended with.
fn ran(envelope: &Envelope) -> bool {
    match &envelope.error {
        None => true,
        Some(error) => {
            assert_eq!(error.error_code, Code::RateLimited, "{}", error.message);
            assert!(error.retry.safe && error.retry.retry_after_ms > Some(0), "{error:?}");
            false
        }
    }
}

/// Which of five calls run: twice the same, by a colleague, by a stranger, and by another stranger
/// to another tool.
async fn five(stage: &Stage) -> Vec<bool> {
    let mut all = Vec::new();
    for (actor, tool) in [
        ("agent:coder", "note.show"),
        ("agent:coder", "note.show"),
        ("agent:second", "note.show"),
        ("agent:far", "note.show"),
        ("agent:away", "note.list"),
    ] {
        let call = Call::new(stage.host.actor(actor), tool, json!({}));
        let envelope = stage.host.call(call).await;
        checked(stage, &envelope).await;
        all.push(ran(&envelope));
    }
    let through = all.iter().filter(|ran| **ran).count();
    assert_eq!(stage.canary.count(), through, "what is refused reaches no driver");
    all
}

#[tokio::test]
async fn every_source_counts_together_what_its_scope_says() {
    let (yes, no) = (true, false);
    let settings = [
        (", scope = \"actor\"", [yes, no, yes, yes, yes]),
        (", scope = \"tenant\"", [yes, no, no, yes, no]),
        ("", [yes, no, no, no, no]),
        (", scope = \"tool\"", [yes, no, no, no, yes]),
        (", scope = \"driver\"", [yes, no, no, no, no]),
        (", driver = \"can*\"", [yes, no, no, no, no]),
        (", driver = \"can*\", scope = \"actor\"", [yes, no, yes, yes, yes]),
        (", driver = \"other\"", [yes, yes, yes, yes, yes]),
    ];
    for (more, expected) in settings {
        let stage = both(READ).settings(&rate(more)).open();
        assert_eq!(five(&stage).await, expected, "haft.toml{more}");
    }
    let contracts = [
        ("actor", [yes, no, yes, yes, yes]),
        ("tenant", [yes, no, no, yes, yes]),
        ("tool", [yes, no, no, no, yes]),
    ];
    for (scope, expected) in contracts {
        let haft = format!("{{ limits: [{{ per: hour, value: 1, scope: {scope} }}] }}");
        let stage = both(&extras(READ, &haft)).open();
        assert_eq!(five(&stage).await, expected, "the contract's {scope}");
    }
    let policies = [
        ("", [yes, no, yes, yes, yes]),
        (", scope: user", [yes, no, yes, yes, yes]),
        (", scope: org", [yes, no, no, yes, no]),
        (", scope: workspace", [yes, no, no, no, no]),
        (", scope: workspace, applies_to: [\"tool:note.show\"]", [yes, no, no, no, yes]),
        (", scope: tool", [yes, no, no, no, yes]),
    ];
    for (more, expected) in policies {
        let stage = both(READ).file(POLICY, &limits(more)).open();
        assert_eq!(five(&stage).await, expected, "POLICY.md{more}");
    }
}

fn both(show: &str) -> Setting {
    Setting::default().settings(ACTORS).tool("note.show", show).tool("note.list", READ)
}

#[tokio::test]
async fn uncountable_policy_limit_denies_without_retry_after() {
    let bytes = limits("").replace("rate-tool-calls", "max-egress-bytes-per-day");
    for text in [limits(", scope: galaxy"), bytes] {
        let stage = Setting::default().tool("note.show", READ).file(POLICY, &text).open();
        let error = stage.call("note.show", fresh()).await.error.unwrap();
        assert_eq!((error.error_code, error.retry.retry_after_ms), (Code::PolicyBlocked, None));
        assert!(error.message.contains("is not counted"), "{}", error.message);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_callers_use_up_quota_without_exceeding_it() {
    let sources = [
        (rate("").replace("value = 1", "value = 10"), READ.to_owned(), String::new()),
        (
            String::new(),
            extras(WRITE, "{ limits: [{ per: hour, value: 10 }], concurrency: { safe: true } }"),
            String::new(),
        ),
        (String::new(), READ.to_owned(), limits("").replace("value: 1", "value: 10")),
    ];
    for (rates, tool, policy) in sources {
        let mut setting = Setting::default()
            .settings(&rates)
            .settings("[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n")
            .options(|options| options.max_parallel = 64)
            .tool("note.show", &tool);
        if !policy.is_empty() {
            setting = setting.file(POLICY, &policy);
        }
        let stage = Arc::new(setting.open());
        let (start, mut calls) = (Arc::new(Barrier::new(64)), JoinSet::new());
        for _ in 0..64 {
            let (stage, start) = (stage.clone(), start.clone());
            calls.spawn(async move {
                start.wait().await;
                ran(&stage.call("note.show", fresh()).await)
            });
        }
        let through = calls.join_all().await.into_iter().filter(|ran| *ran).count();
        assert_eq!((through, stage.canary.count()), (10, 10), "{rates}{tool}{policy}");
    }
}

#[tokio::test]
async fn a_denied_call_uses_nothing() {
    let deny = Scripted::new("foe", HookPoint::PreToolUse, |heard| {
        let denied = heard.observable_input.get("bad").is_some();
        let opinion = denied.then(|| (Says::Deny, "bad".to_owned()));
        Ok(HookAnswer { opinion, ..HookAnswer::default() })
    });
    let stage = Setting::default().settings(&rate("")).tool("note.show", READ).hook(deny).open();
    for _ in 0..3 {
        let error = stage.call("note.show", json!({"bad": 1})).await.error.unwrap();
        assert_eq!(error.error_code, Code::PermissionDenied);
    }
    assert!(ran(&stage.call("note.show", fresh()).await));
    assert!(!ran(&stage.call("note.show", fresh()).await));
    assert_eq!(stage.canary.count(), 1);
}

#[tokio::test]
async fn pending_or_rejected_call_consumes_no_quota() {
    let stage = Setting::default().settings(&rate("")).tool("note.keep", WRITE).open();
    let pending = [
        stage.call_and_leave("note.keep", fresh()).await.approval_id.unwrap(),
        stage.call_and_leave("note.keep", fresh()).await.approval_id.unwrap(),
        stage.call_and_leave("note.keep", fresh()).await.approval_id.unwrap(),
    ];
    let [rejected, first, second] = pending;
    let envelope = stage.answer(&rejected, stage.no("not this one")).await;
    assert_eq!(envelope.error.unwrap().error_code, Code::ApprovalRejected);
    assert!(ran(&stage.answer(&first, stage.yes()).await));
    let late = stage.answer(&second, stage.yes()).await;
    assert!(!ran(&late), "a yes is no reason to go beyond a limit");
    checked(&stage, &late).await;
    // No approver is asked in vain.
    let refused = stage.call_and_leave("note.keep", fresh()).await;
    assert_eq!((refused.approval_id.clone(), ran(&refused)), (None, false));
    assert_eq!(stage.canary.count(), 1);
}

#[tokio::test]
async fn call_cancelled_in_queue_consumes_no_quota() {
    let (entered, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, waited) = (entered.clone(), go_on.clone());
    let locked = extras(WRITE, "{ concurrency: { locks: [\"desk\"] } }");
    let stage = Setting::default()
        .settings("[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n")
        .settings(&rate(""))
        .tool("hold", &locked)
        .tool("note.keep", &locked)
        .act("hold", move |_| {
            let (told, waited) = (told.clone(), waited.clone());
            Box::pin(async move {
                told.notify_one();
                waited.notified().await;
                Ok(Output::committed(json!({})))
            })
        })
        .open();
    let (held, canceled) = tokio::join!(stage.call("hold", json!({})), async {
        entered.notified().await;
        let cancel = Cancel::new();
        let manner = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
        let call = Call::new(stage.agent(), "note.keep", fresh());
        let queued = async {
            let filter = haft_ledger::RunFilter {
                status: vec![haft_model::Status::Queued],
                ..Default::default()
            };
            while stage.store.runs(&filter).await.unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        };
        let canceled = tokio::join!(stage.host.runtime().call(call, manner), queued).0;
        go_on.notify_one();
        canceled
    });
    assert_eq!((held.error, canceled.status), (None, ResultStatus::Canceled));
    assert!(ran(&stage.call("note.keep", fresh()).await));
    assert!(!ran(&stage.call("note.keep", fresh()).await));
}

/// A meddler that keeps the first attempt off the record.
struct Jammed(AtomicUsize);

impl Meddler for Jammed {
    fn append<'a>(
        &'a self,
        store: &'a dyn Store,
        draft: Draft,
        wait: Wait,
    ) -> BoxFuture<'a, Result<Receipt, Error>> {
        let begins = draft.facts.iter().any(|fact| matches!(fact.event, Event::Started(_)));
        if begins && self.0.fetch_add(1, Ordering::SeqCst) == 0 {
            let cause = "the disk is full".to_owned();
            return Box::pin(std::future::ready(Err(Error::Unwritable { cause })));
        }
        store.append(draft, wait)
    }
}

#[tokio::test]
async fn call_that_never_reaches_driver_returns_its_quota() {
    let jammed = Jammed(AtomicUsize::new(0));
    let stage = Setting::default()
        .store(Arc::new(MeddledStore::new(Arc::new(MemoryStore::new()), jammed)))
        .settings("[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n")
        .settings(&rate(""))
        .tool("note.keep", WRITE)
        .options(|options| options.look = Duration::ZERO)
        .open();
    let failed = stage.call("note.keep", fresh()).await;
    assert_eq!(failed.error.unwrap().error_code, Code::StoreUnavailable);
    assert!(ran(&stage.call("note.keep", fresh()).await));
    assert!(!ran(&stage.call("note.keep", fresh()).await));
    assert_eq!(stage.canary.count(), 1);
}

fn clock(moment: &str) -> Arc<StoppedClock> {
    Arc::new(StoppedClock::at(moment.parse().unwrap()))
}

fn turn(clock: &StoppedClock, moment: &str) {
    clock.set(moment.parse().unwrap());
}

fn wait(envelope: &Envelope) -> Option<u64> {
    envelope.error.as_ref().and_then(|error| error.retry.retry_after_ms)
}

#[tokio::test]
async fn quota_frees_exactly_when_oldest_call_leaves_window() {
    let clock = clock("2026-01-01T10:00:00Z");
    let rates = rate("").replace("value = 1", "value = 2").replace("hour", "minute");
    let limit = limits("").replace("value: 1", "value: 2").replace("hour", "minute");
    let own = extras(READ, "{ limits: [{ per: minute, value: 2 }] }");
    for (rates, tool, policy) in
        [(rates.as_str(), READ, None), ("", own.as_str(), None), ("", READ, Some(limit))]
    {
        let mut setting = Setting::default()
            .clock(clock.clone() as Arc<dyn Clock>)
            .settings(rates)
            .tool("note.show", tool);
        if let Some(text) = &policy {
            setting = setting.file(POLICY, text);
        }
        let stage = setting.open();
        let mut waits = Vec::new();
        for moment in ["10:00:00", "10:00:20", "10:00:30", "10:00:59.9995", "10:01:00", "10:01:10"]
        {
            turn(&clock, &format!("2026-01-01T{moment}Z"));
            waits.push(wait(&stage.call("note.show", fresh()).await));
        }
        assert_eq!(waits, [None, None, Some(30_000), Some(1), None, Some(10_000)]);
        let envelope = stage.call("note.show", fresh()).await;
        let Some(Content::Text { text, .. }) = envelope.model_facing_content.first() else {
            panic!()
        };
        assert!(text.contains("wait 10 s, or raise"), "{text}");
    }
}

#[tokio::test]
async fn a_restart_and_another_process_keep_the_count() {
    let rates = rate("").replace("value = 1", "value = 2");
    let setting = || {
        Setting::default()
            .settings(&rates)
            .settings("[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n")
            .tool("note.keep", WRITE)
            .options(|options| options.look = Duration::ZERO)
    };
    let place = setting().open();
    let files =
        || Workspace::load(place.folder.path(), Default::default()).unwrap().store_files().unwrap();
    let stage = setting().store(Arc::new(SqliteStore::open(files()).unwrap())).open();
    assert!(ran(&stage.call("note.keep", fresh()).await));
    let other = stage.another(|_| {});
    let call = || Call::new(stage.agent(), "note.keep", fresh());
    assert!(ran(&other.call(call()).await));
    assert!(!ran(&other.call(call()).await));
    assert!(!ran(&stage.host.call(call()).await), "what the other did is seen");
    stage.host.flush().await.unwrap();
    drop((stage, other));
    let stage = setting().store(Arc::new(SqliteStore::open(files()).unwrap())).open();
    assert!(!ran(&stage.call("note.keep", fresh()).await));
    assert_eq!(stage.canary.count(), 0);
}

const COST: &str = "cost_override: { cost_units_per_call: 40000, currency: USD }\nimplements:";

#[tokio::test]
async fn money_budget_allows_until_spent_then_requires_approval() {
    let clock = clock("2026-01-01T23:00:00Z");
    let stage = Setting::default()
        .clock(clock.clone() as Arc<dyn Clock>)
        .tool("note.keep", WRITE)
        .file(POLICY, &budget("{ max_amount_cents: 100, currency: USD }"))
        .open();
    let unknown = stage.call_and_leave("note.keep", fresh()).await;
    assert_eq!(unknown.status, ResultStatus::Pending);
    assert!(unknown.summary.contains("does not say what the call costs"), "{}", unknown.summary);
    stage.rewrite(".drivers/canary/DRIVER.md", |text| text.replace("implements:", COST));
    for _ in 0..2 {
        let envelope = stage.call_and_leave("note.keep", fresh()).await;
        assert_eq!((envelope.error.clone(), envelope.status), (None, ResultStatus::Succeeded));
        checked(&stage, &envelope).await;
    }
    let spent = stage.call_and_leave("note.keep", fresh()).await;
    assert_eq!(spent.status, ResultStatus::Pending);
    assert!(spent.summary.contains("80 of 100 cents (USD) were spent"), "{}", spent.summary);
    let approved = stage.answer(&spent.approval_id.unwrap(), stage.yes()).await;
    assert_eq!((approved.error, stage.canary.count()), (None, 3));
    turn(&clock, "2026-01-02T00:00:00Z");
    let tomorrow = stage.call_and_leave("note.keep", fresh()).await;
    assert_eq!((tomorrow.error, stage.canary.count()), (None, 4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_at_once_do_not_spend_a_budget_twice() {
    let safe = extras(WRITE, "{ concurrency: { safe: true } }");
    for kind in ["{ max_amount_cents: 200 }", "{ max_per_hour: 5 }", "{ max_per_day: 5 }"] {
        let stage = Setting::default().tool("note.keep", &safe).file(POLICY, &budget(kind)).open();
        stage.rewrite(".drivers/canary/DRIVER.md", |text| text.replace("implements:", COST));
        let (stage, mut calls) = (Arc::new(stage), JoinSet::new());
        let start = Arc::new(Barrier::new(32));
        for _ in 0..32 {
            let (stage, start) = (stage.clone(), start.clone());
            calls.spawn(async move {
                start.wait().await;
                stage.call_and_leave("note.keep", fresh()).await.status
            });
        }
        let ends = calls.join_all().await;
        let of = |status| ends.iter().filter(|end| **end == status).count();
        assert_eq!((of(ResultStatus::Succeeded), of(ResultStatus::Pending)), (5, 27), "{kind}");
        assert_eq!(stage.canary.count(), 5, "{kind}");
    }
}

#[tokio::test]
async fn driver_rate_counts_attempts_while_other_rates_count_calls() {
    let retried = "timeout_ms: 5000\nretry: { max_attempts: 3, backoff: fixed, initial_ms: 1 }\n";
    for (more, attempts, second) in [(", driver = \"canary\"", 2, false), ("", 3, true)] {
        let stage = Setting::default()
            .settings(&rate(more).replace("value = 1", "value = 2"))
            .tool("note.show", &format!("{READ}{retried}"))
            .tool("note.list", READ)
            .act("note.show", |_| {
                Box::pin(async move {
                    let stop = Stop::new(Code::DependencyUnavailable, "not now");
                    Err(Failure::new(stop, EffectState::None))
                })
            })
            .open();
        let envelope = stage.call("note.show", fresh()).await;
        assert_eq!(envelope.error.clone().unwrap().error_code, Code::DependencyUnavailable);
        assert_eq!(stage.canary.count(), attempts, "{more}");
        checked(&stage, &envelope).await;
        assert_eq!(ran(&stage.call("note.list", fresh()).await), second, "{more}");
    }
}

#[tokio::test]
async fn contract_and_driver_max_parallel_bound_concurrent_calls() {
    let two = "{ concurrency: { safe: true, max_parallel: 2 } }";
    let free = "{ concurrency: { safe: true } }";
    let drivers = |most: u64| {
        format!("[limits]\ndrivers = [{{ driver = \"can*\", max_parallel = {most} }}]\n")
    };
    for (settings, haft, expected) in [
        (String::new(), two, 2),
        (drivers(3), free, 3),
        (drivers(1), two, 1),
        (drivers(5), two, 2),
        (String::new(), free, 10),
    ] {
        let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let seen = most.clone();
        let stage = Setting::default()
            .settings(&settings)
            .tool("note.show", &extras(READ, haft))
            .act("note.show", move |_| {
                let (now, seen) = (inside.clone(), seen.clone());
                Box::pin(async move {
                    seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    for _ in 0..20 {
                        tokio::task::yield_now().await;
                    }
                    now.fetch_sub(1, Ordering::SeqCst);
                    Ok(Output::read(json!({})))
                })
            })
            .open();
        let calls = (0..12).map(|_| Call::new(stage.agent(), "note.show", fresh()));
        let ends = stage
            .host
            .runtime()
            .batch_all(Batch::new(calls), CallOptions::default())
            .await
            .unwrap();
        assert!(ends.iter().all(|end| end.error.is_none()));
        let found = (stage.canary.count(), most.load(Ordering::SeqCst));
        assert_eq!(found, (12, expected), "{settings}{haft}");
    }
}

#[tokio::test]
async fn replayed_call_consumes_no_quota() {
    let stage = Setting::default()
        .tool("note.keep", WRITE)
        .settings(&rate(""))
        .settings("[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n")
        .open();
    for again in [false, true] {
        let mut call = Call::new(stage.agent(), "note.keep", json!({"n": 1}));
        call.key = Some("k".to_owned());
        let envelope = stage.host.call(call).await;
        assert!(ran(&envelope));
        assert_eq!(envelope.replayed, again);
    }
    assert!(!ran(&stage.call("note.keep", fresh()).await));
}
