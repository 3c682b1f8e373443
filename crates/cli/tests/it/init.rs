//! `haft init` tests.

use haft_testkit::Folder;

use serde_json::json;

use crate::stage::{check, done, json};

#[test]
fn a_new_workspace_is_written_and_sound() {
    let folder = Folder::new();
    check(
        &folder,
        "init",
        r"
exit 0
wrote haft.toml
wrote .gitignore
wrote .tools/git.log/TOOL.md
wrote .tools/git.commit/TOOL.md
wrote .drivers/git/DRIVER.md
wrote .actions/vcs-read/ACTION.md
wrote .actions/vcs-commit/ACTION.md
wrote .policy/agents/POLICY.md
wrote GOVERNANCE.md
next: `haft -C [folder] tools`, `haft -C [folder] why git.log`
",
    );
    assert_eq!(json(&folder, "check --json"), (0, json!({ "diagnostics": [] })));
    check(
        &folder,
        "tools",
        r"
exit 0
TOOL         VERSION  RISK  STATE  DRIVERS       ABOUT
fs.list      1.0.0    0     ready  haft-builtin  Lists what lies in a folder of the workspace, with kinds and sizes.
fs.read      1.0.0    0     ready  haft-builtin  Reads a file of the workspace, or a part of it.
fs.write     1.0.0    1     ready  haft-builtin  Writes a file of the workspace: the whole of it, a new one, or more at its end.
git.commit   1.0.0    1     ready  git           Commits what is staged in the repository of this folder, with a message.
git.log      1.0.0    0     ready  git           Lists the latest commits of the repository in this folder, newest first.
http.fetch   1.0.0    2     ready  haft-builtin  Fetches what lies at a web address with one GET request.
text.search  1.0.0    0     ready  haft-builtin  Finds every line of a file, or of all files below a folder, that a regular expression matches.
time.now     1.0.0    0     ready  haft-builtin  Says what time it is, in UTC.
",
    );
    check(
        &folder,
        "why git.log",
        r"
exit 0
git.log@1  Read the git history
input     not given, so not checked
driver    git: it is the only one left
limits    [time], one attempt
risk      0 (low)
approval  auto
grant     vcs:read
decision  ✔ allow: risk 0 is within autonomy 0

LAYER       SAYS           RULE                 REASON
grant       ✔ allow        @workspace/agents#0  matched-grant: `vcs:read` for `bot://*`
governance  · passthrough  defaultApproval      approval is `on-mutate` by default, and the call changes nothing: others decide
autonomy    ✔ allow        -                    risk 0 is within autonomy 0
",
    );
}

#[test]
fn a_second_run_keeps_everything() {
    let folder = Folder::new();
    done(&folder, "init");
    let folder = folder.file("haft.toml", "[workspace]\nautonomy = 1\n");
    let lock = folder.read("haft.lock");
    check(
        &folder,
        "init",
        r"
exit 0
kept  haft.toml
kept  .gitignore
kept  .tools/git.log/TOOL.md
kept  .tools/git.commit/TOOL.md
kept  .drivers/git/DRIVER.md
kept  .actions/vcs-read/ACTION.md
kept  .actions/vcs-commit/ACTION.md
kept  .policy/agents/POLICY.md
kept  GOVERNANCE.md
next: `haft -C [folder] tools`, `haft -C [folder] why git.log`
",
    );
    assert_eq!(folder.read("haft.toml"), "[workspace]\nautonomy = 1\n");
    assert_eq!(folder.read("haft.lock"), lock);
}

#[test]
fn a_partial_workspace_gets_what_is_missing() {
    let folder = Folder::new()
        .file("haft.toml", "")
        .file(".gitignore", "target/\n")
        .file(".tools/git.log/TOOL.md", "---\nbroken: [\n---\n");
    check(
        &folder,
        "init --json",
        r#"
exit 0
{
  "written": [
    ".tools/git.commit/TOOL.md",
    ".drivers/git/DRIVER.md",
    ".actions/vcs-read/ACTION.md",
    ".actions/vcs-commit/ACTION.md",
    ".policy/agents/POLICY.md",
    "GOVERNANCE.md"
  ],
  "kept": [
    "haft.toml",
    ".gitignore",
    ".tools/git.log/TOOL.md"
  ]
}
"#,
    );
    assert_eq!(folder.read(".gitignore"), "target/\n");
    assert_eq!(folder.read(".tools/git.log/TOOL.md"), "---\nbroken: [\n---\n");
}

#[test]
fn a_folder_can_be_named_and_is_made() {
    let folder = Folder::new();
    let place = folder.path().join("deep/er");
    done(&folder, &format!("init {}", place.display()));
    assert!(place.join(".tools/git.commit/TOOL.md").is_file());
    assert!(!folder.path().join("haft.toml").exists());
}

#[test]
fn init_at_path_of_existing_file_reports_error() {
    let folder = Folder::new().file("taken", "");
    let place = folder.path().join("taken");
    check(
        &folder,
        &format!("init {}", place.display()),
        r"
exit 1
! error: cannot make `[folder]/taken`: File exists (os error 17)
",
    );
}
