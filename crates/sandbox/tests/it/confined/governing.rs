//! Tests of governing files: programs that may write a workspace and try to change its rules.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use haft_sandbox::{
    Access, ConfinedProgram, Loading, MountedPath, ProgramExit, Protection, StartRefusal,
};
use haft_testkit::Folder;

use super::{root, run, script};

/// A workspace with rules, a repository and another one inside it.
pub(super) fn workspace() -> Folder {
    Folder::new()
        .file("haft.toml", "[workspace]\n")
        .file(".tools/x/TOOL.md", "t")
        .file(".git/config", "c")
        .file(".git/HEAD", "h")
        .file(".git/hooks/update", "u")
        .file("vendor/lib/.git/config", "v")
        .file("src/main", "m")
}

/// A script that may write the whole workspace, as with `mutates: ["workspace:*"]`.
pub(super) fn writer(folder: &Folder, text: &str) -> ConfinedProgram {
    let path = root(folder);
    ConfinedProgram {
        protection: Some(Protection::of(&path, |_| None)),
        shown: vec![MountedPath { path: path.clone(), access: Access::Write }],
        hidden: vec![path.join(".haft")],
        ..script(folder, text)
    }
}

/// Every file of a workspace but Haft's own, with its text; symlinks with their targets.
pub(super) fn everything(folder: &Folder) -> BTreeMap<String, String> {
    let root = root(folder);
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            match () {
                () if name == ".haft" => {}
                () if kind.is_dir() => folders.push(path),
                () if kind.is_symlink() => {
                    drop(found.insert(name, fs::read_link(path).unwrap().display().to_string()));
                }
                () => drop(found.insert(name, fs::read_to_string(path).unwrap())),
            }
        }
    }
    found
}

/// The content of the quarantine, by original path.
pub(super) fn quarantined(folder: &Folder) -> Vec<String> {
    let place = root(folder).join(".haft/quarantine");
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> =
        fs::read_dir(&place).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    let tops = folders.clone();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let top = tops.iter().find(|top| path.starts_with(top)).unwrap();
            let name = path.strip_prefix(top).unwrap().display().to_string();
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(path),
                false if name == "NOTE.txt" => {}
                false => found.push(name),
            }
        }
    }
    found.sort();
    found
}

pub(super) fn violated(ended: Result<ProgramExit, StartRefusal>) -> String {
    match ended {
        Err(StartRefusal::Violation(words)) => words,
        other => panic!("no violation: {other:?}"),
    }
}

#[tokio::test]
async fn rules_that_are_there_cannot_be_changed() {
    let attempts = [
        "echo x > haft.toml",
        "echo x >> .tools/x/TOOL.md",
        "rm -f haft.toml",
        "mv haft.toml y",
        "echo x > y && mv y haft.toml",
        "mv .tools y",
        "rm -rf .tools",
        "mkdir .tools/y",
        "mkdir y && mv -T y .tools",
        "echo x > .git/config",
        "echo x > .git/config.lock && mv .git/config.lock .git/config",
        "echo x > .git/hooks/pre-commit",
        "mv .git y",
        "mv .git/hooks y",
        "ln haft.toml y && echo x > y",
        "ln .git/hooks/update y && echo x > y",
        "echo x > vendor/lib/.git/config",
        "chmod 777 haft.toml",
        "truncate -s 0 haft.toml",
        "ln -sf /dev/null haft.toml",
    ];
    for attempt in attempts {
        let folder = workspace();
        let before = everything(&folder);
        let clean = format!("({attempt}) 2>&1; rm -rf y .git/config.lock; true");
        run(writer(&folder, &clean)).await.unwrap();
        assert_eq!(everything(&folder), before, "{attempt}");
        assert_eq!(quarantined(&folder), Vec::<String>::new(), "{attempt}");
    }
}

#[tokio::test]
async fn rules_that_appear_are_quarantined_and_the_run_refused() {
    let attempts: [(&str, &[&str]); 12] = [
        ("mkdir -p .cli/p && echo x > .cli/p/TOOL.md", &[".cli/p/TOOL.md"]),
        ("mkdir -p y/p && echo x > y/p/TOOL.md && mv y .drivers", &[".drivers/p/TOOL.md"]),
        ("echo x > haft.lock", &["haft.lock"]),
        ("echo x > .envrc", &[".envrc"]),
        (
            "mkdir .git/modules && mkdir .git/modules/m && echo x > .git/modules/m/config",
            &[".git/modules/m/config"],
        ),
        ("echo x > .git/config.worktree", &[".git/config.worktree"]),
        ("mkdir -p src/a/.git && echo x > src/a/.git/config", &["src/a/.git/config"]),
        ("echo 'gitdir: /tmp' > src/.git", &["src/.git"]),
        (
            "mkdir .github && mkdir .github/workflows && echo x > .github/workflows/ci.yml",
            &[".github/workflows/ci.yml"],
        ),
        ("mkdir .vscode && echo x > .vscode/tasks.json", &[".vscode/tasks.json"]),
        ("ln -s src .policy", &[".policy"]),
        ("echo x > GOVERNANCE.md", &["GOVERNANCE.md"]),
    ];
    for (attempt, moved) in attempts {
        let folder = workspace();
        let before = everything(&folder);
        let words = violated(run(writer(&folder, attempt)).await);
        assert!(words.contains("governs"), "{attempt}: {words}");
        assert_eq!(quarantined(&folder), moved, "{attempt}");
        let mut after = everything(&folder);
        after.retain(|path, _| before.contains_key(path));
        assert_eq!(after, before, "{attempt}");
    }
}

#[tokio::test]
async fn moving_a_folder_above_a_repository_is_a_violation() {
    let folder = workspace();
    let words = violated(run(writer(&folder, "mv vendor other")).await);
    assert!(words.contains("other/lib/.git"), "{words}");
    assert_eq!(folder.read("other/lib/.git/config"), "v");
}

#[tokio::test]
async fn ordinary_work_goes_on_beside_the_rules() {
    let folder = workspace();
    let work = "echo i > .git/index.lock && mv .git/index.lock .git/index && mkdir -p .git/objects/aa \
                && echo o > .git/objects/aa/o && mv src/main src/other && echo n > new && ln new same \
                && mkdir -p docs/a && echo d > docs/a/b && mv docs/a src/a && rm src/other";
    let ended = run(writer(&folder, work)).await.unwrap();
    assert_eq!(ended.end, haft_sandbox::ExitKind::Exited(0), "{}", super::text(&ended.stderr));
    assert_eq!(folder.read("src/a/b"), "d\n");
    assert_eq!(quarantined(&folder), Vec::<String>::new());
}

#[tokio::test]
async fn other_names_of_rules_cannot_be_written() {
    let folder = workspace().file("docs/a", "a");
    let path = root(&folder);
    fs::hard_link(path.join("haft.toml"), path.join("docs/notes")).unwrap();
    run(writer(&folder, "echo x >> docs/notes; rm -f docs/notes; mv docs/notes y; true"))
        .await
        .unwrap();
    assert_eq!(folder.read("haft.toml"), "[workspace]\n");
    // The same with only that folder writable.
    let docs = MountedPath { path: path.join("docs"), access: Access::Write };
    let narrow = writer(&folder, "echo x >> docs/notes; true");
    let shown = vec![MountedPath { path: path.clone(), access: Access::Read }, docs];
    run(ConfinedProgram { shown, ..narrow }).await.unwrap();
    assert_eq!(folder.read("haft.toml"), "[workspace]\n");
}

#[tokio::test]
async fn rule_symlinks_are_restored_and_targets_stay_readonly() {
    let folder = Folder::new().file("config/t/x/TOOL.md", "t").file("evil/x/TOOL.md", "e");
    symlink("config/t", folder.path().join(".tools")).unwrap();
    let before = everything(&folder);
    run(writer(&folder, "echo x > config/t/x/TOOL.md; mv config y; true")).await.unwrap();
    assert_eq!(everything(&folder), before);
    let words = violated(run(writer(&folder, "ln -sfn evil .tools")).await);
    assert!(words.contains("`.tools`"), "{words}");
    assert_eq!(everything(&folder), before);
}

#[tokio::test]
async fn git_config_is_open_where_a_contract_declares_it() {
    let folder = workspace();
    let open = |text: &str| {
        let confined = writer(&folder, text);
        let protection = confined.protection.clone().map(Protection::with_git_config);
        ConfinedProgram { protection, ..confined }
    };
    run(open("echo x > .git/config && mkdir -p src/a/.git && echo y > src/a/.git/config"))
        .await
        .unwrap();
    assert_eq!(folder.read(".git/config"), "x\n");
    assert_eq!(folder.read("src/a/.git/config"), "y\n");
    run(open("echo x > haft.toml; true")).await.unwrap();
    assert_eq!(folder.read("haft.toml"), "[workspace]\n");
}

#[tokio::test]
async fn a_home_keeps_its_start_up_files() {
    let folder = Folder::new()
        .file(".bashrc", "b")
        .file(".ssh/config", "s")
        .file(".config/haft/x", "h")
        .file("work/haft.toml", "t")
        .file("work/.tools/x", "x");
    let home = root(&folder);
    let at_home = |text: &str| {
        let name = home.display().to_string();
        let variable = |asked: &str| (asked == "HOME").then(|| name.clone());
        let protection = Some(Protection::of(&home.join("work"), variable));
        ConfinedProgram { protection, ..writer(&folder, text) }
    };
    let before = everything(&folder);
    let all = "for f in .bashrc .ssh/config .ssh/new .config/haft/x work/haft.toml work/.tools/x; \
               do echo x > $f; done; mv .ssh y; mv .config y; mv work y; true";
    run(at_home(all)).await.unwrap();
    assert_eq!(everything(&folder), before);
    let words = violated(run(at_home("echo x > .profile")).await);
    assert!(words.contains(".profile"), "{words}");
    assert!(!home.join(".profile").exists());
}

#[tokio::test]
async fn a_root_that_governs_is_never_opened() {
    let folder = workspace();
    let path = root(&folder).join(".tools/x");
    let shown = vec![MountedPath { path, access: Access::Write }];
    violated(run(ConfinedProgram { shown, ..writer(&folder, "true") }).await);
}

/// A reader skips rules that a run made, while it runs and after it ends without an inspection.
#[tokio::test]
async fn rules_written_by_interrupted_run_are_never_loaded() {
    let folder = workspace();
    let path = root(&folder);
    let walls = super::walls();
    let (confined, custody) =
        writer(&folder, "mkdir .cli && echo x > .cli/CLI.md && cat").guarded(&walls).await.unwrap();
    let mut running = confined.start(&walls).unwrap();
    while !path.join(".cli/CLI.md").exists() {
        tokio::task::yield_now().await;
    }
    let loading = Loading::begin(&path).unwrap();
    assert!(loading.suspects().contains(".cli") && !loading.suspects().contains(".tools"));
    assert!(path.join(".cli/CLI.md").exists(), "it is looked at when the run is over");
    drop(loading);
    running.stop();
    running.ended().await.unwrap();
    let intrusions = custody.conclude().await;
    assert_eq!(intrusions.len(), 1, "{intrusions:?}");
    assert!(!Loading::begin(&path).unwrap().suspects().contains(".cli"));
    assert_eq!(quarantined(&folder), [".cli/CLI.md"]);
}

#[tokio::test]
async fn unconcluded_run_is_concluded_by_next_reader() {
    let folder = workspace();
    let path = root(&folder);
    let left = path.join(".haft/runs/1-1");
    fs::create_dir_all(left.parent().unwrap()).unwrap();
    fs::write(&left, r#"{".cli":null,"haft.lock":null}"#).unwrap();
    fs::create_dir(path.join(".cli")).unwrap();
    fs::write(path.join(".cli/CLI.md"), "x").unwrap();
    let loading = Loading::begin(&path).unwrap();
    assert!(!loading.suspects().contains(".cli"));
    assert!(!Path::new(&path.join(".cli")).exists() && !left.exists());
    assert_eq!(quarantined(&folder), [".cli/CLI.md"]);
}

/// The process of Haft is killed during a run, which leaves its registration behind.
#[tokio::test]
async fn environment_of_killed_run_is_quarantined_by_next_reader() {
    let folder = workspace();
    let path = root(&folder);
    let (_, custody) = writer(&folder, "true").guarded(&super::walls()).await.unwrap();
    let runs = path.join(".haft/runs");
    let registered = fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let text = fs::read(&registered).unwrap();
    custody.conclude().await;
    fs::write(&registered, text).unwrap();
    for made in [".envrc", ".gitmodules", ".gitlab-ci.yml"] {
        fs::write(path.join(made), "x").unwrap();
    }
    drop(Loading::begin(&path).unwrap());
    assert_eq!(quarantined(&folder), [".envrc", ".gitlab-ci.yml", ".gitmodules"]);
    assert_eq!(folder.read("haft.toml"), "[workspace]\n");
}
