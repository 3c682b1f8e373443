//! Tests of program start and exit: no process of a program stays behind.

use std::future::{pending, ready};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use haft_sandbox::{
    Access, Bounds, ConfinedProgram, ExitKind, Launcher, MountedPath, StartRefusal, TotalMemory,
    Walls,
};
use haft_testkit::Folder;

use crate::confined::{executable, late, root, run, said, script, text, walls};

#[tokio::test]
async fn program_reads_stdin_and_writes_stdout_and_stderr() {
    let folder = Folder::new();
    let confined = ConfinedProgram {
        stdin: b"hello".to_vec(),
        ..script(&folder, "cat; echo aside >&2; exit 3")
    };
    let ended = run(confined).await.unwrap();
    let heard = (ended.end, text(&ended.stdout), text(&ended.stderr), ended.truncated);
    assert_eq!(heard, (ExitKind::Exited(3), "hello".into(), "aside\n".into(), false));
}

#[tokio::test]
async fn every_layer_is_named() {
    let folder = Folder::new();
    let layers = run(script(&folder, "exit 0")).await.unwrap().layers;
    let named: Vec<_> = layers.iter().map(|layer| layer.split(" v").next().unwrap()).collect();
    let counted = named.contains(&"process count");
    let wanted = ["namespaces", "mounts", "limits", "no capabilities", "landlock", "seccomp"];
    let wanted = wanted.iter().all(|layer| named.contains(layer));
    let grouped = named.contains(&"memory group");
    assert_eq!(grouped, !matches!(TotalMemory::here(), TotalMemory::EachProcess(_)), "{named:?}");
    let more = usize::from(counted) + usize::from(grouped);
    assert!(wanted && named.len() == 6 + more, "{named:?}");
}

#[tokio::test]
async fn an_environment_is_clean_but_for_what_is_declared() {
    let folder = Folder::new();
    let mut confined =
        script(&folder, "env | sort | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD=");
    confined.env.insert("DECLARED".into(), "yes".into());
    let seen = said(confined).await;
    let path = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
    assert_eq!(seen, format!("DECLARED=yes\nHOME=/tmp\nLANG=C.UTF-8\n{path}\nTMPDIR=/tmp\n"));
}

#[tokio::test]
async fn a_signal_is_told_from_an_exit() {
    let folder = Folder::new();
    assert_eq!(run(script(&folder, "kill -9 $$")).await.unwrap().end, ExitKind::Killed(9));
    assert_eq!(run(script(&folder, "kill -15 $$")).await.unwrap().end, ExitKind::Killed(15));
}

#[tokio::test]
async fn a_program_that_cannot_start_says_why() {
    let folder = Folder::new()
        .file("plain", "#!/bin/sh\n")
        .file("odd", "#!/no/such/interpreter\n")
        .file("bad", "not a program");
    for path in ["odd", "bad"] {
        executable(&folder, path);
    }
    let mut said = Vec::new();
    for name in ["missing", "plain", "odd", "bad"] {
        let program = root(&folder).join(name);
        let refused =
            run(ConfinedProgram { program, args: Vec::new(), ..script(&folder, "") }).await;
        let Err(StartRefusal::Program(why)) = refused else { panic!("{refused:?}") };
        said.push(why.replace(&root(&folder).display().to_string(), "DIR"));
    }
    assert_eq!(
        said,
        [
            "`DIR/missing` does not exist",
            "`DIR/plain` may not be run: make it executable with `chmod +x`",
            "`DIR/odd` cannot be started: the program that its first line names is not there",
            "`DIR/bad` cannot be started: Exec format error (os error 8)",
        ]
    );
}

#[tokio::test]
async fn without_a_launcher_nothing_runs() {
    let folder = Folder::new();
    let marker = root(&folder).join("marker");
    let confined = ConfinedProgram {
        shown: vec![MountedPath { path: root(&folder), access: Access::Write }],
        ..script(&folder, "touch marker")
    };
    let refused = confined.clone().run(&Walls::Missing, late(), pending()).await;
    assert_eq!(refused, Err(StartRefusal::NoLauncher));
    let nowhere = Walls::By(Launcher::at("/no/such/launcher"));
    let refused = confined.clone().run(&nowhere, late(), pending()).await;
    assert!(
        matches!(&refused, Err(StartRefusal::Broken(why)) if why.contains("/no/such/launcher"))
    );
    // A program that is no launcher is not taken for one.
    let stranger = Walls::By(Launcher::at("/bin/true"));
    assert!(matches!(
        confined.run(&stranger, late(), pending()).await,
        Err(StartRefusal::Broken(_))
    ));
    assert!(!marker.exists());
}

#[tokio::test]
async fn what_bubblewrap_cannot_do_is_refused_in_its_words() {
    let folder =
        Folder::new().file("bwrap", "#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n");
    executable(&folder, "bwrap");
    let launcher = Launcher::at(crate::confined::program());
    let walls = Walls::Bubblewrap(root(&folder).join("bwrap"), launcher.clone());
    let refused = script(&folder, "exit 0").run(&walls, late(), pending()).await;
    let why = "bubblewrap builds no walls: No permissions".to_owned();
    assert_eq!(refused, Err(StartRefusal::Unenforced(why)));
    let real = PathBuf::from("/usr/bin/bwrap");
    if !real.exists() || !rustix::process::geteuid().is_root() {
        eprintln!("skipped: bubblewrap is not installed, or the tests do not run as root");
        return;
    }
    let walls = Walls::Bubblewrap(real, launcher);
    let refused = script(&folder, "exit 0").run(&walls, late(), pending()).await;
    assert!(
        matches!(&refused, Err(StartRefusal::Unenforced(why)) if why.contains("ordinary user"))
    );
}

#[tokio::test]
async fn what_cannot_be_shown_is_refused() {
    let folder = Folder::new();
    for path in ["/", "/proc", "/dev/null", "relative", "/no/such/place", "/usr/../etc"] {
        let shown = vec![MountedPath { path: PathBuf::from(path), access: Access::Read }];
        let refused = run(ConfinedProgram { shown, ..script(&folder, "exit 0") }).await;
        assert!(
            matches!(&refused, Err(StartRefusal::Unenforced(why)) if why.contains(path)),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn output_is_truncated_without_blocking_program() {
    let folder = Folder::new();
    let bounds = Bounds { output: 1000, ..Bounds::default() };
    let much = "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; exit 7";
    let ended = run(ConfinedProgram { bounds, ..script(&folder, much) }).await.unwrap();
    assert_eq!((ended.end, ended.stdout.len(), ended.truncated), (ExitKind::Exited(7), 1000, true));
}

/// A script that daemonizes others in every way, and then waits forever.
const FAMILY: &str = "
    (while :; do sleep 1; done) &
    setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1; done' &
    setsid setsid sh -c 'exec >/dev/null 2>&1 </dev/null; while :; do sleep 1; done' &
    echo ready; wait; sleep 1000";

#[tokio::test]
async fn time_that_runs_out_ends_every_descendant() {
    let folder = Folder::new();
    let mark = mark();
    // On any machine: longer deadlines until the family is complete when one expires.
    for seconds in [1, 4, 16, 64] {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        let ended = family(&folder, &mark).run(&walls(), deadline, pending()).await.unwrap();
        assert_eq!((ended.end, alive(&mark)), (ExitKind::OutOfTime, Vec::new()));
        if text(&ended.stdout) == "ready\n" {
            return;
        }
    }
    panic!("the family never came together");
}

#[tokio::test]
async fn calling_off_ends_every_descendant() {
    let folder = Folder::new();
    let mark = mark();
    let ended = family(&folder, &mark).run(&walls(), late(), together(&mark)).await.unwrap();
    assert_eq!(ended.end, ExitKind::CalledOff);
    assert_eq!(alive(&mark), Vec::<String>::new());
    // Cancelled before it began.
    let ended = family(&folder, &mark).run(&walls(), late(), ready(())).await.unwrap();
    assert_eq!(ended.end, ExitKind::CalledOff);
    assert_eq!(alive(&mark), Vec::<String>::new());
}

#[tokio::test]
async fn a_program_that_ends_takes_what_it_started_along() {
    let folder = Folder::new();
    let mark = mark();
    let mut confined = family(&folder, &mark);
    confined.args[1] = confined.args[1].replace("wait; sleep 1000", "exit 0");
    let ended = run(confined).await.unwrap();
    assert_eq!((ended.end, text(&ended.stdout)), (ExitKind::Exited(0), "ready\n".into()));
    assert_eq!(alive(&mark), Vec::<String>::new());
}

#[tokio::test]
async fn dropped_run_leaves_no_process_behind() {
    let folder = Folder::new();
    let mark = mark();
    let confined = family(&folder, &mark);
    let walls = walls();
    tokio::select! {
        ended = confined.run(&walls, late(), pending()) => panic!("{ended:?}"),
        () = together(&mark) => {}
    }
    gone(&mark).await;
}

#[tokio::test]
async fn a_parent_that_is_killed_takes_everything_along() {
    let mark = mark();
    let mut parent = crate::confined::probe::start(&format!("parent|{mark}"));
    together(&mark).await;
    parent.kill().unwrap();
    parent.wait().unwrap();
    gone(&mark).await;
}

/// A family of processes with a mark in the arguments of each.
pub(crate) fn family(folder: &Folder, mark: &str) -> ConfinedProgram {
    let mut confined = script(folder, &FAMILY.replace("sh -c '", &format!("sh -c ': {mark}; ")));
    confined.args[1].push_str(&format!("; : {mark}"));
    confined
}

/// A word that no other test has.
fn mark() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("mark-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The processes of this machine with a mark, except those of the tests.
fn alive(mark: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| text(&line).replace('\0', " "));
    lines.filter(|line| line.contains(mark) && !line.contains("--exact")).collect()
}

/// Waits until a family is complete: the first process, and the two that left it.
async fn together(mark: &str) {
    while alive(mark).len() < 3 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits for the kernel, which kills the rest without a report.
async fn gone(mark: &str) {
    let patience = Instant::now() + Duration::from_secs(20);
    while !alive(mark).is_empty() {
        assert!(Instant::now() < patience, "{:?} are still there", alive(mark));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
