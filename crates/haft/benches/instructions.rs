//! Instruction-count benchmark of one call, which does not depend on the machine's load.
//!
//! `cargo install gungraun-runner --version 0.20.0`, then `cargo bench -p haft --bench instructions`;
//! needs valgrind.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]
#![allow(missing_docs, reason = "what the macros write has no doc comments")]

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use haft::{Host, HostOptions, StoreChoice};
use haft_model::{Call, Envelope};
use haft_testkit::Folder;
use serde_json::{Value, json};

struct Ready {
    host: Host,
    runtime: tokio::runtime::Runtime,
    call: Call,
    _folder: Folder,
}

/// A host whose schemas are compiled, and the call that is measured.
fn ready(tool: &str, input: Value) -> Ready {
    let folder = Folder::new().file("haft.toml", "").file("note.txt", "a short note\n");
    let options = HostOptions { store: StoreChoice::Memory, ..HostOptions::default() };
    let host = Host::open(folder.path(), options).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let call = Call::new(host.actor("agent:bench"), tool, input);
    runtime.block_on(host.call(call.clone()));
    Ready { host, runtime, call, _folder: folder }
}

#[library_benchmark]
#[bench::time_now(ready("time.now", json!({})))]
#[bench::fs_read(ready("fs.read", json!({"path": "note.txt"})))]
#[bench::refused(ready("fs.read", json!({"path": 5})))]
fn call(ready: Ready) -> Envelope {
    black_box(ready.runtime.block_on(ready.host.call(ready.call.clone())))
}

library_benchmark_group!(name = calls; benchmarks = call);
main!(library_benchmark_groups = calls);
