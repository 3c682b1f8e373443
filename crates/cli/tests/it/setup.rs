//! `haft setup` tests: a program is set up only with a person's consent, and the result is on
//! record.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::stage::{READS, command, tool};

/// A workspace with one tool and the driver that serves it.
fn workspace(driver: &str) -> Folder {
    let driver = format!(
        "---\nname: Demo\nid: demo\ndescription: A program.\nversion: 1.0.0\nkind: cli\n{driver}\n\
         implements:\n  - {{ tool: demo.run, version: ^1, metadata: {{ cli: {{ argv: [] }} }} }}\n---\n"
    );
    Folder::new()
        .file("haft.toml", "[workspace]\nname = \"demo\"\n")
        .file(".tools/demo.run/TOOL.md", tool("demo.run", "1.0.0", READS))
        .file(".drivers/demo/DRIVER.md", driver)
}

/// Runs a command whose home, and what Haft installs, are in the folder.
fn at_home(folder: &Folder, line: &str) -> (i32, String, String) {
    let mut command = command(folder, line);
    command.env("HOME", folder.path()).env_remove("XDG_DATA_HOME");
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| folder.filtered(&String::from_utf8(bytes).unwrap());
    (status.code().unwrap(), text(stdout), text(stderr))
}

fn record(folder: &Folder) -> Value {
    let text = folder.read(".haft/drivers.json");
    let mut record = serde_json::from_str::<Value>(&text).unwrap()["demo"]["ana"].take();
    let fields = record.as_object_mut().unwrap();
    fields.remove("checked_at").unwrap();
    // Which file it was is the machine's own.
    fields.remove("program");
    record
}

const GIT: &str = "bin: git\nversion_check: { cmd: git --version, parse: 'git version (\\d+\\.\\d+\\.\\d+)', range: RANGE }";

#[test]
fn setup_of_installed_matching_version_is_ready_and_recorded() {
    let folder = workspace(&GIT.replace("RANGE", "'>=2'"));
    let (exit, out, _) = at_home(&folder, "setup demo");
    assert_eq!(exit, 0);
    assert!(out.starts_with("demo 2.") && out.ends_with(" is ready\n"), "{out}");
    let mut found = record(&folder);
    assert!(found["version"].take().as_str().unwrap().starts_with("2."));
    assert_eq!(
        found,
        json!({"installed": true, "version": null, "version_fits": true, "ready": true})
    );
}

#[test]
fn setup_with_wrong_version_fails_and_is_recorded() {
    let folder = workspace(&GIT.replace("RANGE", "'>=900'"));
    let (exit, _, err) = at_home(&folder, "setup demo");
    assert_eq!(exit, 1, "{err}");
    assert!(
        err.contains("setup.required: `git` is 2.") && err.contains("`>=900` is needed"),
        "{err}"
    );
    let mut found = record(&folder);
    let misfit = found["misfit"].take();
    assert!(misfit.as_str().unwrap().contains("`>=900` is needed"), "{misfit}");
    assert_eq!(
        found,
        json!({"installed": true, "version_fits": false, "misfit": null, "ready": false})
    );
}

#[test]
fn setup_installs_only_with_consent_and_program_runs() {
    let folder = workspace(
        "bin: haft-demo-program\ninstall:\n  - { method: download, url: 'https://x.example/a', extract_bin: a }\n  \
         - { method: vendored, path: bin/demo }",
    );
    let folder = folder.file(".drivers/demo/bin/demo", "#!/bin/sh\necho from the bundle\n");
    let program = folder.path().join(".drivers/demo/bin/demo");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    let (exit, _, err) = at_home(&folder, "setup demo");
    assert_eq!(exit, 1);
    assert!(err.contains("skipped  download (download): it has no `verify_sha256`"), "{err}");
    assert!(
        err.contains("next     use ") && err.contains("needs consent, and there is no terminal"),
        "{err}"
    );
    let (exit, _, err) = at_home(&folder, "call demo.run --no-wait");
    assert_eq!(exit, 1);
    assert!(err.contains("runs `haft-demo-program`, which is not installed"), "{err}");
    let (exit, out, err) = at_home(&folder, "setup demo --yes");
    assert_eq!((exit, out.as_str()), (0, "demo is ready\n"), "{err}");
    let (exit, out, err) = at_home(&folder, "call demo.run --no-wait --json");
    assert_eq!(exit, 0, "{out}{err}");
    assert!(out.contains("from the bundle"), "{out}");
}

#[test]
fn setup_steps_run_once_in_order_leaving_prompts_open() {
    let folder = workspace(
        "bin: sh\nsetup:\n  - { id: known, kind: cmd, cmd: 'false', skip_if: { cmd: 'true' } }\n  \
         - { id: greet, kind: cmd, cmd: sh -c 'echo x >> steps' }\n  \
         - { id: key, kind: prompt, prompt: Which key?, type: secret, persist: { secret_slug: demo-key } }",
    );
    let folder = folder.file("steps", "");
    for _ in 0..2 {
        let (exit, _, err) = at_home(&folder, "setup demo --yes");
        assert_eq!(exit, 1, "{err}");
        assert!(err.contains("step `key` (key): run `haft secrets set demo-key`"), "{err}");
    }
    assert_eq!(folder.read("steps"), "x\n");
    assert_eq!(
        record(&folder),
        json!({
            "installed": true, "version_fits": true, "ready": false, "steps": ["greet", "known"],
        })
    );
}

#[test]
fn setup_of_unknown_driver_fails() {
    let (exit, _, err) = at_home(&workspace("bin: sh"), "setup nobody");
    assert_eq!(exit, 1, "{err}");
    assert!(err.contains("no contract here is served by a driver `nobody`"), "{err}");
}

#[test]
fn wrong_version_is_reported_until_program_is_replaced() {
    let folder = workspace(
        "bin: ./demo.sh\nversion_check: { cmd: ./demo.sh, parse: '(\\d+)', range: '>=2' }\n\
         sandbox: { fs: { read: [./**] } }",
    );
    let program = |version: &str| {
        let path = folder.path().join("demo.sh");
        fs::write(&path, format!("#!/bin/sh\necho {version}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("1");
    assert_eq!(at_home(&folder, "setup demo").0, 1);
    let (_, out, _) = at_home(&folder, "show demo.run");
    let state = "wrong version: `./demo.sh` is 1, and `>=2` is needed; run `haft setup demo`";
    assert!(out.contains(state), "{out}");
    assert_eq!(at_home(&folder, "call demo.run --no-wait").0, 1);
    program("12");
    assert_eq!(at_home(&folder, "call demo.run --no-wait").0, 0);
    assert_eq!(at_home(&folder, "setup demo").0, 0);
}
