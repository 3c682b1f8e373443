//! MCP server reuse: a reload restarts a server when its own files changed, and keeps it when
//! others did.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haft_model::{Call, Envelope};
use haft_runtime::CallOptions;
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::mcp::{CONTRACT, DRIVER, SERVER, greeter, host};

/// Other files of the workspace, which have nothing to do with the greeter.
const OTHER: &str = "---\nname: Wave\nid: wave\ndescription: Waves.\nversion: 1.0.0\nmutates: []\n\
    risk_level: 0\ninputs: { type: object }\noutputs: { type: object }\n---\n";

/// The processes of this machine whose command lines end with something that no other has.
fn processes(last: &str) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let is_one = |path: &Path| {
        let line = fs::read_to_string(path.join("cmdline")).unwrap_or_default();
        line.split_terminator('\0').next_back() == Some(last)
    };
    let found = all.filter(|process| is_one(&process.path()));
    found.filter_map(|process| process.file_name().to_str()?.parse().ok()).collect()
}

/// Looks until it is so.
async fn until<T>(what: &str, mut so: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1500 {
        if let Some(found) = so() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("never: {what}")
}

/// A greeter whose processes are told from those of other tests, and that sleeps where it is told to.
struct Greeter {
    folder: Folder,
    name: String,
    sleep: String,
}

impl Greeter {
    fn new() -> Greeter {
        let folder = greeter();
        let name = folder.path().file_name().unwrap().to_str().unwrap().to_owned();
        let sleep = format!("2.0{}", std::process::id());
        let slow = format!("*'\"wait\":true'*) sleep {sleep};; esac; case \"$line\" in");
        let server =
            SERVER.replacen("*'\"initialize\"'*)", &format!("{slow}\n    *'\"initialize\"'*)"), 1);
        let folder = folder.file("server.sh", server);
        let greeter = Greeter { folder, name, sleep };
        greeter.put(".tools/greet/TOOL.md", &contract("Greets."));
        greeter.put(".drivers/greeter/DRIVER.md", &greeter.driver("Greets."));
        greeter
    }

    fn driver(&self, words: &str) -> String {
        let args = format!("[./server.sh, {}]", self.name);
        let driver = DRIVER.replace("[./server.sh]", &args);
        driver.replacen("description: Greets.", &format!("description: {words}"), 1)
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn pids(&self) -> Vec<u32> {
        processes(&self.name)
    }

    /// The one process that there is, once there is one.
    async fn pid(&self) -> u32 {
        until("one server is left", || match self.pids()[..] {
            [pid] => Some(pid),
            _ => None,
        })
        .await
    }
}

/// The contract, of which several calls may be in flight.
fn contract(words: &str) -> String {
    let side_by_side =
        "metadata: { haft: { class: [read-only], concurrency: { safe: true } } }\n---";
    let contract = CONTRACT.replace("\n---\n", &format!("\n{side_by_side}\n"));
    contract.replacen("description: Greets.", &format!("description: {words}"), 1)
}

async fn greet(host: &haft::Host, input: Value) -> Envelope {
    let call = Call::new(host.actor("agent:test"), "greet", input);
    host.runtime().call(call, CallOptions::default()).await
}

#[track_caller]
fn greeted(envelope: &Envelope) {
    assert_eq!(
        (&envelope.error, &envelope.structured_content),
        (&None, &Some(json!({"said": "hello"})))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn mcp_server_restarts_only_when_its_own_manifests_change() {
    let greeter = Greeter::new();
    let host = host(&greeter.folder);
    greeted(&greet(&host, json!({})).await);
    let first = greeter.pid().await;
    greeter.put(".tools/wave/TOOL.md", OTHER);
    host.refresh().unwrap();
    assert!(host.workspace().snapshot().find("wave").is_some());
    greeted(&greet(&host, json!({})).await);
    assert_eq!(greeter.pids(), [first], "another file is none of its business");
    greeter.put(
        "haft.toml",
        "[workspace]\nname = \"greeter\"\n[[rule]]\ntool = \"wave\"\nverdict = \"deny\"\n",
    );
    host.refresh().unwrap();
    greeted(&greet(&host, json!({})).await);
    assert_eq!(greeter.pids(), [first], "nor are the rules");
    greeter.put(".drivers/greeter/DRIVER.md", &greeter.driver("Greets well."));
    host.refresh().unwrap();
    greeted(&greet(&host, json!({})).await);
    let second = greeter.pid().await;
    assert_ne!(second, first, "its manifest is");
    greeter.put(".tools/greet/TOOL.md", &contract("Greets everybody."));
    host.refresh().unwrap();
    greeted(&greet(&host, json!({})).await);
    assert_ne!(greeter.pid().await, second, "and so is its contract");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_flight_call_keeps_its_mcp_server_across_reload() {
    let greeter = Greeter::new();
    let host = Arc::new(host(&greeter.folder));
    let caller = host.clone();
    let slow = tokio::spawn(async move { greet(&caller, json!({"wait": true})).await });
    until("it is under way", || processes(&greeter.sleep).first().copied()).await;
    let first = greeter.pid().await;
    greeter.put(".drivers/greeter/DRIVER.md", &greeter.driver("Greets well."));
    host.refresh().unwrap();
    greeted(&greet(&host, json!({})).await);
    assert!(!slow.is_finished(), "the first is still under way");
    assert_eq!(greeter.pids().len(), 2, "each has a server of its own");
    greeted(&slow.await.unwrap());
    assert_ne!(greeter.pid().await, first, "the first goes with its last call");
}
