//! Tests of the standby launcher: what it keeps, and how long it stays.

use std::collections::BTreeSet;
use std::fs;
use std::future::pending;
use std::time::{Duration, Instant};

use haft_model::Secret;
use haft_sandbox::{ConfinedProgram, ExitKind, Launcher, SecretFile, Walls};
use haft_testkit::Folder;
use rustix::process::{Pid, Signal, getsid, kill_process};
use tokio::io::AsyncReadExt as _;

use crate::confined::{executable, late, root, script, text};

/// A launcher of its own, which can be told from those of other tests.
fn launcher(folder: &Folder) -> Launcher {
    let own = root(folder).join("launcher");
    fs::copy(crate::confined::program(), &own).unwrap();
    executable(folder, "launcher");
    Launcher::at(own)
}

/// The processes that run the launcher of a folder, and whether we are their parent.
fn processes(folder: &Folder) -> Vec<(Pid, bool)> {
    let (own, us) = (root(folder).join("launcher"), format!("PPid:\t{}", std::process::id()));
    let all = fs::read_dir("/proc").unwrap().flatten();
    let ours = all.filter(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        text(&line).split('\0').next() == own.to_str()
    });
    let told = ours.filter_map(|entry| {
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let id = entry.file_name().to_str()?.parse().ok()?;
        Some((Pid::from_raw(id)?, status.lines().any(|line| line == us)))
    });
    told.collect()
}

/// The standby process.
fn standing(folder: &Folder) -> Pid {
    let ours: Vec<_> = processes(folder).into_iter().filter(|(_, ours)| *ours).collect();
    assert_eq!(ours.len(), 1, "{ours:?}");
    ours[0].0
}

async fn ran(walls: &Walls, confined: ConfinedProgram) -> String {
    let ended = confined.run(walls, late(), pending()).await.unwrap();
    assert_eq!(ended.end, ExitKind::Exited(0), "{}", text(&ended.stderr));
    text(&ended.stdout)
}

async fn until(what: &str, is_right: impl Fn() -> bool) {
    let patience = Instant::now() + Duration::from_secs(20);
    while !is_right() {
        assert!(Instant::now() < patience, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn one_launcher_serves_all_and_has_no_terminal() {
    let folder = Folder::new();
    let walls = Walls::By(launcher(&folder));
    assert_eq!(ran(&walls, script(&folder, "echo one")).await, "one\n");
    let first = standing(&folder);
    assert_eq!(ran(&walls.clone(), script(&folder, "echo two")).await, "two\n");
    assert_eq!(standing(&folder), first);
    assert_eq!(getsid(Some(first)), Ok(first));
}

#[tokio::test]
async fn killed_launcher_takes_its_children_and_is_replaced() {
    let folder = Folder::new();
    let walls = Walls::By(launcher(&folder));
    let mut running = script(&folder, "echo up; sleep 1000").start(&walls).unwrap();
    let mut up = [0; 3];
    running.stdout.read_exact(&mut up).await.unwrap();
    let first = standing(&folder);
    kill_process(first, Signal::KILL).unwrap();
    assert!(running.ended().await.is_err());
    // No old process is left to take an order.
    let is_gone = || processes(&folder).iter().all(|(_, ours)| *ours);
    until("a world outlives its launcher", is_gone).await;
    assert_eq!(ran(&walls, script(&folder, "echo again")).await, "again\n");
    assert_ne!(standing(&folder), first);
}

#[tokio::test]
async fn a_launcher_ends_with_the_last_that_needs_it() {
    let folder = Folder::new();
    let walls = Walls::By(launcher(&folder));
    let mut running = script(&folder, "echo up; read word; echo $word").start(&walls).unwrap();
    let mut up = [0; 3];
    running.stdout.read_exact(&mut up).await.unwrap();
    drop(walls);
    standing(&folder);
    drop(running.stdin.take());
    assert_eq!(running.ended().await.unwrap().end, ExitKind::Exited(0));
    drop(running);
    until("the launcher is still there", || processes(&folder).is_empty()).await;
}

/// The open descriptors of a process, except for pipes.
fn open(process: Pid) -> BTreeSet<String> {
    let files = fs::read_dir(format!("/proc/{}/fd", process.as_raw_nonzero())).unwrap().flatten();
    let names = files.filter_map(|file| fs::read_link(file.path()).ok());
    names.map(|name| name.display().to_string()).filter(|name| !name.contains("pipe")).collect()
}

#[tokio::test]
async fn one_order_leaks_nothing_to_launcher_or_next_order() {
    let folder = Folder::new();
    let walls = Walls::By(launcher(&folder));
    let look = "ls -l /proc/self/fd | grep -c -e memfd -e socket; env | grep -c -e WORD -e FILE;
        tr '\\0' '\\n' < /proc/1/environ 2>/dev/null | wc -l; exit 0";
    assert_eq!(ran(&walls, script(&folder, look)).await, "0\n0\n0\n");
    let before = open(standing(&folder));
    let secret = |value: &str| Secret::new(value.to_owned());
    let mut confined = script(&folder, "cat $FILE; echo; read word");
    confined.secret_env.insert("WORD".into(), secret("spoken"));
    confined.handed.push(SecretFile { name: "FILE".into(), value: secret("written") });
    let mut running = confined.start(&walls).unwrap();
    let mut written = [0; 8];
    running.stdout.read_exact(&mut written).await.unwrap();
    // The first program is still running.
    assert_eq!(ran(&walls, script(&folder, look)).await, "0\n0\n0\n");
    assert_eq!(open(standing(&folder)), before);
}

#[tokio::test]
async fn a_parent_that_is_killed_leaves_no_launcher() {
    let folder = Folder::new();
    let own = launcher(&folder);
    drop(own);
    let path = root(&folder).join("launcher");
    let mut parent = crate::confined::probe::start(&format!("standby|{}", path.display()));
    until("it never stood by", || processes(&folder).len() >= 2).await;
    parent.kill().unwrap();
    parent.wait().unwrap();
    until("the launcher is still there", || processes(&folder).is_empty()).await;
}

#[tokio::test]
async fn mount_made_after_launcher_start_is_visible() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root mounts something");
        return;
    }
    let ended = crate::confined::probe::start("mounted").wait_with_output().unwrap();
    let said = text(&ended.stdout);
    assert!(ended.status.success() && said.contains("before: other\nafter: there\n"), "{said}");
}
