//! Edge cases: closed pipes, missing workspaces, unreadable files and usage errors.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use haft_testkit::Folder;
use serde_json::json;

use crate::stage::{READS, check, command, json as answer, prices, run, tool};

#[test]
fn a_reader_that_has_seen_enough_is_no_fault() {
    for line in ["explain", "explain --json", "schema driver"] {
        let mut child = command(&Folder::new(), line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut remarks = String::new();
        child.stderr.take().unwrap().read_to_string(&mut remarks).unwrap();
        assert_eq!((child.wait().unwrap().code(), remarks), (Some(0), String::new()), "{line}");
    }
}

#[test]
fn an_empty_folder_is_no_workspace() {
    for line in ["check", "tools", "show x", "why x", "accept x"] {
        check(
            &Folder::new(),
            line,
            r"
exit 2
! error: `[folder]` is not a workspace: it has neither haft.toml nor .tools
! help: `haft init` makes one; `-C DIR` names another folder
",
        );
    }
}

#[test]
fn broken_settings_are_reported_and_defaults_stand_in() {
    let folder = prices("^1").file("haft.toml", "[workspace]\nregion = [\"us\"\n");
    check(
        &folder,
        "check",
        r#"
exit 1
checked 2 manifests: 1 error, 2 warnings
! warning[D060]: there is no file `./.secrets/prices/SECRETS.md`
!   --> .drivers/prices/DRIVER.md:11:8
!    |
! 11 |   ref: ./.secrets/prices/SECRETS.md
!    |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
!    |
!    = help: list its secrets in any SECRETS.md of the workspace; one that none lists stays closed
!
! warning[T040]: the tool changes something and asks for no approval
!  --> .tools/price.lookup/TOOL.md:8:11
!   |
! 8 | approval: auto
!   |           ^^^^
!   |
!   = help: say `approval: on-mutate`, or leave it: rules and autonomy still decide
!
! error[Y005]: unclosed array, expected `]`
!  --> haft.toml:2:15
!   |
! 2 | region = ["us"
!   |               ^
!
"#,
    );
    let (exit, said) = answer(&folder, "why price.lookup --json");
    assert_eq!((exit, &said["driver"]), (0, &json!("prices")));
}

#[test]
fn unknown_setting_is_reported_at_its_location() {
    let folder = Folder::new().file("haft.toml", "[workspace]\nautonomi = 1\n");
    check(
        &folder,
        "check",
        r"
exit 1
checked no manifests: 1 error, no warnings
! error[W030]: `[workspace]` has no field `autonomi`
!  --> haft.toml:2:1
!   |
! 2 | autonomi = 1
!   | ^^^^^^^^
!   |
!   = help: did you mean `autonomy`?
!
",
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_is_reported() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new()
        .file(".tools/a.b/TOOL.md", tool("a.b", "1.0.0", READS))
        .file(".tools/a.c/TOOL.md", tool("a.c", "1.0.0", READS));
    let closed = folder.path().join(".tools/a.b/TOOL.md");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&closed).is_ok() {
        return; // Nothing is closed to the superuser.
    }
    let (exit, said) = answer(&folder, "check --json");
    assert_eq!((exit, &said["diagnostics"][0]["code"]), (1, &json!("Y011")));
}

#[test]
fn bytes_that_are_no_text_are_reported() {
    let folder = Folder::new().file(".tools/a.b/TOOL.md", [b'-', 0xff, 0xfe]);
    check(
        &folder,
        "check",
        r"
exit 1
checked 1 manifest: 1 error, no warnings
! error[Y001]: byte 1 is not UTF-8
! --> .tools/a.b/TOOL.md
!  = help: save the file as UTF-8
!
",
    );
}

#[test]
fn an_empty_file_is_reported() {
    check(
        &Folder::new().file(".tools/a.b/TOOL.md", ""),
        "check",
        r"
exit 1
checked 1 manifest: 1 error, no warnings
! error[Y004]: the file does not start with `---`
! --> .tools/a.b/TOOL.md
!  = help: a manifest opens with YAML between two `---` lines
!
",
    );
}

#[test]
fn malformed_command_line_is_a_usage_error() {
    for line in [
        "",
        "fly",
        "tools --colour",
        "why",
        "accept x --settings",
        "accept x --all",
        "check --json --sarif",
    ] {
        let ran = run(&Folder::new(), line);
        assert_eq!((ran.status.code(), ran.stdout.is_empty()), (Some(2), true), "haft {line}");
    }
}

#[test]
fn help_and_version_are_no_errors() {
    for line in ["--help", "--version", "why --help", "init -h", "help tools"] {
        let ran = run(&Folder::new(), line);
        assert_eq!((ran.status.code(), ran.stderr.is_empty()), (Some(0), true), "haft {line}");
    }
    let help = String::from_utf8(run(&Folder::new(), "--help").stdout).unwrap();
    for command in ["init", "check", "tools", "show", "why", "accept", "schema", "explain"] {
        assert!(help.contains(&format!("\n  {command} ")), "{command} is not in\n{help}");
    }
}
