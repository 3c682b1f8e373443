//! Store outage test: a server whose store disappears under it.

use std::fs;

use serde_json::json;

use crate::serve::workspace;
use crate::wire::{Answer, Server};

fn called(server: &Server) -> Answer {
    server.post("/v1/call", &json!({"tool": "time.now", "input": {}}))
}

#[test]
fn deleted_store_stops_a_running_server_from_taking_calls() {
    let folder = workspace();
    let server = Server::of(&folder);
    assert_eq!((called(&server).status, server.get("/v1/ready").status), (200, 200));
    let (haft, away) = (folder.path().join(".haft"), folder.path().join("away"));
    fs::rename(&haft, &away).unwrap();

    // The readiness probe is the first to notice.
    let ready = server.get("/v1/ready");
    let told = ready.json();
    assert_eq!(ready.status, 503, "{told}");
    assert!(told["status"].as_str().unwrap().contains("deleted or moved away"), "{told}");
    let refused = called(&server);
    let envelope = refused.json();
    assert_eq!(refused.status, 503, "{envelope}");
    assert_eq!(envelope["error"]["error_code"], "store.unavailable", "{envelope}");
    assert!(!haft.join("haft.db").exists(), "it made a new one");
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    assert!(metrics.contains("\nhaft_store_up 0\n"), "{metrics}");

    fs::remove_dir_all(&haft).unwrap_or_default();
    fs::rename(&away, &haft).unwrap();
    assert_eq!(server.get("/v1/ready").status, 200);
    assert_eq!(called(&server).status, 200);
    assert!(server.said().contains("store.unavailable"), "{}", server.said());
}
