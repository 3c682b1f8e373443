//! Approval answer tests: people, whom no wire knows before they show a token.

use haft::{Host, HostOptions};
use haft_model::{Call, Envelope, Role};
use haft_runtime::{CallOptions, Patience};
use haft_testkit::Folder;

use super::*;

struct Stage {
    desk: Arc<AppState>,
    host: Host,
    // Deleted with the stage.
    _folder: Folder,
}

impl Stage {
    fn new() -> Stage {
        let rule = "[[rule]]\ntool = \"time.now\"\nverdict = \"ask\"\n";
        let folder = Folder::new().file("haft.toml", rule);
        let host = Host::open(folder.path(), HostOptions::default()).unwrap();
        let desk = Arc::new(AppState::new(host.shared_runtime()).unwrap());
        Stage { desk, host, _folder: folder }
    }

    async fn asked(&self) -> Envelope {
        let call = Call::new(self.host.actor("agent:coder"), "time.now", json!({}));
        let options = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
        self.desk.runtime.call(call, options).await
    }

    async fn answer(&self, by: Actor, id: &str, said: Value) -> Result<Value, Problem> {
        let said = serde_json::from_value(said).unwrap();
        let by = By(Arc::new(by));
        let answer =
            answer(State(self.desk.clone()), by, PathParams(id.to_owned()), FlawedBody(said, None))
                .await;
        answer.map(|Json(answer)| answer)
    }
}

#[tokio::test]
async fn eligible_approver_runs_call_exactly_once() {
    let stage = Stage::new();
    let envelope = stage.asked().await;
    let question = envelope.approval_id.unwrap().to_string();
    let yes = || json!({ "decision": "approve", "reason": "fine" });
    let led = stage.answer(stage.host.owner("ana"), &question, yes()).await.unwrap();
    assert_eq!(
        (&led["state"], &led["result"]["status"]),
        (&json!("approved"), &json!("succeeded"))
    );
    assert_eq!(led["invocation_id"], envelope.invocation_id.as_str());
    let again = stage.answer(stage.host.owner("ana"), &question, yes()).await;
    assert!(format!("{:?}", again.unwrap_err()).contains("settled already"));
}

#[tokio::test]
async fn a_no_needs_a_reason_and_ends_the_call() {
    let stage = Stage::new();
    let question = stage.asked().await.approval_id.unwrap().to_string();
    let bare =
        stage.answer(stage.host.owner("ana"), &question, json!({ "decision": "reject" })).await;
    assert!(format!("{:?}", bare.unwrap_err()).contains("a no needs a reason"));
    let no = json!({ "decision": "reject", "reason": "not today" });
    let led = stage.answer(stage.host.owner("ana"), &question, no).await.unwrap();
    assert_eq!((&led["state"], &led["result"]["status"]), (&json!("rejected"), &json!("rejected")));
}

#[tokio::test]
async fn a_question_of_another_tenant_is_not_there() {
    let stage = Stage::new();
    let question = stage.asked().await.approval_id.unwrap().to_string();
    let far = Actor::new(haft_model::ActorId::from("user:far"), "elsewhere", [Role::Admin]);
    let yes = json!({ "decision": "approve" });
    let answered = stage.answer(far, &question, yes).await;
    assert!(format!("{:?}", answered.unwrap_err()).contains("there is no question"));
}
