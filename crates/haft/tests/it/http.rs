//! HTTP driver tests: a host with a contract and a driver of kind http reaches a real server.

use haft::{Host, HostOptions, StoreChoice};
use haft_model::{Call, Code, EffectState, Envelope, ResultStatus};
use haft_runtime::{AnswerOutcome, CallOptions, Patience, Reply};
use haft_testkit::{Act, Backend, Folder, Keys, Then};
use serde_json::{Value, json};

use crate::accepted;

const READ: &str = "mutates: []\nrisk_level: 0\napproval: auto\n";
const WRITE: &str = "mutates: [\"external:shop\"]\nrisk_level: 2\napproval: on-mutate\n";

fn contract(id: &str, effects: &str, host: &str) -> String {
    format!(
        "---\nname: {id}\nid: {id}\ndescription: Does {id}.\nversion: 1.0.0\n{effects}\
         requires: {{ network: [\"{host}\"] }}\n\
         retry: {{ max_attempts: 2, backoff: fixed, initial_ms: 1 }}\n\
         inputs: {{ type: object, properties: {{ order: {{ type: string }} }}, required: [order] }}\n\
         outputs: {{ type: object }}\n---\n"
    )
}

/// A shop whose manifests are all that the host is told about the backend.
fn shop(backend: &Backend) -> Folder {
    let host = backend.host();
    let driver = format!(
        "---\nname: Shop\nid: shop\ndescription: A shop.\nversion: 1.0.0\nkind: http\n\
         base_url: http://{host}\nnetwork: {{ egress: [\"{host}\"] }}\nimplements:\n  \
         - tool: order.get\n    version: ^1\n    metadata:\n      http: {{ endpoint: \"/orders/${{input.order}}\", method: GET }}\n  \
         - tool: order.pay\n    version: ^1\n    metadata:\n      http: {{ endpoint: /pay, body_template: {{ ref: \"${{input.order}}\" }} }}\n---\n"
    );
    Folder::new()
        .file("haft.toml", "[workspace]\nname = \"shop\"\n")
        .file(".tools/order.get/TOOL.md", contract("order.get", READ, &host))
        .file(".tools/order.pay/TOOL.md", contract("order.pay", WRITE, &host))
        .file(".drivers/shop/DRIVER.md", driver)
}

/// A call that a person approves where they are asked.
async fn call(host: &Host, tool: &str, input: Value) -> Envelope {
    let manner = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
    let call = Call::new(host.actor("agent:test"), tool, input);
    let asked = host.runtime().call(call, manner).await;
    let Some(question) =
        asked.approval_id.clone().filter(|_| asked.status == ResultStatus::Pending)
    else {
        return asked;
    };
    let reply = Reply {
        by: host.owner("ana"),
        approves: true,
        reason: None,
        edited_input: None,
        content: None,
        always: false,
        channel: "inbox".into(),
    };
    match host.runtime().answer_and_run(&question, reply).await.unwrap() {
        AnswerOutcome::CarriedOut(envelope) => *envelope,
        other => panic!("{other:?}"),
    }
}

fn open(folder: &Folder) -> Host {
    let options = HostOptions { store: StoreChoice::Memory, ..HostOptions::default() };
    accepted::accept(folder);
    Host::open(folder.path(), options).unwrap()
}

#[tokio::test]
async fn http_read_and_write_reach_backend_from_manifest() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let host = open(&folder);
    backend.will(Act::refuses(Then::json(200, "{\"state\":\"open\"}")));
    let read = call(&host, "order.get", json!({"order": "o 1"})).await;
    assert_eq!(read.error, None);
    assert_eq!(
        (read.structured_content, read.effect_state),
        (Some(json!({"state": "open"})), EffectState::None)
    );
    let written = call(&host, "order.pay", json!({"order": "o1"})).await;
    assert_eq!(written.error, None);
    assert_eq!(
        (written.structured_content, written.effect_state),
        (Some(json!({"id": "effect-1"})), EffectState::Committed)
    );
    let heard: Vec<_> =
        backend.heard().into_iter().map(|heard| (heard.method, heard.path, heard.body)).collect();
    let line = |method: &str, path: &str, body: &str| {
        (method.to_owned(), path.to_owned(), body.to_owned())
    };
    assert_eq!(heard, [line("GET", "/orders/o%201", ""), line("POST", "/pay", "{\"ref\":\"o1\"}")]);
}

#[tokio::test]
async fn result_preserves_64_bit_integers_on_every_path() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let host = open(&folder);
    let body = "{\"id\":1234567890123456789,\"low\":-9223372036854775808,\"n\":1.0}";
    backend.will(Act::refuses(Then::json(200, body)));
    let read = call(&host, "order.get", json!({"order": "o1"})).await;
    assert_eq!(read.structured_content.as_ref().unwrap().to_string(), body);
    let shown = serde_json::to_string(&read.model_facing_content).unwrap();
    assert!(shown.contains("1234567890123456789"), "{shown}");
    host.flush().await.unwrap();
    let kept = host.runtime().reader().result(&read.invocation_id).await.unwrap().unwrap();
    assert_eq!(kept.structured_content, read.structured_content);
}

#[tokio::test]
async fn write_is_retried_only_if_certainly_not_committed() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let host = open(&folder);
    // Left alone for a moment, the backend takes it.
    backend.will(Act::refuses(Then::status(429)));
    let again = call(&host, "order.pay", json!({"order": "o1"})).await;
    assert_eq!((again.error, again.effect_state), (None, EffectState::Committed));
    assert_eq!((backend.heard().len(), backend.effects()), (2, 1));
    // A gateway's failure leaves the outcome unknown, so there is no retry.
    backend.will(Act::commits(Then::status(502)));
    let lost = call(&host, "order.pay", json!({"order": "o2"})).await;
    let error = lost.error.unwrap();
    assert_eq!(
        (error.error_code, error.effect_state),
        (Code::DependencyUnavailable, EffectState::Unknown)
    );
    assert_eq!((backend.heard().len(), backend.effects()), (3, 2));
    // A read may be retried.
    backend.will(Act::refuses(Then::Reset));
    let read = call(&host, "order.get", json!({"order": "o1"})).await;
    assert_eq!((read.error, backend.heard().len()), (None, 5));
}

#[tokio::test]
async fn driver_code_from_host_overrides_manifest_driver() {
    use haft_driver::{Attempt, BoxFuture, Driver, Failure, Output};
    struct Own;
    impl Driver for Own {
        fn run<'a>(&'a self, _: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
            Box::pin(async { Ok(Output::read(json!({"own": true}))) })
        }
    }
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let drivers = [("shop".into(), std::sync::Arc::new(Own) as std::sync::Arc<dyn Driver>)];
    let options = HostOptions {
        store: StoreChoice::Memory,
        drivers: drivers.into(),
        ..HostOptions::default()
    };
    accepted::accept(&folder);
    let host = Host::open(folder.path(), options).unwrap();
    let read = call(&host, "order.get", json!({"order": "o1"})).await;
    assert_eq!(read.structured_content, Some(json!({"own": true})));
    assert_eq!(backend.connections(), 0);
}

/// A vault with one secret in it.
struct OneSecret;

impl haft_driver::Vault for OneSecret {
    fn open<'a>(
        &'a self,
        asked: haft_driver::SecretRequest<'a>,
    ) -> haft_driver::BoxFuture<'a, Result<haft_driver::OpenedSecret, haft_driver::Withheld>> {
        let slug = asked.name.to_owned();
        let value = haft_model::Secret::new(format!("value-of-{slug}"));
        Box::pin(async { Ok(haft_driver::OpenedSecret { slug, value }) })
    }
}

#[tokio::test]
async fn http_driver_authenticates_uploads_file_and_redacts_secret() {
    let backend = Backend::new(Keys::Ignored);
    let host = backend.host();
    let driver = format!(
        "---\nname: Shop\nid: shop\ndescription: A shop.\nversion: 1.0.0\nkind: http\n\
         base_url: http://{host}\nnetwork: {{ egress: [\"{host}\"] }}\n\
         auth: {{ state: {{ env: [USER, WORD] }} }}\nimplements:\n  \
         - tool: order.pay\n    version: ^1\n    metadata:\n      \
         http: {{ endpoint: /pay, headers: {{ X-Word: \"${{secrets.WORD}}\" }}, \
         body_template: {{ bill: {{ file: \"${{input.order}}\" }} }} }}\n      \
         haft: {{ body: multipart, basic: {{ user: USER, password: WORD }} }}\n---\n"
    );
    let folder = shop(&backend).file(".drivers/shop/DRIVER.md", driver).file("bill.txt", "one oil");
    let options = HostOptions {
        store: StoreChoice::Memory,
        vault: Some(std::sync::Arc::new(OneSecret)),
        ..HostOptions::default()
    };
    accepted::accept(&folder);
    let shop = Host::open(folder.path(), options).unwrap();
    // value-of-USER:value-of-WORD
    let basic = "dmFsdWUtb2YtVVNFUjp2YWx1ZS1vZi1XT1JE";
    let echo = format!("{{\"said\":\"value-of-WORD and {basic}\"}}");
    backend.will(Act::commits(Then::json(200, &echo)));
    let paid = call(&shop, "order.pay", json!({"order": "bill.txt"})).await;
    assert_eq!(paid.error, None);
    let heard = backend.heard().remove(0);
    assert_eq!(heard.header("x-word"), Some("value-of-WORD"));
    assert_eq!(heard.header("authorization"), Some(format!("Basic {basic}").as_str()));
    assert!(heard.body.contains("filename=\"bill.txt\"") && heard.body.contains("one oil"));
    let told = json!({"said": "[withheld] and [withheld]"});
    assert_eq!(paid.structured_content, Some(told));
}
