//! Load benchmark: cold load, reload and memory of a workspace with 10,000 tools and 10,000
//! drivers.
//!
//! `cargo bench -p haft --bench load`. Machines are noisy, so every figure stands beside a ratio to
//! something measured in the same run: reading the same bytes and doing nothing with them.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use haft::{LoadOptions, Workspace};

const TOOLS: usize = 10_000;
const RUNS: usize = 5;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = write_workspace(folder.path());
    let files = 2 * TOOLS;
    println!(
        "{TOOLS} tools, {TOOLS} drivers, {} bytes each on average, and their lock",
        bytes / files
    );
    let first = Workspace::load(folder.path(), LoadOptions::default()).unwrap();
    assert_eq!(first.accept(None).unwrap().len(), TOOLS);
    drop(first);

    // The page cache is warm in every run: what is measured is our work, not the disk's.
    let reading = median(|| read_everything(folder.path()));
    let loading = median(|| {
        let workspace = Workspace::load(folder.path(), LoadOptions::default()).unwrap();
        assert!(workspace.diagnostics().is_empty(), "{:?}", workspace.diagnostics().first());
        assert_eq!(own(&workspace), TOOLS);
    });
    println!("memory after {RUNS} loads: {} MB at its peak", peak_memory_mb());
    report("read the bytes, nothing else", reading, reading, files);
    report("load and check", loading, reading, files);

    let workspace = Workspace::load(folder.path(), LoadOptions::default()).unwrap();
    let changed = folder.path().join(".tools/group-07/bench.tool-00007/TOOL.md");
    let mut turn = 0;
    let reloading = median(|| {
        turn += 1;
        let text = tool(7).replace("description: ", &format!("description: {turn} "));
        fs::write(&changed, text).unwrap();
        let again = workspace.reload().unwrap();
        assert_eq!(own(&again), TOOLS);
    });
    report("reload after one changed file", reloading, loading, files);
    let mut turn = 0;
    let rereading = median(|| {
        turn += 1;
        let text = tool(7).replace("description: ", &format!("description: {turn} "));
        fs::write(&changed, text).unwrap();
        let file = ".tools/group-07/bench.tool-00007/TOOL.md";
        let again = workspace.reload_files(&[file]).unwrap();
        assert_eq!(own(&again), TOOLS);
    });
    report("the same, told which file", rereading, loading, files);
    println!("(the last two ratios are to a cold load)");
}

/// How many contracts the workspace has of its own.
fn own(workspace: &Workspace) -> usize {
    workspace.snapshot().entries().filter(|entry| !entry.is_given()).count()
}

fn report(what: &str, took: Duration, beside: Duration, files: usize) {
    println!(
        "{what:<32} {:>8.1} ms  {:>9.0} manifests/s  ratio {:.2}",
        took.as_secs_f64() * 1e3,
        files as f64 / took.as_secs_f64(),
        took.as_secs_f64() / beside.as_secs_f64(),
    );
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times.get(RUNS / 2).copied().unwrap_or_default()
}

fn write_workspace(root: &Path) -> usize {
    let mut bytes = 0;
    fs::write(root.join("haft.toml"), "").unwrap();
    for index in 0..TOOLS {
        let group = index % 100;
        let files = [
            (format!(".tools/group-{group:02}/bench.tool-{index:05}/TOOL.md"), tool(index)),
            (format!(".drivers/group-{group:02}/bench-driver-{index:05}/DRIVER.md"), driver(index)),
        ];
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            bytes += text.len();
            fs::write(path, text).unwrap();
        }
    }
    bytes
}

fn tool(index: usize) -> String {
    format!(
        "---\nname: Bench tool {index}\nid: bench.tool-{index:05}\n\
         description: Looks one record up by its number and gives it back.\nversion: 1.0.0\n\
         mutates: []\nrisk_level: 0\nrequires: {{ network: [api-{index}.example] }}\n\
         inputs:\n  type: object\n  properties:\n    record: {{ type: integer, minimum: 1 }}\n    \
         verbose: {{ type: boolean, default: false }}\n  required: [record]\n\
         outputs:\n  type: object\n  properties:\n    title: {{ type: string }}\n  required: [title]\n\
         tags: [bench, group-{}]\n---\n\nA tool of the benchmark.\n",
        index % 100
    )
}

fn driver(index: usize) -> String {
    format!(
        "---\nname: Bench driver {index}\nid: bench-driver-{index:05}\n\
         description: The backend of one bench tool.\nversion: 1.0.0\nkind: http\n\
         base_url: https://api-{index}.example\nnetwork: {{ egress: [api-{index}.example] }}\n\
         implements:\n  - tool: bench.tool-{index:05}\n    version: ^1.0.0\n    metadata:\n      http:\n        \
         endpoint: /records/${{input.record}}\n        method: GET\n        \
         query_template: {{ verbose: \"${{input.verbose}}\" }}\n---\n"
    )
}

fn read_everything(root: &Path) {
    let mut folders: Vec<PathBuf> = vec![root.join(".tools"), root.join(".drivers")];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                bytes += fs::read(entry.path()).unwrap().len();
            }
        }
    }
    assert!(bytes > 0);
}

/// The high-water mark of this process.
fn peak_memory_mb() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<usize>().ok());
    kilobytes.unwrap_or_default() / 1024
}
