//! Tests of MCP secrets: environment or header, and a separate server for each login.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haft_driver::{BoxFuture, OpenedSecret, SecretRequest, Vault, Withheld};
use haft_model::Secret;
use serde_json::json;

use crate::mcp::elsewhere::Elsewhere;
use crate::mcp::stage::Stage;

/// A test vault with one value per actor, until the test changes it.
#[derive(Default)]
struct Purse {
    opened: AtomicUsize,
    suffix: Mutex<String>,
}

impl Vault for Purse {
    fn open<'a>(
        &'a self,
        asked: SecretRequest<'a>,
    ) -> BoxFuture<'a, Result<OpenedSecret, Withheld>> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        let value = format!("{} of {}{}", asked.name, asked.actor.id, self.suffix.lock().unwrap());
        let slug = asked.name.to_owned();
        Box::pin(async move { Ok(OpenedSecret { slug, value: Secret::new(value) }) })
    }
}

#[test]
fn secret_enters_environment_of_a_process_never_shared() {
    let purse = Arc::new(Purse::default());
    let mut stage = Stage::reading("env", &[]).entry("result_extract", json!("$.text"));
    stage.manifest["server"]["env"] = json!({"LOGIN": "key ${secrets.API_KEY}!"});
    stage.vault = Some(purse.clone());
    let login = |stage: &mut Stage| {
        stage
            .run(json!({"text": "LOGIN"}))
            .output()
            .structured
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    };
    let calls = |stage: &mut Stage| {
        stage.journal().into_iter().filter(|heard| heard == "tools/call").count()
    };
    assert_eq!(login(&mut stage), "key API_KEY of agent:test!");
    assert_eq!(calls(&mut stage), 2);
    stage.actor = "agent:other";
    assert_eq!(login(&mut stage), "key API_KEY of agent:other!");
    assert_eq!(calls(&mut stage), 2);
    // Another value is another login.
    *purse.suffix.lock().unwrap() = " renewed".into();
    assert_eq!(login(&mut stage), "key API_KEY of agent:other renewed!");
    // It was opened, and so recorded and redacted, in every call.
    assert_eq!(purse.opened.load(Ordering::SeqCst), 5);
}

#[test]
fn a_token_is_in_the_header_of_every_request() {
    let server = Elsewhere::new(true);
    let host = server.host();
    let auth = json!({"bearer": "${secrets.TOKEN}"});
    let remote = json!({"kind": "remote", "url": format!("http://{host}/mcp"), "auth": auth});
    let mut stage = Stage::reading("do", &[])
        .with("server", remote)
        .with("transport", json!("http"))
        .with("network", json!({"egress": [host]}));
    stage.network = vec![server.host()];
    stage.vault = Some(Arc::new(Purse::default()));
    stage.run(json!({})).output();
    let carried: Vec<Option<String>> = server
        .heard()
        .iter()
        .map(|heard| heard.header("authorization").map(str::to_owned))
        .collect();
    assert_eq!(carried, vec![Some("Bearer TOKEN of agent:test".to_owned()); 3]);
}
