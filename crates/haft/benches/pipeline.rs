//! Pipeline benchmark: wall clock of one call by criterion, `cargo bench -p haft --bench pipeline`.
//!
//! Each is measured over a store in memory and over the one on the disk, so that what the ledger
//! costs the caller can be seen.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]

use criterion::{Criterion, criterion_group, criterion_main};
use haft::{Host, HostOptions, StoreChoice};
use haft_model::Call;
use haft_testkit::Folder;
use serde_json::{Value, json};

/// The allocator of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn calls(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (name, store) in [("memory", StoreChoice::Memory), ("disk", StoreChoice::Settings)] {
        let folder = Folder::new().file("haft.toml", "").file("note.txt", "a short note\n");
        let options = HostOptions { store, ..HostOptions::default() };
        let host = Host::open(folder.path(), options).unwrap();
        let mut group = criterion.benchmark_group(name);
        for (tool, input) in READS {
            let actor = host.actor("agent:bench");
            let input: Value = serde_json::from_str(input).unwrap();
            group.bench_function(tool, |bencher| {
                bencher.iter(|| {
                    let call = Call::new(actor.clone(), tool, input.clone());
                    runtime.block_on(host.call(call))
                });
            });
        }
        let actor = host.actor("agent:bench");
        group.bench_function("refused", |bencher| {
            bencher.iter(|| {
                let call = Call::new(actor.clone(), "fs.read", json!({"path": 5}));
                runtime.block_on(host.call(call))
            });
        });
        group.finish();
        runtime.block_on(host.flush()).unwrap();
    }
}

const READS: [(&str, &str); 2] = [("time.now", "{}"), ("fs.read", r#"{"path": "note.txt"}"#)];

criterion_group!(benches, calls);
criterion_main!(benches);
