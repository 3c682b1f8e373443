//! Crash test under load: the process is killed at random moments, and the backend keeps its own
//! book.
//!
//! `HAFT_KILLS` says how often it is killed and `HAFT_SEED` seeds the random numbers;
//! `scripts/show crash` sets both and prints the tally.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft::{Host, HostOptions};
use haft_driver::{Attempt, BoxFuture, Driver, Failure, Output};
use haft_ledger::{RunFilter, verify_store};
use haft_model::{Call, Code, DriverId, EffectState, Plan, Stop};
use haft_runtime::{CallOptions, Options, Receipt};
use haft_testkit::{Folder, SeededRandom};
use serde_json::{Value, json};

use crate::accepted;
use crate::crash::ORDERS;

/// How many write at once.
const CALLERS: usize = 8;

/// How long a dead process keeps its calls.
const LEASE: Duration = Duration::from_millis(150);

const SETTINGS: &str = "[workspace]\nname = \"crash\"\nautonomy = 1\n";

/// A backend that appends a line to a file for every effect, on the disk before it answers.
struct Book(PathBuf);

impl Book {
    fn lines(folder: &Path, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        // A line that the process died over is none.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(str::to_owned).collect()
    }
}

/// Appends a line to a file, and waits for the disk.
fn note(folder: &Path, name: &str, line: &str) {
    let mut file: File =
        OpenOptions::new().create(true).append(true).open(folder.join(name)).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
    file.sync_data().unwrap();
}

impl Driver for Book {
    fn reports_submission(&self, plan: &Plan) -> bool {
        plan.effects.may_mutate()
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            if attempt.plan.tool.id.as_str() == "book.look" {
                let key =
                    attempt.input.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
                let known = Book::lines(&self.0, "book").iter().any(|line| line.ends_with(&key));
                let state = if known { "done" } else { "none" };
                return Ok(Output::read(json!({ "state": state })));
            }
            let n = attempt.input.get("n").and_then(Value::as_u64).unwrap_or_default();
            attempt.link.submit().await?;
            let key = attempt.key.clone().unwrap_or_default();
            let folder = self.0.clone();
            let written =
                tokio::task::spawn_blocking(move || note(&folder, "book", &format!("{n} {key}")));
            written.await.map_err(|fault| {
                let stop = Stop::new(Code::ExecutionFailed, fault.to_string());
                Failure::new(stop, EffectState::Unknown)
            })?;
            Ok(Output::committed(json!({ "n": n })))
        })
    }
}

fn workspace() -> Folder {
    let tool = |id: &str, more: &str| {
        format!(
            "---\nname: {id}\nid: {id}\ndescription: Writes a book.\nversion: 1.0.0\n{more}\
             inputs: {{ type: object }}\noutputs: {{ type: object }}\n---\n\nFor tests.\n"
        )
    };
    let write = "mutates: [\"external:book\"]\nrisk_level: 1\napproval: auto\n";
    let safe = "concurrency: { safe: true }";
    let known = format!(
        "{write}metadata: {{ haft: {{ {safe}, status: {{ tool: book.look, \
         input: {{ key: \"${{idempotency.key}}\" }}, committed: \"output.state == 'done'\", \
         absent: \"output.state == 'none'\", output: {{ }} }} }} }}\n"
    );
    let blind = format!("{write}metadata: {{ haft: {{ {safe} }} }}\n");
    let read = "mutates: []\nrisk_level: 0\napproval: auto\n";
    let driver = "---\nname: book\nid: book\nversion: 1.0.0\ndescription: A book.\nkind: builtin\n\
        implements:\n  - { tool: book.known, version: \"^1\" }\n  - { tool: book.blind, version: \"^1\" }\n\
        \x20 - { tool: book.look, version: \"^1\" }\nmetadata: { builtin: { host_id: haft } }\n---\n\nA book.\n";
    let folder = Folder::new()
        .file("haft.toml", SETTINGS)
        .file(".tools/known/TOOL.md", tool("book.known", &known))
        .file(".tools/blind/TOOL.md", tool("book.blind", &blind))
        .file(".tools/look/TOOL.md", tool("book.look", read))
        .file(".drivers/book/DRIVER.md", driver);
    accepted::accept(&folder);
    folder
}

fn open(folder: &Path) -> Host {
    let code: Arc<dyn Driver> = Arc::new(Book(folder.to_owned()));
    let options = HostOptions {
        drivers: [(DriverId::from("book"), code)].into(),
        runtime: Options {
            lease: LEASE,
            look: Duration::from_millis(5),
            max_parallel: CALLERS,
            ..Options::default()
        },
        ..HostOptions::default()
    };
    Host::open(folder, options).unwrap()
}

/// Half of the calls can be asked about afterwards.
fn tool(n: usize) -> &'static str {
    if n.is_multiple_of(2) { "book.known" } else { "book.blind" }
}

/// What a child does: it sends again what was never answered, and then goes on.
pub(crate) async fn live(folder: &Path, until: usize) {
    let host = Arc::new(open(folder));
    tokio::time::sleep(LEASE).await;
    host.runtime().recover().await.unwrap();
    let first = |line: &String| line.split(' ').next().and_then(|n| n.parse::<usize>().ok());
    let asked: BTreeSet<usize> = Book::lines(folder, "asked").iter().filter_map(first).collect();
    let answered: BTreeSet<usize> =
        Book::lines(folder, "answered").iter().filter_map(first).collect();
    let next = Arc::new(AtomicUsize::new(asked.last().map_or(0, |last| last + 1)));
    let again: Arc<std::sync::Mutex<Vec<usize>>> =
        Arc::new(std::sync::Mutex::new(asked.difference(&answered).copied().collect()));
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (host, next, again) = (host.clone(), next.clone(), again.clone());
            let folder = folder.to_owned();
            tokio::spawn(async move {
                loop {
                    let resent = again.lock().unwrap().pop();
                    let n = resent.unwrap_or_else(|| next.fetch_add(1, Ordering::SeqCst));
                    if resent.is_none() && n >= until {
                        return;
                    }
                    note(&folder, "asked", &n.to_string());
                    let call = Call::new(host.actor("agent:crash"), tool(n), json!({ "n": n }));
                    let manner =
                        CallOptions { receipt: Receipt::Acknowledged, ..CallOptions::default() };
                    let envelope = host.runtime().call(call, manner).await;
                    // A process that died before it recorded the answer did not have it.
                    note(&folder, "answered", &format!("{n} {}", envelope.effect_state));
                    host.runtime().confirm_delivery(&envelope.invocation_id).await;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
}

fn start(folder: &Path, until: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--test-threads", "1"])
        .env(ORDERS, format!("{}|live|{until}|", folder.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn writes_killed_at_random_are_neither_lost_nor_duplicated() {
    let (kills, seed) = (setting("HAFT_KILLS", 6), setting("HAFT_SEED", 20_261_115));
    let folder = workspace();
    let mut dice = SeededRandom::new(seed);
    for _ in 0..kills {
        let mut child = start(folder.path(), usize::MAX);
        // The random moment of the kill; nothing waits for it.
        std::thread::sleep(LEASE + Duration::from_millis(50 + dice.below(400) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let asked = Book::lines(folder.path(), "asked").len();
    assert!(start(folder.path(), 0).wait().unwrap().success());
    let tally = judge(folder.path());
    println!("seed {seed}, {kills} kills: {asked} calls sent, {tally}");
}

/// Holds what callers were told and what the ledger says against the backend's own book.
fn judge(folder: &Path) -> String {
    let mut effects: BTreeMap<usize, usize> = BTreeMap::new();
    for line in Book::lines(folder, "book") {
        let n = line.split(' ').next().unwrap_or_default().parse().unwrap();
        *effects.entry(n).or_default() += 1;
    }
    let doubled: Vec<_> = effects.iter().filter(|(_, times)| **times > 1).collect();
    assert!(doubled.is_empty(), "carried out more than once: {doubled:?}");
    let mut told: BTreeMap<usize, String> = BTreeMap::new();
    for line in Book::lines(folder, "answered") {
        let (n, effect) = line.split_once(' ').unwrap();
        told.insert(n.parse().unwrap(), effect.to_owned());
    }
    let (mut done, mut unknown, mut nothing) = (0, 0, 0);
    for line in Book::lines(folder, "asked") {
        let n: usize = line.parse().unwrap();
        let times = effects.get(&n).copied().unwrap_or(0);
        match told.get(&n).map(String::as_str) {
            Some("committed") => assert_eq!(times, 1, "{n} was answered for and is lost"),
            // Absent settles nothing before the deadline of the attempt; done settles at once.
            Some("unknown") => {
                assert!(!n.is_multiple_of(2) || times == 0, "{n} could have been looked up");
            }
            Some("not_submitted" | "not_committed") => assert_eq!(times, 0, "{n} was denied"),
            other => panic!("{n} was told {other:?}"),
        }
    }
    for effect in told.values() {
        match effect.as_str() {
            "committed" => done += 1,
            "unknown" => unknown += 1,
            _ => nothing += 1,
        }
    }
    assert!(done > 0, "hardly anything ran, so hardly anything was shown");
    let listed = on_record(folder);
    assert_eq!(listed, unknown, "every unknown is reported as unknown, and nothing else is");
    format!(
        "{} effects: {done} done, {nothing} without effect, {unknown} unknown and reported as such, \
         0 doubled, 0 lost",
        effects.len()
    )
}

/// How many calls the ledger lists as unknown. The ledger itself is whole.
fn on_record(folder: &Path) -> usize {
    let host = open(folder);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let filter = RunFilter { unknown: true, most: 100_000, ..RunFilter::default() };
    let listed = runtime.block_on(host.reader().runs(&filter)).unwrap().len();
    let files = host.workspace().store_files().unwrap();
    drop(host);
    let verified = verify_store(&files);
    assert!(verified.findings.is_empty(), "{:?}", verified.findings);
    listed
}
