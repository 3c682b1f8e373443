//! How much a confined program may use.

use haft_sandbox::{Bounds, Confined, End};
use haft_testkit::Folder;

use crate::{run, said, script, text};

#[tokio::test]
async fn processes_are_counted() {
    let folder = Folder::new();
    // Starts sleepers until the kernel says no.
    let many = "i=0; while [ $i -lt 2000 ]; do sleep 1000 & i=$((i+1)); echo $i; done";
    let bounds = Bounds { processes: 320, ..Bounds::default() };
    let ended = run(Confined { bounds, ..script(&folder, many) }).await.unwrap();
    let most: usize = text(&ended.stdout).lines().last().unwrap().parse().unwrap();
    assert!((100..=320).contains(&most), "{most} processes were started");
}

#[tokio::test]
async fn a_file_does_not_grow_without_end() {
    let folder = Folder::new();
    let grow = "exec 2>/dev/null; (head -c 3000000 /dev/zero > /tmp/big); wc -c < /tmp/big;
        rm /tmp/big; for i in 1 2 3; do head -c 900000 /dev/zero > /tmp/$i; done; cat /tmp/? | wc -c";
    let bounds = Bounds { file_size: 1 << 20, ..Bounds::default() };
    let sizes = said(Confined { bounds, ..script(&folder, grow) }).await;
    let sizes: Vec<u64> = sizes.lines().map(|size| size.trim().parse().unwrap()).collect();
    assert!(sizes.len() == 2 && sizes.iter().all(|size| *size <= 1 << 20), "{sizes:?}");
}

#[tokio::test]
async fn time_on_the_processor_runs_out() {
    let folder = Folder::new();
    let bounds = Bounds { cpu_seconds: 1, ..Bounds::default() };
    let ended = run(Confined { bounds, ..script(&folder, "while :; do :; done") }).await.unwrap();
    assert_eq!(ended.end, End::Killed(9));
}

#[tokio::test]
async fn memory_runs_out() {
    let folder = Folder::new();
    let bounds = Bounds { memory: 64 << 20, ..Bounds::default() };
    // A shell that keeps doubling a text.
    let grow = "x=0123456789abcdef; while :; do x=$x$x; done";
    let ended = run(Confined { bounds, ..script(&folder, grow) }).await.unwrap();
    assert!(!matches!(ended.end, End::Exited(0) | End::OutOfTime), "{ended:?}");
}

#[tokio::test]
async fn open_files_are_counted() {
    let folder = Folder::new();
    let bounds = Bounds { files: 32, ..Bounds::default() };
    assert_eq!(
        said(Confined { bounds, ..script(&folder, "ulimit -n; ulimit -c") }).await,
        "32\n0\n"
    );
}
