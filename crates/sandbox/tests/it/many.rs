//! Stress test of the sandbox: many concurrent programs, half of them cancelled, leave nothing
//! behind.

use std::fs;
use std::future::pending;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use haft_model::Secret;
use haft_sandbox::{
    Access, AddressGuard, ConfinedProgram, ExitKind, Gate, Launcher, MountedPath, NetworkAccess,
    SecretFile, Walls,
};
use haft_testkit::Folder;
use tokio::task::JoinSet;

const RUNS: usize = 100;

const ORDERS: &str = "HAFT_TEST_MANY";

/// The open descriptors and the child processes of this process.
fn held() -> (usize, usize) {
    let files = fs::read_dir("/proc/self/fd").unwrap().count();
    let own = format!("PPid:\t{}", std::process::id());
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let children = processes.filter(|entry| {
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        status.lines().any(|line| line == own)
    });
    (files, children.count())
}

fn confined(folder: &Folder, number: usize) -> ConfinedProgram {
    let path = fs::canonicalize(folder.path()).unwrap();
    let gate = Gate::new(vec!["127.0.0.1:9".into()], AddressGuard::public());
    let value = Secret::new("word".to_owned());
    // Odd ones wait until they are cancelled.
    let rest = if number % 2 == 1 { "(setsid sleep 600 &); sleep 600" } else { "exit 0" };
    ConfinedProgram {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), format!("cat $FILE; echo x > $TMPDIR/x; {rest}")],
        handed: vec![SecretFile { name: "FILE".into(), value }],
        shown: vec![MountedPath { path: path.clone(), access: Access::Read }],
        cwd: path,
        network: if number.is_multiple_of(3) {
            NetworkAccess::Through(gate)
        } else {
            NetworkAccess::None
        },
        ..ConfinedProgram::default()
    }
}

async fn run(folder: &Folder, number: usize) -> ExitKind {
    let walls = Walls::By(Launcher::at(env!("CARGO_BIN_EXE_haft-sandbox")));
    let deadline = Instant::now() + Duration::from_secs(120);
    let confined = confined(folder, number);
    let ended = match number % 2 {
        0 => confined.run(&walls, deadline, pending()).await,
        // Some are cancelled before they begin, some while they run.
        _ => {
            let pause = Duration::from_millis(number as u64 * 5);
            confined.run(&walls, deadline, tokio::time::sleep(pause)).await
        }
    };
    ended.unwrap().end
}

/// Not a test of its own: the entry point of the stress test's process.
#[tokio::test]
async fn many() {
    if std::env::var_os(ORDERS).is_none() {
        return;
    }
    let folder = std::sync::Arc::new(Folder::new());
    // The first run creates everything that stays.
    run(&folder, 0).await;
    settled("the first run", |(_, children)| children <= 1).await;
    let before = held();
    let mut runs = JoinSet::new();
    for number in 0..RUNS {
        let folder = std::sync::Arc::clone(&folder);
        runs.spawn(async move { (number, run(&folder, number).await) });
    }
    while let Some(ended) = runs.join_next().await {
        let (number, end) = ended.unwrap();
        let wanted = if number % 2 == 1 { ExitKind::CalledOff } else { ExitKind::Exited(0) };
        assert_eq!(end, wanted, "{number}");
    }
    settled("the runs", |now| now == before).await;
}

/// Waits for the kernel, which removes namespaces after the last process in them.
async fn settled(what: &str, is_right: impl Fn((usize, usize)) -> bool) {
    let patience = Instant::now() + Duration::from_secs(20);
    while !is_right(held()) {
        assert!(Instant::now() < patience, "{:?} is left of {what}", held());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn hundred_runs_leave_no_process_file_or_descriptor() {
    let folder = Folder::new();
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "many::many", "--nocapture"])
        .env(ORDERS, "1")
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{said}");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(inside_of(folder.path()), Vec::<String>::new());
}

/// Processes that still see a folder.
fn inside_of(folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mounts = processes.filter(|entry| {
        fs::read_to_string(entry.path().join("mounts")).is_ok_and(|mounts| mounts.contains(&folder))
    });
    mounts.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
