//! Tests of violation reports: a refused change is reported, and the kernel refuses it.

use std::path::PathBuf;

use haft_sandbox::{Access, ConfinedProgram, ExitKind, MountedPath, RefusedAccess};
use haft_testkit::Folder;

use crate::confined::{root, run, script, text};

fn told(tried: &[RefusedAccess]) -> Vec<(PathBuf, &str)> {
    let told = tried.iter().map(|tried| match tried {
        RefusedAccess::Path { path, wanted } => (path.clone(), wanted.as_str()),
        RefusedAccess::Host { host, .. } => (PathBuf::from(host), "reach"),
    });
    told.collect()
}

#[tokio::test]
async fn denied_file_changes_are_reported_and_allowed_ones_not() {
    let folder = Folder::new().file("open/a", "old").file("closed/b", "old").file(".haft/key", "x");
    let at = |path: &str| root(&folder).join(path);
    std::os::unix::fs::symlink(at("closed"), at("open/way")).unwrap();
    let shown = vec![
        MountedPath { path: root(&folder), access: Access::Read },
        MountedPath { path: at("open"), access: Access::Write },
    ];
    let tries = "exec 2>/dev/null
        cat open/a closed/b >/dev/null; echo new > open/a; echo new > /tmp/x; mkdir -p open/c/d; mkdir -p /usr/bin
        rm -f absent; (echo x > /dev/stderr); touch open/a; mv open/a open/e
        (echo x > closed/b); (echo x > open/../closed/new); (echo x > open/way/there)
        mkdir closed/folder; rm -f closed/b; mv closed/b open/b; ln -s a closed/link; chmod 600 closed/b
        (echo x > /etc/passwd); (echo x > /var/log/mine); (echo x > .haft/new); (echo x > closed/b); exit 0";
    let confined = ConfinedProgram { shown, hidden: vec![at(".haft")], ..script(&folder, tries) };
    let ended = run(confined).await.unwrap();
    assert_eq!(ended.end, ExitKind::Exited(0), "{}", text(&ended.stderr));
    let wanted = [
        (at("closed/b"), "write"),
        (at("closed/new"), "create"),
        (at("closed/there"), "create"),
        (at("closed/folder"), "create"),
        (at("closed/b"), "remove"),
        (at("closed/b"), "move"),
        (at("closed/link"), "create"),
        (at("closed/b"), "change"),
        ("/etc/passwd".into(), "write"),
        ("/var/log/mine".into(), "create"),
        (at(".haft/new"), "create"),
    ];
    assert_eq!(told(&ended.tried), wanted);
    assert_eq!((folder.read("closed/b"), folder.read("open/e")), ("old".into(), "new\n".into()));
}

#[tokio::test]
async fn first_denied_attempts_are_reported_and_program_continues() {
    let folder = Folder::new();
    let many = "exec 2>/dev/null; i=0; while [ $i -lt 200 ]; do mkdir d$i; mkdir d0; i=$((i+1)); done; echo done";
    let ended = run(script(&folder, many)).await.unwrap();
    let names: Vec<_> =
        (0..32).map(|number| (root(&folder).join(format!("d{number}")), "create")).collect();
    assert_eq!((text(&ended.stdout), told(&ended.tried)), ("done\n".into(), names));
}
