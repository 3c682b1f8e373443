//! Tests of governing files that are replaced from outside during a run, of symlinks and denied
//! paths.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use haft_sandbox::{
    ConfinedProgram, Custody, Feed, GoverningChange, Loading, ProgramOutput, Running, write_rule,
};
use haft_testkit::Folder;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};

use super::governing::{everything, quarantined, violated, workspace, writer};
use super::{root, run};

/// A long-running program that executes each line of its input.
struct Server {
    running: Running,
    feed: Feed,
    lines: Lines<BufReader<ProgramOutput>>,
    custody: Custody,
}

impl Server {
    async fn start(folder: &Folder) -> Server {
        let walls = super::walls();
        let text = "while read -r line; do eval \"$line\" 2>/dev/null; echo done; done";
        let (confined, custody) = writer(folder, text).guarded(&walls).await.unwrap();
        let mut running = confined.start(&walls).unwrap();
        let feed = running.stdin.take().unwrap();
        let lines = BufReader::new(std::mem::take(&mut running.stdout)).lines();
        let mut server = Server { running, feed, lines, custody };
        server.call("true").await;
        server
    }

    async fn call(&mut self, line: &str) {
        self.feed.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        assert_eq!(self.lines.next_line().await.unwrap().as_deref(), Some("done"));
    }

    /// Ends it, and returns its intrusions: each path, and the change.
    async fn end(mut self) -> Vec<(String, GoverningChange)> {
        self.running.stop();
        self.running.ended().await.unwrap();
        let intrusions = self.custody.conclude().await;
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        intrusions.iter().map(|found| (name(&found.path), found.change)).collect()
    }
}

/// Replaces a file by a rename, as editors and git do.
fn rename_over(folder: &Folder, name: &str, text: &str) {
    let beside = root(folder).join("beside");
    fs::write(&beside, text).unwrap();
    fs::rename(beside, root(folder).join(name)).unwrap();
}

#[tokio::test]
async fn acceptance_during_run_keeps_lock_read_only() {
    let folder = workspace().file("haft.lock", "before");
    let mut server = Server::start(&folder).await;
    server.call("echo x >> haft.lock").await;
    write_rule(&root(&folder), "haft.lock", b"accepted").unwrap();
    assert!(!server.custody.is_stale());
    assert!(!Loading::begin(&root(&folder)).unwrap().suspects().contains("haft.lock"));
    server.call("echo x >> haft.lock; echo x > y && mv y haft.lock; rm -f haft.lock y").await;
    assert_eq!(folder.read("haft.lock"), "accepted");
    assert_eq!(server.end().await, []);
}

#[tokio::test]
async fn acceptance_without_runs_replaces_lock_whole() {
    let folder = workspace().file("haft.lock", "a longer one before");
    run(writer(&folder, "true")).await.unwrap();
    write_rule(&root(&folder), "haft.lock", b"accepted").unwrap();
    assert_eq!(folder.read("haft.lock"), "accepted");
    let left = fs::read_dir(root(&folder).join(".haft")).unwrap();
    assert!(!left.flatten().any(|file| file.file_name().to_string_lossy().contains("lock")));
}

#[tokio::test]
async fn replaced_governing_files_make_program_stale_and_are_restored() {
    for name in ["haft.lock", ".git/config", ".envrc"] {
        let folder = workspace().file("haft.lock", "before").file(".envrc", "before");
        let before = everything(&folder);
        let mut server = Server::start(&folder).await;
        rename_over(&folder, name, "of a person");
        assert!(server.custody.is_stale(), "{name}");
        server.call(&format!("echo x >> {name}")).await;
        assert_eq!(folder.read(name), "of a personx\n", "the mount is gone: {name}");
        let file = Path::new(name).file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(server.end().await, [(file, GoverningChange::Replaced)]);
        assert_eq!(everything(&folder), before, "{name}");
        assert_eq!(quarantined(&folder), [name]);
    }
}

#[tokio::test]
async fn note_tells_how_to_put_replaced_file_back() {
    let folder = workspace();
    let server = Server::start(&folder).await;
    rename_over(&folder, ".git/config", "of a person");
    assert_eq!(server.end().await, [("config".to_owned(), GoverningChange::Replaced)]);
    assert_eq!(folder.read(".git/config"), "c");
    let run = fs::read_dir(root(&folder).join(".haft/quarantine")).unwrap().next().unwrap();
    let note = fs::read_to_string(run.unwrap().path().join("NOTE.txt")).unwrap();
    let command = note.lines().find(|line| line.trim().starts_with("mv ")).unwrap();
    let ran = std::process::Command::new("sh").arg("-c").arg(command.trim()).status();
    assert!(ran.unwrap().success(), "{note}");
    assert_eq!(folder.read(".git/config"), "of a person");
}

#[tokio::test]
async fn folder_replaced_and_written_is_quarantined() {
    let folder = workspace().file(".vscode/tasks.json", "t");
    let mut server = Server::start(&folder).await;
    fs::rename(root(&folder).join(".vscode"), root(&folder).join("old")).unwrap();
    fs::create_dir(root(&folder).join(".vscode")).unwrap();
    server.call("echo x > .vscode/tasks.json").await;
    assert_eq!(server.end().await, [(".vscode".to_owned(), GoverningChange::Replaced)]);
    assert_eq!(quarantined(&folder), [".vscode/tasks.json"]);
}

/// Settings come into force by acceptance, so an edit stays; the program must be ended all the
/// same.
#[tokio::test]
async fn replaced_settings_stay_and_make_program_stale() {
    let folder = workspace();
    let server = Server::start(&folder).await;
    assert!(!server.custody.is_stale());
    rename_over(&folder, "haft.toml", "of a person");
    assert!(server.custody.is_stale());
    assert_eq!(server.end().await, []);
    assert_eq!(folder.read("haft.toml"), "of a person");
}

#[tokio::test]
async fn same_content_under_new_inode_is_no_violation() {
    let folder = workspace();
    let server = Server::start(&folder).await;
    rename_over(&folder, ".git/config", "c");
    assert!(server.custody.is_stale());
    assert_eq!(server.end().await, []);
    assert_eq!(folder.read(".git/config"), "c");
}

#[tokio::test]
async fn replaced_lock_is_distrusted_until_run_ends() {
    let folder = workspace().file("haft.lock", "before");
    let server = Server::start(&folder).await;
    rename_over(&folder, "haft.lock", "of a person");
    let loading = Loading::begin(&root(&folder)).unwrap();
    assert!(loading.suspects().contains("haft.lock"));
    assert!(loading.suspects().was_replaced("haft.lock"));
    drop(loading);
    server.end().await;
    assert!(!Loading::begin(&root(&folder)).unwrap().suspects().contains("haft.lock"));
}

#[tokio::test]
async fn denied_absent_paths_are_quarantined_when_created() {
    for name in [".envrc", "plans", "keys/id"] {
        let folder = workspace().file("keys/other", "k");
        let path = root(&folder).join(name);
        let denied = |text: &str| {
            let confined = writer(&folder, text);
            let hidden = [confined.hidden.clone(), vec![path.clone()]].concat();
            ConfinedProgram { hidden, denied: vec![path.clone()], ..confined }
        };
        let words = violated(run(denied(&format!("echo x > {name}"))).await);
        assert!(words.contains(name), "{words}");
        assert_eq!(quarantined(&folder), [name]);
        run(denied("echo x > ordinary")).await.unwrap();
    }
}

/// Each row: the symlinks and their targets, and what a program tries.
#[tokio::test]
async fn targets_of_governing_links_are_governing() {
    let rows: [(&[(&str, &str)], &str); 7] = [
        (&[(".git/hooks", "../scripts")], "echo x > scripts/update; echo x > scripts/pre-commit"),
        (&[(".vscode", "dotvs")], "echo x > dotvs/tasks.json; rm -rf dotvs; mv dotvs y"),
        (&[(".github", "gh")], "echo x > gh/workflows/ci.yml; rm -rf gh; mv gh y"),
        (&[(".envrc", "scripts/env")], "echo x > scripts/env"),
        (&[("vendor/lib/.git/hooks", "../../../scripts")], "echo x > scripts/update"),
        (&[(".vscode", "one"), ("one", "dotvs")], "echo x > dotvs/tasks.json"),
        (&[(".idea", "missing/folder")], "mkdir -p missing/folder && echo x > missing/folder/x"),
    ];
    for (links, attempt) in rows {
        let folder = workspace()
            .file("scripts/update", "u")
            .file("scripts/env", "e")
            .file("dotvs/tasks.json", "t")
            .file("gh/workflows/ci.yml", "c");
        fs::remove_dir_all(root(&folder).join(".git/hooks")).unwrap();
        for (link, target) in links {
            symlink(target, root(&folder).join(link)).unwrap();
        }
        let before = everything(&folder);
        let _ = run(writer(&folder, &format!("({attempt}) 2>/dev/null; true"))).await;
        assert_eq!(everything(&folder), before, "{attempt}");
    }
}

#[tokio::test]
async fn target_of_dangling_link_is_quarantined_when_created() {
    let folder = workspace();
    symlink("src/env", root(&folder).join(".envrc")).unwrap();
    let words = violated(run(writer(&folder, "echo x > src/env")).await);
    assert!(words.contains("src/env"), "{words}");
    assert_eq!(quarantined(&folder), ["src/env"]);
}
