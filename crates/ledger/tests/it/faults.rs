//! Fault injection: each system call of the ledger fails in turn; acknowledged entries survive, the
//! chain verifies, and nothing is there twice or in part.
//!
//! The scenario runs in a process of its own under a shim (`shim.c`) that fails one call. By
//! default a few numbers of each kind are tried, and the first and last call of each name;
//! `HAFT_FAULTS=all` tries every one (`scripts/show faults-io`). Where `strace` works, the shim's
//! calls are compared with what the kernel saw, so that no system call goes without a fault unseen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_ledger::{
    Error, Fence, Guard, LeaseClaim, SqliteOptions, SqliteStore, Store, Wait, verify_store,
};
use haft_testkit::Folder;

use crate::sample::{at, beginning, blob, end, id, whole};

/// Variable with the store of the scenario process.
const FOLDER: &str = "HAFT_FAULT_FOLDER";

/// Most calls of each kind that fail by default.
const FEW: usize = 12;

/// Arguments that make the test binary run the scenario.
const SCENARIO: [&str; 3] =
    ["--exact", "faults::every_failing_system_call_leaves_a_sound_store", "--nocapture"];

/// How a call fails, and whether all calls after it do too.
const KINDS: [(&str, bool); 6] = [
    ("eio", false),
    ("enospc", false),
    ("short", false),
    ("sync", false),
    ("enospc", true),
    ("sync", true),
];

#[test]
fn every_failing_system_call_leaves_a_sound_store() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(scenario(Path::new(&folder)));
        return;
    }
    let made = Folder::new();
    let shim = compiled(made.path());
    let all = std::env::var("HAFT_FAULTS").is_ok_and(|text| text == "all");
    let mut cases = Vec::new();
    for (kind, lasts) in KINDS {
        let names = counted(&shim, kind);
        let calls = names.len();
        assert!(calls > 5, "{kind}: the shim sees {calls} calls");
        let step = if all { 1 } else { calls.div_ceil(FEW) };
        let mut numbers: BTreeSet<usize> = (1..=calls).step_by(step).collect();
        if (kind, lasts) == KINDS[0] {
            numbers.extend(ends_of_each(&names));
        }
        cases.extend(numbers.into_iter().map(|number| (kind, lasts, number)));
    }
    let next = AtomicUsize::new(0);
    let failed: Vec<String> = std::thread::scope(|scope| {
        let work = || {
            let mut failed = Vec::new();
            while let Some((kind, lasts, number)) = cases.get(next.fetch_add(1, Ordering::Relaxed))
            {
                let fault = Fault { kind, lasts: *lasts, number: *number };
                failed.extend(tried(&shim, &fault).err().map(|why| format!("{fault:?}: {why}")));
            }
            failed
        };
        let others = [(); 4].map(|()| scope.spawn(work));
        others.into_iter().flat_map(|other| other.join().unwrap()).collect()
    });
    println!("{} faults, {} failed", cases.len(), failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn shim_counts_every_system_call_of_the_ledger() {
    let folder = Folder::new();
    let shim = compiled(folder.path());
    let [store, count, log] = ["store", "count", "log"].map(|name| folder.path().join(name));
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-o"]).arg(&log);
    let fault = Fault { kind: "eio", lasts: false, number: 0 };
    for (name, value) in variables(&shim, &store, &fault, &count) {
        strace.arg("-E").arg(format!("{name}={value}"));
    }
    strace.arg(std::env::current_exe().unwrap()).args(SCENARIO);
    let traced = strace.stdin(Stdio::null()).output();
    if !traced.is_ok_and(|ran| ran.status.success()) {
        // It is not installed, or may not trace here.
        println!("strace does not work here: nothing is compared");
        return;
    }
    let log = std::fs::read(&log).unwrap();
    let mut traced = BTreeMap::new();
    for line in String::from_utf8_lossy(&log).lines() {
        let call = line.trim_start_matches(|letter: char| letter.is_ascii_digit()).trim_start();
        let name = call.split_once('(').map(|(name, _)| name).filter(|name| !name.contains(' '));
        if let Some(name) = name.filter(|_| line.contains(store.to_str().unwrap())) {
            *traced.entry(family(name)).or_insert(0) += 1;
        }
    }
    let mut numbered = BTreeMap::new();
    for name in names(&count) {
        *numbered.entry(family(&name)).or_insert(0) += 1;
    }
    assert_eq!(numbered, traced, "the shim's calls, and those that the kernel saw");
}

/// The system call behind a function of the C library, whichever variant was called.
fn family(name: &str) -> String {
    let name = name.trim_end_matches("64").trim_start_matches("new");
    let name = match name {
        "lstat" | "fstat" | "fstatat" => "stat",
        "openat" | "unlinkat" | "mkdirat" | "linkat" => name.trim_end_matches("at"),
        "rmdir" => "unlink",
        "renameat" | "renameat2" => "rename",
        "faccessat" | "faccessat2" => "access",
        "fchmodat" | "fchmodat2" => "chmod",
        other => other,
    };
    name.to_owned()
}

/// The numbers of the first and the last call of each name.
fn ends_of_each(names: &[String]) -> BTreeSet<usize> {
    let mut ends: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (before, name) in names.iter().enumerate() {
        ends.entry(name).or_insert((before + 1, before + 1)).1 = before + 1;
    }
    ends.into_values().flat_map(|(first, last)| [first, last]).collect()
}

/// Which call fails, and how.
#[derive(Debug)]
struct Fault<'a> {
    kind: &'a str,
    lasts: bool,
    number: usize,
}

fn compiled(folder: &Path) -> PathBuf {
    let (shim, source) =
        (folder.join("shim.so"), concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/faults/shim.c"));
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&shim).arg(source).arg("-ldl");
    assert!(compiler.status().unwrap().success(), "a C compiler is needed, as for the build");
    shim
}

/// The output of the scenario process.
fn played(shim: &Path, store: &Path, fault: &Fault<'_>, count: &Path) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(SCENARIO).envs(variables(shim, store, fault, count));
    let ran = child.stdin(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{fault:?}: {said}{}", String::from_utf8_lossy(&ran.stderr));
    said
}

/// Environment of the shim.
fn variables(
    shim: &Path,
    store: &Path,
    fault: &Fault<'_>,
    count: &Path,
) -> Vec<(&'static str, String)> {
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let lasts = fault.lasts.then(|| ("HAFT_FAULT_LASTS", "1".to_owned()));
    let always = [
        (FOLDER, path(store)),
        ("LD_PRELOAD", path(shim)),
        ("HAFT_FAULT_KIND", fault.kind.to_owned()),
        ("HAFT_FAULT_AT", fault.number.to_string()),
        ("HAFT_FAULT_COUNT", path(count)),
    ];
    always.into_iter().chain(lasts).collect()
}

/// The names of the calls that a shim numbered, in their order.
fn names(count: &Path) -> Vec<String> {
    std::fs::read_to_string(count).unwrap().lines().map(str::to_owned).collect()
}

/// The calls of a run without faults.
fn counted(shim: &Path, kind: &str) -> Vec<String> {
    let folder = Folder::new();
    let (store, count) = (folder.path().join("store"), folder.path().join("count"));
    let said = played(shim, &store, &Fault { kind, lasts: false, number: 0 }, &count);
    assert!(said.contains("\nacknowledged 20\n"), "{said}");
    names(&count)
}

/// Fails one call and checks what is left.
fn tried(shim: &Path, fault: &Fault<'_>) -> Result<(), String> {
    let folder = Folder::new();
    let (path, count) = (folder.path().join("store"), folder.path().join("count"));
    let said = played(shim, &path, fault, &count);
    let acknowledged: BTreeSet<u64> =
        said.lines().filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok()).collect();
    let options = SqliteOptions::at(&path);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let present = runtime.block_on(async {
        let store = SqliteStore::open(options.clone())?;
        let mut present = Vec::new();
        for entry in store.entries(None, 1000).await? {
            let line: serde_json::Value = serde_json::from_str(&entry.line).unwrap_or_default();
            let name = line["metadata"]["haft"]["invocation"].as_str().unwrap_or_default();
            let number = name.trim_start_matches("inv_").parse::<u64>().unwrap_or_default();
            present.push((number, line["metadata"]["haft"]["facts"].to_string()));
        }
        store.append(whole(99, 5000), Wait::Disk).await?;
        store.close().await?;
        Ok::<_, Error>(present)
    });
    let present = present.map_err(|fault| format!("it cannot be used again: {fault}\n{said}"))?;
    let found = verify_store(&options);
    if !found.is_sound() {
        return Err(format!("{:?}\n{said}", found.findings));
    }
    let numbers: BTreeSet<u64> = present.iter().map(|(number, _)| *number).collect();
    if let Some(lost) = acknowledged.difference(&numbers).next() {
        return Err(format!("{lost} was acknowledged and is not there\n{said}"));
    }
    let distinct: BTreeSet<_> = present.iter().collect();
    match distinct.len() == present.len() {
        true => Ok(()),
        false => Err(format!("something is there twice\n{said}")),
    }
}

/// Everything that a ledger does, step after step; failures are passed over. It prints which
/// entries were acknowledged as durable.
async fn scenario(folder: &Path) {
    println!();
    for round in [0, 10] {
        let store = match SqliteStore::open(SqliteOptions::at(folder)) {
            Ok(store) => store,
            Err(fault) => {
                println!("not opened: {fault}");
                continue;
            }
        };
        let fault = steps(&store, round).await.err();
        println!("stopped by: {fault:?}");
        println!("closed: {:?}", store.close().await.err());
    }
}

async fn steps(store: &SqliteStore, round: u64) -> Result<(), Error> {
    // A transient fault is retried.
    let mut fault = Ok(());
    let mut told = |number: u64, told: Result<(), Error>| match told {
        Ok(()) => println!("acknowledged {}", number + round),
        Err(why) => fault = Err(why),
    };
    told(1, store.append(whole(1 + round, 0), Wait::Disk).await.map(|_| ()));
    let owner = "node_1".to_owned();
    let claim = Some(LeaseClaim { owner, now: at(0).into(), until: at(1000).into() });
    let begun = beginning(2 + round, 20);
    let begun = store.append(haft_ledger::Draft { claim, ..begun }, Wait::Disk).await;
    let fence = begun.as_ref().ok().and_then(|receipt| receipt.fence);
    told(2, begun.map(|_| ()));
    for number in 3..7 {
        let _ = store.append(whole(number + round, 30), Wait::Queue).await;
    }
    let flushed = store.flush().await;
    if flushed.is_ok() {
        (3..7).for_each(|number| println!("acknowledged {}", number + round));
    }
    if let Some(Fence(token)) = fence {
        let until = at(3000);
        let _ = store.renew(&id(2 + round), Fence(token), until.into()).await;
        let mut end = end(2 + round, 60);
        end.guards = vec![Guard::Fence(token)];
        end.release = fence;
        let _ = store.append(end, Wait::Disk).await;
    }
    let large = blob(&"x".repeat(100_000), true);
    let digest = large.digest.clone();
    let mut with_file = whole(7 + round, 70);
    with_file.blobs.push(large);
    told(7, store.append(with_file, Wait::Disk).await.map(|_| ()));
    let _ = store.forget(&id(7 + round), &digest).await;
    told(8, store.append(whole(8 + round, 80), Wait::Disk).await.map(|_| ()));
    let _ = store.runs(&haft_ledger::RunFilter::default()).await;
    told(10, store.append(whole(10 + round, 100), Wait::Disk).await.map(|_| ()));
    fault
}
