//! Tests of `fs.write` against governing files, in every spelling of their paths.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::OnceLock;

use haft_drivers::WorkingFolder;
use haft_model::Code;
use haft_model::governing::{Base, rows};
use haft_sandbox::{AddressGuard, Walls};
use haft_testkit::{Folder, SeededRandom};
use serde_json::json;

use crate::builtin::stage::Stage;

/// The home of the workspace's owner.
static HOME: OnceLock<String> = OnceLock::new();

/// Generates other spellings of a path; the same seed gives the same ones.
struct Respelling(SeededRandom);

impl Respelling {
    /// Another spelling of a path, or a symlink that leads to it.
    fn respelled(&mut self, root: &Path, path: &str) -> String {
        let mut written = String::new();
        let mut left: Vec<&str> = path.split('/').collect();
        if self.0.below(3) == 0 {
            let (first, rest) = left.split_first().unwrap();
            let link = format!("via-{}", self.0.below(1 << 30));
            symlink(first, root.join(&link)).unwrap();
            written = format!("{link}/");
            left = rest.to_vec();
        }
        for name in left {
            written += ["", "./", "a/../", "./a/.././", "/"].get(self.0.below(4)).unwrap();
            match self.0.below(3) {
                0 => written += &name.to_uppercase(),
                _ => written += name,
            }
            written += "/";
        }
        written.trim_end_matches('/').to_owned()
    }
}

/// Every file below a folder with its text, and every symlink with its target.
fn everything(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = path.strip_prefix(root).unwrap().display().to_string();
            match (kind.is_dir(), kind.is_symlink()) {
                (true, _) => folders.push(path),
                (_, true) => drop(found.insert(name, format!("{:?}", fs::read_link(path)))),
                _ => drop(found.insert(name, fs::read_to_string(path).unwrap())),
            }
        }
    }
    found
}

#[test]
fn governing_paths_in_any_spelling_stay_as_they_are() {
    let folder = Folder::new().file("a/b", "1").file("haft.toml", "t").file(".cli/p/CLI.md", "c");
    let folder = folder.file(".git/config", "g").file("n/.git/hooks/x", "h").file(".tools/x", "");
    let stage = Stage::of(folder);
    let folder = &stage.folder;
    let mut seeded = Respelling(SeededRandom::new(2));
    let anywhere = [".git/config", "n/.git/hooks/pre-commit", "n/.envrc", ".gitmodules", "n/.git"];
    let table: Vec<String> = rows(Base::Workspace)
        .iter()
        .flat_map(|row| {
            let path = row.pattern.replace('*', "x");
            [path.clone(), format!("{path}/p/TOOL.md")]
        })
        .chain(anywhere.map(str::to_owned))
        .collect();
    for round in 0..8 {
        for path in &table {
            let written = seeded.respelled(folder.path(), path);
            let mode = ["replace", "create", "append"].get(seeded.0.below(3)).unwrap();
            let before = everything(folder.path());
            let input = json!({"path": written, "content": "x", "mode": mode});
            let failure = stage.run("fs.write", input).failure();
            let allowed = [Code::SandboxViolation, Code::InputValue, Code::ResourceNotFound];
            let code = failure.stop.code;
            assert!(allowed.contains(&code) || code == Code::Conflict, "{written}: {code:?}");
            assert_eq!(everything(folder.path()), before, "round {round}: {written} as {mode}");
        }
    }
}

#[test]
fn hard_links_of_rules_are_not_added_to() {
    let folder = Folder::new().file("haft.toml", "t").file("a/b", "1");
    fs::hard_link(folder.path().join("haft.toml"), folder.path().join("notes")).unwrap();
    let stage = Stage::of(folder);
    let folder = &stage.folder;
    let failure =
        stage.run("fs.write", json!({"path": "notes", "content": "x", "mode": "append"})).failure();
    assert_eq!(failure.stop.code, Code::SandboxViolation);
    assert_eq!(folder.read("haft.toml"), "t");
    stage.run("fs.write", json!({"path": "notes", "content": "x"})).value();
    assert_eq!((folder.read("haft.toml"), folder.read("notes")), ("t".into(), "x".into()));
}

#[test]
fn what_a_link_of_the_rules_leads_to_governs() {
    let folder = Folder::new().file("config/tools/x/TOOL.md", "t").file("shared/y/TOOL.md", "y");
    let folder = folder.file("haft.toml", "").file("config/other", "o");
    symlink("config/tools", folder.path().join(".tools")).unwrap();
    symlink("../../shared/y", folder.path().join("config/tools/y")).unwrap();
    let stage = Stage::of(folder);
    for path in ["config/tools/x/TOOL.md", "config/tools/new/TOOL.md", "shared/y/TOOL.md"] {
        let failure = stage.run("fs.write", json!({"path": path, "content": "x"})).failure();
        assert_eq!(failure.stop.code, Code::SandboxViolation, "{path}");
    }
    stage.run("fs.write", json!({"path": "config/other", "content": "x"})).value();
}

#[test]
fn start_up_files_of_a_home_are_not_written() {
    let folder = Folder::new().file("haft.toml", "").file("a", "");
    HOME.set(folder.path().display().to_string()).unwrap();
    let stage = Stage::of(folder);
    let home = |name: &str| HOME.get().filter(|_| name == "HOME").cloned();
    let stage = Stage { builtin: stage.builtin.at_home(home), ..stage };
    for path in [".bashrc", ".ssh/authorized_keys", ".config/haft/x", ".gitconfig"] {
        let failure = stage.run("fs.write", json!({"path": path, "content": "x"})).failure();
        assert_eq!(failure.stop.code, Code::SandboxViolation, "{path}");
    }
    stage.run("fs.write", json!({"path": ".config/other", "content": "x"})).value();
}

#[test]
fn targets_of_governing_links_are_not_written() {
    let folder = Folder::new().file("haft.toml", "").file("scripts/update", "u").file(".git/x", "");
    let folder = folder.file("dotvs/tasks.json", "t").file("gh/workflows/ci.yml", "c");
    for (link, target) in [
        (".git/hooks", "../scripts"),
        (".vscode", "dotvs"),
        (".github", "gh"),
        (".envrc", "src/env"),
        (".idea", "missing"),
    ] {
        symlink(target, folder.path().join(link)).unwrap();
    }
    let stage = Stage::of(folder);
    for path in [
        "scripts/pre-commit",
        "dotvs/tasks.json",
        "gh/workflows/new.yml",
        "src/env",
        "missing/workspace.xml",
    ] {
        let failure = stage.run("fs.write", json!({"path": path, "content": "x"})).failure();
        assert_eq!(failure.stop.code, Code::SandboxViolation, "{path}");
    }
    stage.run("fs.write", json!({"path": "gh/CODEOWNERS", "content": "x"})).value();
}

#[test]
fn files_that_hooks_execute_are_not_written() {
    let folder = Folder::new().file("haft.toml", "").file("hooks/look", "h").file("data/db", "d");
    let place = WorkingFolder {
        root: folder.path().to_owned(),
        hidden: vec!["data/db".into()],
        programs: vec!["hooks/look".into()],
        walls: Walls::Missing,
        guard: AddressGuard::public(),
        variable: |_| None,
        secrets: Default::default(),
    };
    let stage = Stage::of(folder);
    let stage = Stage { builtin: stage.builtin.protecting(&place), ..stage };
    for path in ["hooks/look", "data/db", "./hooks/../hooks/look"] {
        let failure = stage.run("fs.write", json!({"path": path, "content": "x"})).failure();
        assert_eq!(failure.stop.code, Code::SandboxViolation, "{path}");
    }
    stage.run("fs.write", json!({"path": "hooks/other", "content": "x"})).value();
}
