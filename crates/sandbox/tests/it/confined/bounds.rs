//! Tests of resource limits of a confined program.

use haft_sandbox::{Bounds, ConfinedProgram, ExitKind, TotalMemory};
use haft_testkit::Folder;

use crate::confined::{run, said, script, text};

#[tokio::test]
async fn processes_are_counted() {
    let folder = Folder::new();
    // Starts sleepers until the kernel refuses.
    let many = "i=0; while [ $i -lt 2000 ]; do sleep 1000 & i=$((i+1)); echo $i; done";
    let bounds = Bounds { processes: 320, ..Bounds::default() };
    let ended = run(ConfinedProgram { bounds, ..script(&folder, many) }).await.unwrap();
    let most: usize = text(&ended.stdout).lines().last().unwrap().parse().unwrap();
    assert!((100..=320).contains(&most), "{most} processes were started");
}

#[tokio::test]
async fn a_file_does_not_grow_without_end() {
    let folder = Folder::new();
    let grow = "exec 2>/dev/null; (head -c 3000000 /dev/zero > /tmp/big); wc -c < /tmp/big;
        rm /tmp/big; for i in 1 2 3; do head -c 900000 /dev/zero > /tmp/$i; done; cat /tmp/? | wc -c";
    let bounds = Bounds { file_size: 1 << 20, ..Bounds::default() };
    let sizes = said(ConfinedProgram { bounds, ..script(&folder, grow) }).await;
    let sizes: Vec<u64> = sizes.lines().map(|size| size.trim().parse().unwrap()).collect();
    assert!(sizes.len() == 2 && sizes.iter().all(|size| *size <= 1 << 20), "{sizes:?}");
}

#[tokio::test]
async fn time_on_the_processor_runs_out() {
    let folder = Folder::new();
    let bounds = Bounds { cpu_seconds: 1, ..Bounds::default() };
    let ended =
        run(ConfinedProgram { bounds, ..script(&folder, "while :; do :; done") }).await.unwrap();
    assert_eq!(ended.end, ExitKind::Killed(9));
}

#[tokio::test]
async fn memory_runs_out() {
    let folder = Folder::new();
    let bounds = Bounds { memory: 64 << 20, ..Bounds::default() };
    // A shell that keeps doubling a text.
    let grow = "x=0123456789abcdef; while :; do x=$x$x; done";
    let ended = run(ConfinedProgram { bounds, ..script(&folder, grow) }).await.unwrap();
    assert!(!matches!(ended.end, ExitKind::Exited(0) | ExitKind::OutOfTime), "{ended:?}");
}

#[tokio::test]
async fn open_files_are_counted() {
    let folder = Folder::new();
    let bounds = Bounds { files: 32, ..Bounds::default() };
    assert_eq!(
        said(ConfinedProgram { bounds, ..script(&folder, "ulimit -n; ulimit -c") }).await,
        "32\n0\n"
    );
}

#[tokio::test]
async fn files_of_the_private_folder_are_counted() {
    let folder = Folder::new();
    let many = "exec 2>/dev/null; cd /tmp; i=0; while [ $i -lt 500 ]; do (: > $i) || break; i=$((i+1)); done; echo $i";
    let bounds = Bounds { inodes: 100, ..Bounds::default() };
    let made: u64 =
        said(ConfinedProgram { bounds, ..script(&folder, many) }).await.trim().parse().unwrap();
    // The folder itself is one of them.
    assert!((50..=100).contains(&made), "{made} files were made");
}

/// Six processes, each far below its own limit, exceed the total limit.
#[tokio::test]
async fn a_fork_tree_over_its_total_memory_is_ended() {
    let folder = Folder::new();
    let each = "(x=0123456789abcdef; while [ ${#x} -lt 16000000 ]; do x=$x$x; done; sleep 1000) & ";
    let tree = format!("{} wait; echo survived", each.repeat(6));
    let bounds = Bounds { total_memory: 64 << 20, ..Bounds::default() };
    let tree = ConfinedProgram { bounds, ..script(&folder, &tree) };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let ended =
        tree.run(&crate::confined::walls(), deadline, std::future::pending()).await.unwrap();
    match TotalMemory::here() {
        TotalMemory::V1(_) | TotalMemory::V2(_) => {
            assert_eq!(ended.end, ExitKind::OutOfMemory, "{ended:?}");
            assert!(ended.layers.contains(&"memory group".to_owned()), "{:?}", ended.layers);
        }
        // The documented fallback: only each process is limited, and no layer says otherwise.
        TotalMemory::EachProcess(why) => {
            assert!(!why.is_empty());
            assert_eq!(ended.end, ExitKind::OutOfTime, "{ended:?}");
            assert!(!ended.layers.contains(&"memory group".to_owned()), "{:?}", ended.layers);
        }
    }
}

#[tokio::test]
async fn groups_are_gone_with_their_runs() {
    let folder = Folder::new();
    for script_text in ["exit 0", "(setsid sleep 600 &); exit 3", "kill -9 $$"] {
        run(script(&folder, script_text)).await.unwrap();
    }
    let (TotalMemory::V1(parent) | TotalMemory::V2(parent)) = TotalMemory::here() else { return };
    let own = format!("-{}-", std::process::id());
    let left = || {
        let entries = std::fs::read_dir(parent).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("haft-") && name.contains(&own)).count()
    };
    // Other tests of this process may run as well; their groups go with them.
    haft_testkit::eventually(|| (left() == 0).then_some(()));
}
