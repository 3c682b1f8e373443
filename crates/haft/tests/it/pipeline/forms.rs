//! Elicitation tests: forms that a backend wants filled in while a call runs, answered, declined or
//! left.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_driver::{
    Abilities, Attempt, BoxFuture, Caller, Cancel, Failure, Inquiry, InquiryKind, Output, Remark,
};
use haft_ledger::{QuestionFilter, QuestionRecord, RunFilter};
use haft_model::{
    Call, Code, EffectState, Envelope, QuestionState, Reported, ResultStatus, Status, Stop,
};
use haft_runtime::{
    AnswerOutcome, CallOptions, CancelAnswer, Leave, Patience, Reply, StoppedClock,
};
use serde_json::{Value, json};

use crate::stage::*;
use crate::story::checked;

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

/// How many rooms, and of which kind.
fn rooms() -> Value {
    json!({
        "type": "object", "required": ["count"],
        "properties": {
            "count": { "type": "integer", "minimum": 1, "title": "How many" },
            "kind": { "type": "string", "enum": ["plain", "large"], "default": "plain" },
        },
    })
}

/// A backend that asks, and gives back what it is told; anything but a yes is a failure.
fn asks(attempt: Attempt<'_>, schema: Value) -> BoxFuture<'_, Result<Output, Failure>> {
    Box::pin(async move {
        let writes = attempt.plan.effects.may_mutate();
        if writes {
            attempt.link.submit().await?;
        }
        assert!(attempt.abilities.kinds.contains(&InquiryKind::Form));
        let params = json!({
            "mode": "form", "message": "How many\u{202e} rooms?\u{1b}[2J", "requestedSchema": schema,
        });
        let inquiry = Inquiry { kind: InquiryKind::Form, params };
        let effect = if writes { EffectState::NotCommitted } else { EffectState::None };
        let answers = tokio::select! {
            answers = attempt.link.ask([("q".to_owned(), inquiry)].into()) => answers,
            () = attempt.time.over() => {
                Err(Stop::new(Code::TimeoutUnknownCommit, "time ran out while it asked"))
            }
        };
        let answer = answers.map_err(|stop| Failure::new(stop, effect))?.remove("q").unwrap();
        match answer["action"].as_str() {
            Some("accept") if writes => Ok(Output::committed(answer)),
            Some("accept") => Ok(Output::read(answer)),
            said => {
                let words = format!("no room was booked ({})", said.unwrap());
                Err(Failure::new(Stop::new(Code::ExecutionFailed, words), effect))
            }
        }
    })
}

fn hotel() -> Setting {
    Setting::default()
        .tool("book", &format!("timeout_ms: 300\n{READ}"))
        .tool("buy", &format!("timeout_ms: 300\n{WRITE}"))
        .settings(ALLOW)
        .act("book", |attempt| asks(attempt, rooms()))
        .reporting_act("buy", |attempt| asks(attempt, rooms()))
}

impl Stage {
    /// The form that is open, once there is one.
    pub(crate) async fn form(&self) -> QuestionRecord {
        let filter = QuestionFilter { open: true, ..QuestionFilter::default() };
        let mut seen = None;
        loop {
            if let Some(record) = self.store.questions(&filter).await.unwrap().pop() {
                return record;
            }
            seen = self.store.wait_past(seen, Duration::from_secs(30)).await.unwrap();
        }
    }

    async fn state(&self, record: &QuestionRecord) -> QuestionState {
        let id = Some(record.question.id.clone());
        let filter = QuestionFilter { id, ..QuestionFilter::default() };
        self.store.questions(&filter).await.unwrap().pop().unwrap().state
    }

    pub(crate) fn filled(&self, content: Value) -> Reply {
        Reply { content: Some(content), ..self.yes() }
    }
}

#[tokio::test]
async fn answered_form_lets_call_continue() {
    let stage = hotel().open();
    let person = async {
        let record = stage.form().await;
        let question = &record.question;
        let form = question.form.as_ref().unwrap();
        assert_eq!(form.message, "How many rooms?", "nothing hides in the backend's words");
        assert!(question.summary.contains("its backend asks: “How many rooms?"), "{question:?}");
        let run = stage.store.runs(&RunFilter::default()).await.unwrap().remove(0);
        assert_eq!(
            (run.status, run.approval_id.as_ref()),
            (Status::NeedsInput, Some(&question.id))
        );
        // Longer than the call's timeout, which stands still meanwhile.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let reply = stage.filled(json!({"count": 2}));
        let answered = stage.host.runtime().answer_and_run(&question.id, reply).await.unwrap();
        assert!(matches!(answered, AnswerOutcome::Passed), "{answered:?}");
        record
    };
    let (envelope, record) = tokio::join!(stage.call("book", json!({})), person);
    let told = json!({"action": "accept", "content": {"count": 2, "kind": "plain"}});
    assert_eq!((&envelope.error, &envelope.structured_content), (&None, &Some(told)));
    assert_eq!(stage.state(&record).await, QuestionState::Approved);
    let events = stage.events(&envelope.invocation_id).await;
    let asked: Vec<&str> = events
        .iter()
        .map(String::as_str)
        .filter(|name| name.starts_with("haft.input") || name.starts_with("haft.approval"))
        .collect();
    assert_eq!(asked, ["haft.input.requested", "haft.approval.answered", "haft.input.ended"]);
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn form_rejects_unauthorized_or_invalid_answer_and_stays_open() {
    let stage = hotel().open();
    let person = async {
        let record = stage.form().await;
        let id = &record.question.id;
        let refused = async |reply: Reply| {
            let stop = stage.host.runtime().answer(id, reply).await.unwrap_err();
            assert_eq!(stage.state(&record).await, QuestionState::Open);
            (stop.code, stop.message, stop.field.unwrap_or_default(), stop.help.unwrap_or_default())
        };
        let agent = Reply { by: stage.agent(), ..stage.filled(json!({"count": 2})) };
        let (code, words, ..) = refused(agent).await;
        assert_eq!(
            (code, words.as_str()),
            (Code::PermissionDenied, "`agent:coder` is no person, and only a person answers")
        );
        for (content, words, field, help) in [
            (
                json!({"count": "two"}),
                "the field `count` cannot be `two`: it is not a whole number",
                "/count",
                "give `count` a whole number",
            ),
            (
                json!({"count": 0}),
                "the field `count` cannot be `0`: it must be at least 1",
                "/count",
                "give `count` a whole number",
            ),
            (
                json!({"count": 1, "kind": "vast"}),
                "the field `kind` cannot be `vast`: it is none of the choices",
                "/kind",
                "give `kind` one of plain, large",
            ),
            (
                json!({}),
                "the field `count` has to be filled in",
                "/count",
                "add `--field count=…`, a whole number",
            ),
            (
                json!({"count": 1, "colour": "red"}),
                "the form has no field `colour`",
                "/colour",
                "it has `count`, `kind`",
            ),
        ] {
            let (code, said, at, advice) = refused(stage.filled(content)).await;
            assert_eq!(
                (code, said.as_str(), at.as_str(), advice.as_str()),
                (Code::InputValue, words, field, help)
            );
        }
        let edited = Reply { edited_input: Some(json!({})), ..stage.yes() };
        assert_eq!(refused(edited).await.0, Code::InputValue);
        let always = Reply { always: true, ..stage.filled(json!({"count": 1})) };
        assert_eq!(refused(always).await.0, Code::InputValue);
        stage.host.runtime().answer(id, stage.filled(json!({"count": 1}))).await.unwrap();
    };
    let (envelope, ()) = tokio::join!(stage.call("book", json!({})), person);
    assert_eq!(envelope.status, ResultStatus::Succeeded);
}

#[tokio::test]
async fn stop_with_an_open_form_waits_for_no_person() {
    let stage = hotel().open();
    let stopping = async {
        let record = stage.form().await;
        // Much longer than any test waits: the withdrawal of the form ends it.
        let stopped = stage.host.runtime().stop(Duration::from_secs(3600));
        let left = tokio::time::timeout(Duration::from_secs(30), stopped).await.unwrap();
        (record, left)
    };
    let (envelope, (record, left)) = tokio::join!(stage.call("buy", json!({})), stopping);
    assert_eq!((left, stage.state(&record).await), (0, QuestionState::Withdrawn));
    assert_eq!(
        envelope.error.as_ref().map(|error| error.message.as_str()),
        Some("no room was booked (cancel)")
    );
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn declined_form_is_reported_to_backend_and_caller() {
    let stage = hotel().open();
    let person = async {
        let record = stage.form().await;
        let reply = stage.no("the hotel is too dear");
        stage.host.runtime().answer(&record.question.id, reply).await.unwrap();
        record
    };
    let (envelope, record) = tokio::join!(stage.call("buy", json!({})), person);
    let error = envelope.error.clone().unwrap();
    assert_eq!(
        (error.error_code, error.message.as_str(), error.effect_state, envelope.final_status),
        (
            Code::ApprovalRejected,
            "`user:ana` said no: the hotel is too dear; no room was booked (decline)",
            EffectState::NotCommitted,
            Status::Failed,
        )
    );
    assert_eq!(stage.state(&record).await, QuestionState::Rejected);
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn unanswered_form_expires_and_cancels_at_backend() {
    let stage = hotel().options(|options| options.form = Duration::from_millis(30)).open();
    let (envelope, record) = tokio::join!(stage.call("book", json!({})), stage.form());
    let error = envelope.error.clone().unwrap();
    assert_eq!(error.error_code, Code::ApprovalExpired);
    let words = "the backend's form was not filled in by ";
    assert!(error.message.starts_with(words), "{}", error.message);
    assert!(error.message.ends_with("; no room was booked (cancel)"), "{}", error.message);
    assert_eq!(stage.state(&record).await, QuestionState::Expired);
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn nonwaiting_caller_gets_pending_form_and_call_continues() {
    let stage = hotel().open();
    let told: Arc<Mutex<Vec<Envelope>>> = Arc::default();
    let heard = told.clone();
    let leave: Leave = Arc::new(move |envelope| heard.lock().unwrap().push(envelope));
    let manner =
        CallOptions { patience: Patience::Leave, leave: Some(leave), ..CallOptions::default() };
    let call = Call::new(stage.agent(), "buy", json!({"n": 1}));
    let calling = stage.host.runtime().call(call, manner);
    let person = async {
        let record = stage.form().await;
        let pending = loop {
            if let Some(pending) = told.lock().unwrap().pop() {
                break pending;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(
            (pending.status, pending.final_status, pending.approval_id.as_ref()),
            (ResultStatus::Pending, Status::NeedsInput, Some(&record.question.id))
        );
        assert_eq!(pending.effect_state, EffectState::Submitted);
        // A repeat meanwhile joins the first call, and waits for the same people.
        let again = stage.call_and_leave("buy", json!({"n": 1})).await;
        assert_eq!(
            (again.invocation_id, again.final_status, again.approval_id),
            (pending.invocation_id, Status::NeedsInput, pending.approval_id)
        );
        let reply = stage.filled(json!({"count": 3}));
        stage.host.runtime().answer(&record.question.id, reply).await.unwrap();
    };
    let (envelope, ()) = tokio::join!(calling, person);
    assert_eq!(envelope.status, ResultStatus::Succeeded);
    assert_eq!(stage.canary.count(), 1);
}

#[tokio::test]
async fn form_capability_is_withheld_where_no_person_can_answer() {
    let promised = |attempt: Attempt<'_>| -> bool { !attempt.abilities.kinds.is_empty() };
    let quiet = |setting: Setting| {
        setting.tool("look", READ).settings(ALLOW).act("look", move |attempt| {
            Box::pin(async move { Ok(Output::read(json!({"promised": promised(attempt)}))) })
        })
    };
    let asked = async |stage: &Stage, manner: CallOptions<'_>| {
        let call = Call::new(stage.agent(), "look", json!({}));
        let envelope = stage.host.runtime().call(call, manner).await;
        envelope.structured_content.unwrap()["promised"].clone()
    };
    let stage = quiet(Setting::default()).open();
    assert_eq!(asked(&stage, CallOptions::default()).await, json!(true));
    let leaves = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
    assert_eq!(asked(&stage, leaves).await, json!(false), "nobody would hold the driver");
    for off in ["forms = \"off\"", "non_interactive = \"deny\""] {
        let stage = quiet(Setting::default().settings(&format!("[workspace]\n{off}"))).open();
        assert_eq!(asked(&stage, CallOptions::default()).await, json!(false), "{off}");
    }
}

#[tokio::test]
async fn form_requesting_secret_is_declined_without_question() {
    let schema = json!({"type": "object", "properties": {"apiKey": {"type": "string"}}});
    let stage = Setting::default()
        .tool("book", READ)
        .settings(ALLOW)
        .act("book", move |attempt| asks(attempt, schema.clone()))
        .open();
    let error = stage.call("book", json!({})).await.error.unwrap();
    let words = "the backend asks for a secret by a form: its field `apiKey` is named like one; \
                 no room was booked (decline)";
    assert_eq!((error.error_code, error.message.as_str()), (Code::ApprovalRequired, words));
    let all = stage.store.questions(&QuestionFilter::default()).await.unwrap();
    assert_eq!(all, []);
}

#[tokio::test]
async fn cancelled_call_withdraws_its_form() {
    let stage = hotel().open();
    let person = async {
        let record = stage.form().await;
        let id = &record.question.bound.invocation;
        let told = stage.host.runtime().cancel(id, &stage.owner()).await.unwrap();
        assert_eq!(told, CancelAnswer::Told);
        record
    };
    let (envelope, record) = tokio::join!(stage.call("book", json!({})), person);
    assert!(envelope.is_error);
    assert_eq!(stage.state(&record).await, QuestionState::Withdrawn);
    checked(&stage, &envelope).await;
}

/// Dies as soon as a form is open.
async fn die(stage: &Stage, calling: impl Future) -> QuestionRecord {
    tokio::select! {
        record = stage.form() => record,
        _ = calling => panic!("it ended"),
    }
}

#[tokio::test]
async fn recovery_closes_orphaned_form_without_resending_write() {
    let clock = Arc::new(StoppedClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
    let stage = hotel().clock(clock.clone()).open();
    for (tool, code, effect) in [
        ("buy", Code::ExecutionFailed, EffectState::Unknown),
        ("book", Code::Internal, EffectState::None),
    ] {
        let record = die(&stage, stage.call(tool, json!({}))).await;
        let now = haft_runtime::Clock::now(clock.as_ref());
        clock.set(now.checked_add(Duration::from_secs(60)).unwrap());
        let before = stage.canary.count();
        let settled = stage.another(|_| {}).runtime().recover().await.unwrap();
        let [envelope] = &settled[..] else { panic!("{settled:?}") };
        let error = envelope.error.as_ref().unwrap();
        assert_eq!((error.error_code, error.effect_state), (code, effect), "{tool}");
        assert_eq!(stage.canary.count(), before, "{tool}");
        assert_eq!(stage.state(&record).await, QuestionState::Withdrawn, "{tool}");
        let reply = stage.filled(json!({"count": 2}));
        let late = stage.host.runtime().answer(&record.question.id, reply).await.unwrap_err();
        assert_eq!(late.code, Code::Conflict, "{tool}");
        checked(&stage, envelope).await;
    }
}

/// A client that shows forms, and answers them after a while or never.
struct Client {
    abilities: Abilities,
    after: Option<Duration>,
}

impl Client {
    fn answering(after: Option<Duration>) -> Arc<Client> {
        let abilities = Abilities { kinds: [InquiryKind::Form].into(), ..Abilities::default() };
        Arc::new(Client { abilities, after })
    }
}

impl Caller for Client {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn ask(
        &self,
        asked: BTreeMap<String, Inquiry>,
    ) -> BoxFuture<'_, Result<BTreeMap<String, Value>, Stop>> {
        Box::pin(async move {
            let Some(after) = self.after else { return std::future::pending().await };
            tokio::time::sleep(after).await;
            let filled_in = json!({"action": "accept", "content": {"count": 2}});
            Ok(asked.into_keys().map(|name| (name, filled_in.clone())).collect())
        })
    }

    fn progress(&self, _: &Reported) {}

    fn remark(&self, _: Remark) {}
}

async fn called_by(stage: &Stage, client: Arc<Client>, cancel: Cancel) -> Envelope {
    let options = CallOptions { caller: Some(client), cancel, ..CallOptions::default() };
    stage.host.runtime().call(Call::new(stage.agent(), "book", json!({})), options).await
}

#[tokio::test]
async fn timeout_is_paused_while_the_caller_fills_in() {
    let stage = hotel().open();
    let client = Client::answering(Some(Duration::from_millis(500)));
    let envelope = called_by(&stage, client, Cancel::new()).await;
    let told = json!({"action": "accept", "content": {"count": 2}});
    assert_eq!((&envelope.error, &envelope.structured_content), (&None, &Some(told)));
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn unanswered_and_cancelled_forms_open_no_circuit() {
    let stage = hotel().options(|options| options.form = Duration::from_millis(20)).open();
    for _ in 0..6 {
        let envelope = called_by(&stage, Client::answering(None), Cancel::new()).await;
        let error = envelope.error.unwrap();
        let words = "the caller did not answer the backend within 0.02 s";
        assert_eq!((error.error_code, error.message.as_str()), (Code::ApprovalExpired, words));
    }
    for _ in 0..6 {
        let cancel = Cancel::new();
        cancel.cancel();
        let envelope = called_by(&stage, Client::answering(None), cancel).await;
        assert!(envelope.is_error);
    }
    let client = Client::answering(Some(Duration::ZERO));
    let envelope = called_by(&stage, client, Cancel::new()).await;
    assert_eq!(envelope.status, ResultStatus::Succeeded, "{:?}", envelope.error);
}
