//! Tests of provisioning: argv splitting, and install methods as data.

use haft_model::DriverKind;
use haft_sandbox::AddressGuard;
use haft_testkit::Folder;
use serde_json::json;

use super::*;

#[test]
fn command_splits_like_shell_and_operators_are_refused() {
    let known = |name: &str| match name {
        "HOME" => Some("/at/home".to_owned()),
        "TOKEN" => Some("a b; c".to_owned()),
        _ => None,
    };
    for (text, expected) in [
        ("git --version", Ok(vec!["git", "--version"])),
        ("a 'b c' \"d $TOKEN\" e\\ f", Ok(vec!["a", "b c", "d a b; c", "e f"])),
        ("cat ~/.gitconfig a~b", Ok(vec!["cat", "/at/home/.gitconfig", "a~b"])),
        ("echo ${TOKEN}x '$TOKEN' ''", Ok(vec!["echo", "a b; cx", "$TOKEN", ""])),
        ("a | b", Err("`|` means nothing: no shell reads it")),
        ("a && b", Err("`&` means nothing: no shell reads it")),
        ("a > b", Err("`>` means nothing: no shell reads it")),
        ("a $(b)", Err("a `$` is followed by no plain name")),
        ("a `b`", Err("``` means nothing: no shell reads it")),
        ("a $NOBODY", Err("`$NOBODY` is not set")),
        ("a 'b", Err("a quote is not closed")),
    ] {
        let found = crate::argv_split::split(text, known);
        let expected = expected.map(|words| words.into_iter().map(str::to_owned).collect());
        assert_eq!(found, expected.map_err(str::to_owned), "{text}");
    }
}

fn provision(folder: &Folder, install: serde_json::Value) -> Provision {
    let place = WorkingFolder {
        root: folder.path().to_owned(),
        hidden: Vec::new(),
        programs: Vec::new(),
        walls: Walls::Missing,
        guard: AddressGuard::public(),
        // Without a `PATH` nothing is installed.
        variable: |_| None,
        secrets: Default::default(),
    };
    let manifest = json!({"id": "demo", "bin": "demo", "install": install});
    let manifest = DriverManifest::from_json(DriverKind::Cli, &manifest).unwrap();
    Provision::new(manifest, folder.path().to_owned(), place)
}

#[test]
fn each_install_method_yields_exact_command_or_is_skipped() {
    let folder = Folder::new().file("bin/demo", "#!/bin/sh\n");
    let hash = "0".repeat(64);
    for (entry, says, skipped) in [
        (
            json!({"method": "brew", "package": "gh"}),
            "brew install gh",
            Some("`brew` is not on this machine"),
        ),
        (json!({"method": "npm", "package": "x"}), "npm install --global x", None),
        (json!({"method": "npm", "package": "x", "global": false}), "npm install x", None),
        (json!({"method": "pip", "package": "x", "user": true}), "pip install --user x", None),
        (json!({"method": "pacman", "package": "x"}), "pacman --sync --noconfirm x", None),
        (
            json!({"method": "npm", "package": "--evil"}),
            "npm",
            Some("`--evil` would be taken for an option"),
        ),
        (json!({"method": "snap", "package": "x"}), "snap", Some("the method is unknown")),
        (
            json!({"method": "curl", "url": "https://x.example/i.sh"}),
            "curl",
            Some("it has no `verify_sha256`, so the download cannot be verified"),
        ),
        (
            json!({"method": "curl", "url": "https://x.example/i.sh", "verify_sha256": hash}),
            &format!("fetch https://x.example/i.sh (sha256 {hash}) and run it with sh"),
            None,
        ),
        (
            json!({"method": "download", "url": "https://x.example/a.tgz", "verify_sha256": hash, "extract_bin": "../demo"}),
            "download",
            Some("`../demo` leads out of its folder"),
        ),
        (
            json!({"method": "cargo", "package": "x", "experimental": true}),
            "cargo install x",
            Some("it is experimental"),
        ),
    ] {
        let ways = provision(&folder, json!([entry])).ways();
        let [way] = ways.as_slice() else { panic!("{ways:?}") };
        assert_eq!(way.says, says);
        // A test cannot know which installers this machine has.
        if let Some(expected) = skipped.filter(|why| !why.contains("on this machine")) {
            assert_eq!(way.skipped.as_deref(), Some(expected));
        }
    }
    let vendored = |path: &str| {
        let ways = provision(&folder, json!([{"method": "vendored", "path": path}])).ways();
        ways.into_iter().next().and_then(|way| way.skipped).unwrap_or_default()
    };
    assert!(vendored("bin/demo").ends_with("is not executable"), "{}", vendored("bin/demo"));
    assert!(vendored("bin/none").ends_with("is not there"));
    assert_eq!(vendored("../demo"), "`../demo` leads out of its folder");
}
