//! Leak test: a hundred concurrent calls, each a confined program, half of them cancelled while
//! they run, leave nothing behind.
//!
//! It counts the descriptors of its process, and so it is alone in it.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a case that cannot be laid out fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haft::{Host, HostOptions, Launcher, LoadOptions, Workspace};
use haft_driver::Cancel;
use haft_model::{Call, Code};
use haft_runtime::CallOptions;
use haft_testkit::Folder;
use serde_json::json;

/// How long the sleepers sleep: a number that no other process on this machine uses.
const SLEEP: &str = "97013";

fn workspace() -> Folder {
    let tool = |id: &str| {
        format!(
            "---\nname: {id}\nid: {id}\ndescription: Does {id}.\nversion: 1.0.0\nmutates: []\nrisk_level: 0\n\
             timeout_ms: 120000\ninputs: {{ type: object }}\noutputs: {{ type: object }}\n\
             metadata: {{ haft: {{ class: [read-only], concurrency: {{ safe: true }}, supports_cancel: true }} }}\n---\n"
        )
    };
    let driver = format!(
        "---\nname: programs\nid: programs\ndescription: Two programs.\nversion: 1.0.0\nkind: cli\nbin: sh\n\
         implements:\n  - {{ tool: nap, version: ^1, metadata: {{ cli: {{ argv: [\"-c\", \"sleep {SLEEP} & wait\"] }} }} }}\n  \
         - {{ tool: say, version: ^1, metadata: {{ cli: {{ argv: [\"-c\", \"echo done\"] }} }} }}\n---\n"
    );
    let settings = "[workspace]\nname = \"crowd\"\n[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n\
                    [limits]\nmax_parallel = 100\n";
    Folder::new()
        .file("haft.toml", settings)
        .file(".tools/nap/TOOL.md", tool("nap"))
        .file(".tools/say/TOOL.md", tool("say"))
        .file(".drivers/programs/DRIVER.md", driver)
}

/// How many processes sleep for us.
fn sleepers() -> usize {
    let line = format!("sleep\0{SLEEP}\0");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.filter(|found| found == line.as_bytes()).count()
}

/// What each open descriptor of this process leads to, without those of the store, which keeps as many
/// connections as were needed at once.
fn descriptors() -> Vec<String> {
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let links = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    let names = links.map(|link| link.display().to_string());
    names.filter(|name| !name.contains("/.haft/haft.db")).collect()
}

/// Every file below a folder, without the payloads of calls, which are to stay.
fn files(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with(".haft/payloads") {
            files(&path, found);
        } else if path.is_file() {
            found.insert(path.display().to_string());
        }
    }
}

fn all_files(folder: &Folder) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    files(folder.path(), &mut found);
    found
}

/// Looks until it is so; each look gives the calls a turn.
async fn until(what: &str, mut so: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(so(), "{what}: {:#?}", descriptors());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundred_calls_half_cancelled_leave_nothing_behind() {
    let folder = workspace();
    let launcher = Some(Launcher::at(env!("CARGO_BIN_EXE_haft")));
    let options = HostOptions { launcher, ..HostOptions::default() };
    Workspace::load(folder.path(), LoadOptions::default()).unwrap().accept(None).unwrap();
    let host = Arc::new(Host::open(folder.path(), options).unwrap());
    let calling = |tool: &'static str, number: usize, cancel: &Cancel| {
        let (host, cancel) = (Arc::clone(&host), cancel.clone());
        tokio::spawn(async move {
            let call = Call::new(host.actor("agent:crowd"), tool, json!({ "number": number }));
            host.runtime().call(call, CallOptions { cancel, ..CallOptions::default() }).await
        })
    };
    let (wish, none) = (Cancel::new(), Cancel::new());
    // The first call opens what stays open, such as the store.
    calling("say", 1000, &none).await.unwrap();
    let (before, known) = (descriptors(), all_files(&folder));
    let naps: Vec<_> = (0..50).map(|number| calling("nap", number, &wish)).collect();
    let says: Vec<_> = (50..100).map(|number| calling("say", number, &none)).collect();
    until("fifty programs sleep", || sleepers() == 50).await;
    wish.cancel();
    for nap in naps {
        let error = nap.await.unwrap().error.map(|error| error.error_code);
        assert_eq!(error, Some(Code::CanceledCaller));
    }
    for say in says {
        let said = say.await.unwrap().structured_content;
        assert_eq!(said, Some(json!({"text": "done\n"})));
    }
    assert_eq!(sleepers(), 0);
    // The task that watched the last of them lets go a moment after it ended.
    until("descriptors are closed", || descriptors().len() <= before.len()).await;
    assert_eq!(all_files(&folder), known);
}
