//! MCP tasks: long calls that outlive their request.

use std::sync::Arc;

use haft_model::InvocationId;
use serde_json::{Value, json};

use crate::mcp::stage::{PATIENCE, Stage};

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Capabilities of a client with tasks and forms.
fn able() -> Value {
    json!({ "elicitation": { "form": {} }, "extensions": { TASKS: {} } })
}

impl Stage {
    /// Calls a tool, as a client with the task capability.
    async fn begin(&self, tool: &str) -> Value {
        let params = json!({ "name": tool, "arguments": { "text": "a" } });
        self.sent(self.request_by(able(), "tools/call", tool, params)).await["result"].take()
    }

    /// A request about a task.
    async fn of_task(&self, method: &str, id: &str, more: Value) -> Value {
        let mut params = json!({ "taskId": id });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.sent(self.request_by(able(), method, id, params)).await
    }

    /// The state of a task, once it left a status.
    async fn past(&self, status: &str, id: &str) -> Value {
        let moved = async {
            loop {
                let mut task = self.of_task("tasks/get", id, json!({})).await["result"].take();
                if task["status"] != status {
                    break task.take();
                }
            }
        };
        tokio::time::timeout(PATIENCE, moved).await.unwrap()
    }
}

fn id(task: &Value) -> &str {
    task["taskId"].as_str().unwrap_or_else(|| panic!("{task}"))
}

#[tokio::test]
async fn long_call_becomes_task_only_for_task_clients() {
    let stage = Stage::new().await;
    let created = stage.begin("waits").await;
    assert_eq!((&created["resultType"], &created["status"]), (&json!("task"), &json!("working")));
    let working = stage.of_task("tasks/get", id(&created), json!({})).await["result"].take();
    assert_eq!((&working["status"], &working["result"]), (&json!("working"), &Value::Null));
    assert_eq!(working["createdAt"], created["createdAt"]);
    stage.go.notify_one();
    let done = stage.past("working", id(&created)).await;
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["createdAt"], created["createdAt"]);
    assert_eq!(done["result"]["structuredContent"], json!({ "text": "a" }));
    stage.go.notify_one();
    let params = json!({ "name": "waits", "arguments": { "text": "b" } });
    let answered = stage.call("waits", params).await;
    assert_eq!(answered["result"]["structuredContent"], json!({ "text": "b" }), "{answered}");
}

#[tokio::test]
async fn driver_announcing_long_work_turns_call_into_task() {
    let stage = Stage::new().await;
    let created = stage.begin("later").await;
    assert_eq!(created["resultType"], "task", "{created}");
    stage.go.notify_one();
    assert_eq!(stage.past("working", id(&created)).await["status"], "completed");
}

#[tokio::test]
async fn task_only_contract_refuses_clients_without_tasks() {
    let stage = Stage::new().await;
    let params = json!({ "name": "only", "arguments": { "text": "a" } });
    let refused = stage.call("only", params).await;
    let required = json!({ "requiredCapabilities": { "extensions": { TASKS: {} } } });
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    assert_eq!(refused["error"]["data"], required);
    let created = stage.begin("only").await;
    assert_eq!(stage.past("working", id(&created)).await["status"], "completed");
}

#[tokio::test]
async fn task_cancellation_is_idempotent() {
    let stage = Stage::new().await;
    let created = stage.begin("waits").await;
    tokio::time::timeout(PATIENCE, stage.began.notified()).await.unwrap();
    for _ in 0..2 {
        let off = stage.of_task("tasks/cancel", id(&created), json!({})).await["result"].take();
        assert_eq!(off["resultType"], "complete", "{off}");
        let task = stage.past("working", id(&created)).await;
        assert_eq!(task["status"], "cancelled", "{task}");
    }
}

#[tokio::test]
async fn a_task_asks_its_client_until_everything_is_answered() {
    let stage = Stage::new().await;
    let created = stage.begin("inquires").await;
    let answer = |key: &str| {
        let answer = json!({ "action": "accept", "content": { "said": key } });
        json!({ "inputResponses": { key: answer, "unasked": {} } })
    };
    let asks = stage.past("working", id(&created)).await;
    let asked = asks["inputRequests"].as_object().unwrap_or_else(|| panic!("{asks}"));
    let keys: Vec<&String> = asked.keys().collect();
    assert_eq!((keys.len(), &asks["status"]), (2, &json!("input_required")));
    assert_eq!(asked[keys[0]]["method"], "elicitation/create");
    stage.of_task("tasks/update", id(&created), answer(keys[0])).await;
    let left = stage.past("working", id(&created)).await;
    assert_eq!(left["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), [keys[1]]);
    let told = stage.of_task("tasks/update", id(&created), answer(keys[1])).await;
    assert_eq!(told["result"], json!({ "resultType": "complete" }));
    let done = stage.past("working", id(&created)).await;
    let text =
        done["result"]["structuredContent"]["text"].as_str().unwrap_or_else(|| panic!("{done}"));
    let heard: Value = serde_json::from_str(text).unwrap();
    assert_eq!(heard.as_object().unwrap().keys().collect::<Vec<_>>(), ["name", "place"]);
}

#[tokio::test]
async fn task_is_hidden_from_other_actors_and_plain_clients() {
    let stage = Stage::new().await;
    let created = stage.begin("waits").await;
    let plain = |method| {
        stage.request_by(json!({}), method, id(&created), json!({ "taskId": id(&created) }))
    };
    let refused = stage.sent(plain("tasks/get")).await;
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let mut other = stage.client_of(stage.host.actor("agent:other"));
    for (number, method) in (1..).zip(["tasks/get", "tasks/update", "tasks/cancel"]) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": able(),
        });
        let params = json!({ "taskId": id(&created), "inputResponses": {}, "_meta": meta });
        let request = json!({ "jsonrpc": "2.0", "id": number, "method": method, "params": params });
        other.say(request).await;
        let unknown = other.hear().await;
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    }
    let mine = stage.of_task("tasks/get", id(&created), json!({})).await;
    assert_eq!(mine["result"]["status"], "working", "{mine}");
}

#[tokio::test]
async fn what_a_task_came_to_outlives_its_server() {
    let folder = Arc::new(Stage::folder());
    let first = Stage::kept(folder.clone()).await;
    let created = first.begin("waits").await;
    first.go.notify_one();
    let done = first.past("working", id(&created)).await;
    drop(first);
    let second = Stage::kept(folder).await;
    let again = second.of_task("tasks/get", id(&created), json!({})).await["result"].take();
    assert_eq!(again, done);
    let off = second.of_task("tasks/cancel", id(&created), json!({})).await;
    assert_eq!(off["result"]["resultType"], "complete", "{off}");
}

#[tokio::test]
async fn created_task_is_immediately_visible_to_other_processes() {
    let folder = Arc::new(Stage::folder());
    let (first, second) = (Stage::kept(folder.clone()).await, Stage::kept(folder).await);
    let created = first.begin("waits").await;
    let seen = second.of_task("tasks/get", id(&created), json!({})).await;
    assert_eq!(seen["result"]["status"], "working", "{seen}");
    let off = second.of_task("tasks/cancel", id(&created), json!({})).await;
    assert_eq!(off["result"]["resultType"], "complete", "{off}");
    assert_eq!(second.past("working", id(&created)).await["status"], "cancelled");
}

#[tokio::test]
async fn equal_write_is_deduplicated_until_task_is_read() {
    let stage = Stage::new().await;
    let created = stage.begin("notes").await;
    let (first, reader) = (InvocationId::from(id(&created)), stage.host.reader());
    let ended = async { while reader.result(&first).await.unwrap().is_none() {} };
    tokio::time::timeout(PATIENCE, ended).await.unwrap();
    let again = stage.begin("notes").await;
    assert_eq!(again["_meta"]["dev.haft/invocation-id"], created["taskId"], "{again}");
    // That result was delivered, so an equal call is a new one from now on; and so it is after a
    // task was read.
    let second = stage.begin("notes").await;
    assert_ne!(id(&second), id(&created));
    assert_eq!(stage.past("working", id(&second)).await["status"], "completed");
    let third = stage.begin("notes").await;
    assert_ne!(id(&third), id(&second));
}
