//! Elicitation and approval over MCP: what callers are asked, and who may answer.

use std::sync::Arc;

use haft::StoreChoice;
use haft_model::{InvocationId, QuestionId, Role};
use haft_runtime::Reply;
use haft_server::ClientLimits;
use haft_testkit::Folder;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::mcp::stage::{PATIENCE, Stage};

fn answers() -> Value {
    json!({ "name": { "action": "accept", "content": { "name": "Ana" } } })
}

#[tokio::test]
async fn request_state_is_single_use_and_bound_to_input() {
    let stage = Stage::new().await;
    let asked = stage.call("curious", json!({ "name": "curious", "arguments": {} })).await;
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(result["inputRequests"]["name"]["method"], "elicitation/create");
    let back = |arguments: Value, state: &Value, answers: Value| {
        json!({
            "name": "curious", "arguments": arguments,
            "inputResponses": answers, "requestState": state,
        })
    };
    let state = &result["requestState"];
    let other = stage.call("curious", back(json!({ "text": "else" }), state, answers())).await;
    assert_eq!(other["error"]["code"], -32602, "{other}");
    let forged = stage.call("curious", back(json!({}), &json!("rs1.AA.MQ.AA"), answers())).await;
    assert_eq!(forged["error"]["code"], -32602, "{forged}");
    // A client that resumes without answers is asked again, under another name.
    let again = stage.call("curious", back(json!({}), state, json!({}))).await;
    assert_eq!(again["result"]["resultType"], "input_required", "{again}");
    let used = stage.call("curious", back(json!({}), state, answers())).await;
    assert_eq!(used["error"]["code"], -32602, "{used}");
    let state = &again["result"]["requestState"];
    let done = stage.call("curious", back(json!({}), state, answers())).await;
    let text = done["result"]["structuredContent"]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), answers());
}

#[tokio::test]
async fn a_client_that_leaves_calls_its_call_off() {
    let stage = Stage::new().await;
    let params = json!({ "name": "lingers", "arguments": {} });
    let request = stage.request("tools/call", "lingers", params);
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    tokio::time::timeout(PATIENCE, stage.began.notified()).await.unwrap();
    drop(stream);
    tokio::time::timeout(PATIENCE, stage.told.notified()).await.unwrap();
}

#[tokio::test]
async fn person_approves_by_elicitation_and_agent_gets_pending_approval() {
    let stage = Stage::new().await;
    let pending =
        stage.call("writes", json!({ "name": "writes", "arguments": { "text": "a" } })).await;
    let approval = &pending["result"]["_meta"]["dev.haft/approval"];
    assert_eq!(approval["state"], "open", "{pending}");
    let mut ana = stage.person().await;
    let params = json!({ "name": "writes", "arguments": { "text": "b" } });
    ana.say(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
    let asked = ana.hear().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let answer = json!({ "action": "accept", "content": { "approve": true } });
    ana.say(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer })).await;
    let done = ana.hear().await;
    assert_eq!(done["result"]["structuredContent"], json!({ "text": "b" }), "{done}");
}

#[tokio::test]
async fn client_without_elicitation_is_told_where_to_answer() {
    let stage = Stage::new().await;
    let params = json!({ "name": "curious", "arguments": {} });
    let pending = stage.call_plainly("curious", params).await;
    let meta = &pending["result"]["_meta"];
    assert_eq!(meta["dev.haft/approval"]["state"], "open", "{pending}");
    let text = pending["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("its backend asks: “Who?”; a person has to decide (apr_"), "{text}");
    let id = meta["dev.haft/approval"]["approval_id"].as_str().unwrap();
    let mut ana = stage.host.actor("user:ana");
    ana.roles.insert(Role::Approver);
    let reply = Reply {
        by: ana,
        approves: true,
        reason: None,
        edited_input: None,
        content: Some(json!({ "name": "Ana" })),
        always: false,
        channel: "inbox".to_owned(),
    };
    stage.host.runtime().answer(&QuestionId::from(id), reply).await.unwrap();
    let call = InvocationId::from(meta["dev.haft/invocation-id"].as_str().unwrap());
    let reader = stage.host.reader();
    let ended = async {
        loop {
            match reader.result(&call).await.unwrap() {
                Some(envelope) => break envelope.structured_content.unwrap(),
                None => tokio::task::yield_now().await,
            }
        }
    };
    let told = tokio::time::timeout(PATIENCE, ended).await.unwrap();
    let text = told["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), answers());
}

#[tokio::test]
async fn unanswered_form_is_withdrawn_at_client_of_2025() {
    let settings = "[workspace]\nname = \"stage\"\n[limits]\nform_ms = 50\n";
    let folder = Arc::new(Folder::new().file("haft.toml", settings));
    let stage = Stage::over(folder, StoreChoice::Memory, ClientLimits::default()).await;
    let mut ana = stage.person().await;
    let params = json!({ "name": "curious", "arguments": {} });
    ana.say(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
    let asked = ana.hear().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let withdrawn = ana.hear().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    let done = ana.hear().await;
    assert_eq!((&done["id"], &done["result"]["isError"]), (&json!(1), &json!(true)), "{done}");
    assert!(done.to_string().contains("approval.expired"), "{done}");
}
