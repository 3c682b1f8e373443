//! Sandbox tests: confined programs try to get out, and the kernel's answer counts.

mod bounds;
mod ends;
mod escapes;
mod gate;
mod governing;
mod ordinary;
mod probe;
mod replaced;
mod standby;
mod talk;
mod tries;

use std::fs;
use std::future::pending;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use haft_sandbox::{
    Access, ConfinedProgram, ExitKind, Launcher, MountedPath, ProgramExit, StartRefusal, Walls,
};
use haft_testkit::Folder;

/// The variable that names another copy of the launcher, which other users can reach.
const LAUNCHER: &str = "HAFT_TEST_LAUNCHER";

/// The launcher that this package builds, or a copy of it.
fn program() -> String {
    std::env::var(LAUNCHER).unwrap_or_else(|_| env!("CARGO_BIN_EXE_haft-sandbox").to_owned())
}

fn walls() -> Walls {
    Walls::By(Launcher::at(program()))
}

/// A deadline far enough away not to matter.
fn late() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// A shell script over a read-only folder.
fn script(folder: &Folder, text: &str) -> ConfinedProgram {
    ConfinedProgram {
        program: PathBuf::from("/bin/sh"),
        args: vec!["-c".into(), text.into()],
        shown: vec![MountedPath { path: root(folder), access: Access::Read }],
        cwd: root(folder),
        ..ConfinedProgram::default()
    }
}

/// The real path of a folder.
fn root(folder: &Folder) -> PathBuf {
    fs::canonicalize(folder.path()).unwrap()
}

async fn run(confined: ConfinedProgram) -> Result<ProgramExit, StartRefusal> {
    confined.run(&walls(), late(), pending()).await
}

/// The output of a script, which must exit with 0.
async fn said(confined: ConfinedProgram) -> String {
    let ended = run(confined).await.unwrap();
    let (out, err) = (text(&ended.stdout), text(&ended.stderr));
    assert_eq!(ended.end, ExitKind::Exited(0), "{out}{err}");
    out
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Makes a file executable.
fn executable(folder: &Folder, path: &str) {
    let path = folder.path().join(path);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
