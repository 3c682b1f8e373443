//! Planning benchmark: validating an input and routing it among three drivers.
//!
//! `cargo bench -p haft --bench plan`. The ratio is to hashing the same input, which no plan can do
//! without.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use haft::{LoadOptions, Workspace};
use haft_model::{ActorId, Call, Date, Digest, parse_date};
use serde_json::{Value, json};

const BATCHES: usize = 200;
const CALLS: u32 = 1_000;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    write_workspace(folder.path());
    let workspace = Workspace::load(folder.path(), LoadOptions::default()).unwrap();
    workspace.accept(None).unwrap();
    let workspace = workspace.reload().unwrap();
    assert!(!workspace.has_errors(), "{:?}", workspace.diagnostics());
    let today: Date = parse_date("2026-11-15").unwrap();
    let actor = ActorId::from("agent:bench");
    let input = json!({"order": "A-1001", "amount": 4200, "card": "card-7", "note": "second try"});

    let hashing = median(|| {
        black_box(Digest::of(black_box(&input)));
    });
    let call = |input: &Value| Call::new(actor.clone(), "bench.charge", input.clone());
    let planning = median_of(
        || call(&input),
        |call| {
            black_box(workspace.snapshot().plan(call, today).unwrap());
        },
    );
    let bad = json!({"order": 5});
    let refusing = median_of(
        || call(&bad),
        |call| {
            black_box(workspace.snapshot().plan(call, today).unwrap_err());
        },
    );
    for (what, took) in
        [("hash the input", hashing), ("plan", planning), ("refuse a bad input", refusing)]
    {
        let ratio = took.as_secs_f64() / hashing.as_secs_f64();
        println!("{what:<20} {:>7.2} µs  ratio {ratio:.2}", took.as_secs_f64() * 1e6);
    }
}

/// The median time of one piece of work over many batches.
fn median(mut work: impl FnMut()) -> Duration {
    median_of(|| (), |()| work())
}

/// The same for work that uses something up; making that something is not counted.
fn median_of<T>(make: impl Fn() -> T, mut work: impl FnMut(T)) -> Duration {
    let mut times: Vec<Duration> = (0..BATCHES)
        .map(|_| {
            let made: Vec<T> = (0..CALLS).map(|_| make()).collect();
            let start = Instant::now();
            made.into_iter().for_each(&mut work);
            start.elapsed() / CALLS
        })
        .collect();
    times.sort();
    times.get(BATCHES / 2).copied().unwrap_or_default()
}

fn write_workspace(root: &std::path::Path) {
    let schema: Value = json!({
        "type": "object",
        "properties": {
            "order": {"type": "string", "minLength": 1}, "amount": {"type": "integer", "minimum": 1},
            "card": {"type": "string"}, "note": {"type": "string"},
            "currency": {"type": "string", "default": "EUR"},
        },
        "required": ["order", "amount", "card"], "additionalProperties": false,
    });
    let mut files = vec![(
        ".tools/bench.charge/TOOL.md".to_owned(),
        format!(
            "---\nname: Charge\nid: bench.charge\ndescription: d\nversion: 1.2.0\n\
             mutates: [\"external:payments\"]\nrisk_level: 3\napproval: always\n\
             requires: {{network: [\"*\"]}}\ninputs: {schema}\noutputs: {{type: object}}\n---\n"
        ),
    )];
    for (index, units) in [5, 3, 4].into_iter().enumerate() {
        files.push((
            format!(".drivers/pay-{index}/DRIVER.md"),
            format!(
                "---\nname: Pay {index}\nid: pay-{index}\ndescription: d\nversion: 1.0.0\nkind: http\n\
                 base_url: https://pay-{index}.example\nnetwork: {{egress: [pay-{index}.example]}}\n\
                 cost_override: {{cost_units_per_call: {units}}}\nimplements:\n  - tool: bench.charge\n    \
                 version: ^1.0.0\n    mapping: {{order: order_id}}\n    \
                 metadata: {{http: {{endpoint: /charges}}}}\n---\n"
            ),
        ));
    }
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}
