//! Acceptance tests: only `init`, `add` and `accept` write `haft.lock`, and unaccepted contracts do
//! not run.

use haft_testkit::Folder;

use crate::stage::{READS, check, done, driver, json, run, tool, unaccepted};

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

fn shop() -> Folder {
    Folder::new()
        .file("haft.toml", ALLOW)
        .file(".tools/a.b/TOOL.md", tool("a.b", "1.0.0", READS))
        .file(".drivers/prog/DRIVER.md", driver("prog", &[("a.b", "^1")]))
        .file("calls.json", r#"[{"tool": "a.b"}]"#)
}

/// Every command that only reads, and those that call.
const READING: [&str; 13] = [
    "tools",
    "tools word",
    "check",
    "show a.b",
    "why a.b",
    "call a.b --json",
    "batch calls.json",
    "test",
    "export mcp",
    "doctor",
    "runs",
    "events --json",
    "serve --stdio",
];

#[test]
fn commands_that_read_or_call_leave_the_lock_alone() {
    let folder = shop();
    for line in READING {
        // Standard input is closed, so a server over it ends at once.
        unaccepted(&folder, line).output().unwrap();
        assert!(!folder.path().join("haft.lock").exists(), "haft {line}");
    }
    done(&folder, "accept a.b");
    let folder = folder.file(".tools/c.d/TOOL.md", tool("c.d", "1.0.0", READS));
    let before = folder.read("haft.lock");
    for line in READING {
        unaccepted(&folder, line).output().unwrap();
        assert_eq!(folder.read("haft.lock"), before, "haft {line}");
    }
}

#[test]
fn contract_without_a_lock_is_blocked_until_accepted() {
    let folder = shop();
    let ran = unaccepted(&folder, "call a.b --json").output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(told["error"]["error_code"], "tool.blocked", "{told:#}");
    assert_eq!(told["error"]["cause"]["reason"], "contract_unaccepted", "{told:#}");
    assert!(told.to_string().contains("haft accept a.b@1"), "{told:#}");
    let folder = folder.file("haft.lock", "");
    check(
        &folder,
        "accept a.b",
        "
exit 0
new      a.b@1: risk 0 (low); changes nothing; reaches not stated; approval auto; by prog
accepted a.b@1
",
    );
    let (_, told) = json(&folder, "call a.b --json");
    assert_ne!(told["error"]["error_code"], "tool.blocked", "{told:#}");
}

#[test]
fn new_driver_or_major_is_refused_until_accepted() {
    let folder = shop();
    done(&folder, "accept --all");
    let folder = folder
        .file(".drivers/other/DRIVER.md", driver("other", &[("a.b", "^1")]))
        .file(".drivers/clock/DRIVER.md", driver("clock", &[("time.now", "^1")]))
        .file(".tools/two/TOOL.md", tool("a.b", "2.0.0", READS));
    let ran = run(&folder, "check");
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{said}");
    for message in [
        "error[L006]: `other@1` is not accepted yet as a driver of `a.b@1`",
        "error[L006]: `clock@1` is not accepted yet as a driver of `time.now@1`",
        "error[L005]: `a.b@2` is not accepted yet: haft.lock has no entry for it",
    ] {
        assert!(said.contains(message), "{message}\n{said}");
    }
    let (_, told) = json(&folder, "call a.b@1 --json --pin other");
    assert_eq!(told["error"]["error_code"], "route.pin_unavailable", "{told:#}");
    let (_, told) = json(&folder, "call time.now --json");
    assert_eq!(told["driver"], "haft-builtin", "{told:#}");
    done(&folder, "accept --all");
    let said = String::from_utf8(run(&folder, "check").stderr).unwrap();
    assert!(!said.contains("[L0"), "{said}");
}

#[test]
fn init_and_add_accept_what_they_wrote_alone() {
    let folder = Folder::new().file(".tools/a.b/TOOL.md", tool("a.b", "1.0.0", READS));
    done(&folder, "init");
    let lock = folder.read("haft.lock");
    assert!(lock.contains("\"git.log@1\"") && !lock.contains("\"a.b@1\""), "{lock}");
    assert!(
        lock.contains("\n[governing]\n") && lock.contains("\"haft.toml\" = \"sha256:"),
        "{lock}"
    );
    let document = r#"{"openapi": "3.0.0", "info": {"title": "pets", "version": "1"},
        "servers": [{"url": "https://pets.example"}], "paths": {"/pets": {"get": {
        "operationId": "list", "summary": "Lists.", "responses": {"200": {"description": "ok"}}}}}}"#;
    let folder = folder.file("pets.json", document);
    let file = folder.path().join("pets.json");
    done(&folder, &format!("add openapi {} --id pets", file.display()));
    let lock = folder.read("haft.lock");
    assert!(lock.contains("\"pets.list@1\"") && !lock.contains("\"a.b@1\""), "{lock}");
}

#[test]
fn call_by_other_settings_goes_and_warns_once() {
    let folder = shop();
    done(&folder, "accept --all");
    let folder = folder.file("haft.toml", format!("[workspace]\nautonomy = 3\n{ALLOW}"));
    let ran = run(&folder, "call time.now");
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.success(), "{said}");
    assert_eq!(said.matches("haft.toml: other than was accepted").count(), 1, "{said}");
    check(
        &folder,
        "accept --settings",
        "
exit 0
looser   haft.toml: `workspace.autonomy` is another than before
accepted haft.toml
",
    );
    let said = String::from_utf8(run(&folder, "call time.now").stderr).unwrap();
    assert!(!said.contains("accepted"), "{said}");
}
