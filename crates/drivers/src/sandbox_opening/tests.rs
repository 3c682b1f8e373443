//! Tests of sandbox profiles: which declarations open which paths.

use std::fs;
use std::os::unix::fs::symlink;

use haft_model::{DriverKind, FactRule, Facts, Requires, Risk, Tri};
use haft_sandbox::{AddressGuard, Walls};
use haft_testkit::Folder;
use serde_json::{Value, json};

use super::*;

fn effects(mutates: Option<&[&str]>, network: &[&str]) -> EffectProfile {
    let owned = |list: &[&str]| list.iter().map(|&each| each.to_owned()).collect();
    EffectProfile {
        mutates: mutates.map(owned).unwrap_or_default(),
        mutates_stated: mutates.is_some(),
        classes: Default::default(),
        risk: Risk::READ,
        requires: Requires { network: owned(network), ..Requires::default() },
        approval: Default::default(),
        facts: Facts {
            read_only: if mutates == Some(&[]) { Tri::Yes } else { Tri::No },
            destructive: Tri::Unknown,
            open_world: Tri::Unknown,
            concurrency_safe: FactRule::Unstated,
        },
        inferred: Vec::new(),
    }
}

/// The opened paths, one line each, with the workspace as `.`.
fn opened(folder: &Folder, manifest: &Value, effects: &EffectProfile) -> Vec<String> {
    let place = WorkingFolder {
        root: folder.path().to_owned(),
        hidden: vec![".haft".into()],
        programs: Vec::new(),
        walls: Walls::Missing,
        guard: AddressGuard::public(),
        variable: |name| matches!(name, "TERM" | "TOKEN").then(|| "dumb".to_owned()),
        secrets: ["TOKEN".to_owned()].into(),
    };
    let manifest = DriverManifest::from_json(DriverKind::Builtin, manifest).unwrap();
    let opening = match SandboxOpening::within(&manifest, effects, &place) {
        Ok(opening) => opening,
        Err(stop) => return vec![format!("{}: {}", stop.code, stop.message)],
    };
    let root = opening.root.clone();
    let short = |path: &Path| match path.strip_prefix(&root) {
        Ok(inner) => format!("./{}", inner.display()),
        Err(_) => path.display().to_string(),
    };
    let shown = opening.shown.iter().map(|shown| {
        let access = if shown.access == Access::Write { "write" } else { "read" };
        format!("{access} {}", short(&shown.path))
    });
    let hidden = opening.hidden.iter().map(|path| format!("hide {}", short(path)));
    let hosts = opening.hosts.iter().map(|host| format!("reach {host}"));
    let env = opening.env.iter().map(|(name, value)| format!("{name}={value}"));
    shown.chain(hidden).chain(hosts).chain(env).collect()
}

#[test]
fn read_only_contract_opens_no_write_path_for_driver() {
    let folder = Folder::new().file("docs/a.md", "");
    let manifest = json!({"id": "d", "sandbox": {"fs": {"read": ["docs/**"], "write": ["**"]}}});
    assert_eq!(
        opened(&folder, &manifest, &effects(Some(&[]), &[])),
        ["read ./docs", "hide ./.haft"]
    );
}

#[test]
fn what_both_sides_may_write_is_open() {
    let folder = Folder::new().file("docs/en/a.md", "").file("src/b.rs", "");
    let manifest = json!({"id": "d", "sandbox": {"fs": {"write": ["docs/en/*.md", "src/**"]}}});
    let contract = effects(Some(&["workspace:/docs/**", "external:payments"]), &[]);
    assert_eq!(
        opened(&folder, &manifest, &contract),
        ["read ./", "write ./docs/en", "hide ./.haft"]
    );
}

#[test]
fn contract_without_mutates_allows_write_paths_of_driver() {
    let folder = Folder::new().file("docs/a.md", "");
    let manifest = json!({"id": "d", "sandbox": {"fs": {"write": ["docs"], "deny": ["docs/key"]}}});
    assert_eq!(
        opened(&folder, &manifest, &effects(None, &[])),
        ["read ./", "write ./docs", "hide ./.haft", "hide ./docs/key"]
    );
}

#[test]
fn path_that_escapes_climbs_or_is_missing_is_refused() {
    let folder = Folder::new();
    symlink("/usr", folder.path().join("out")).unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    let manifest = json!({"id": "d"});
    for (scope, expected) in [
        (
            "workspace:out/**",
            "sandbox.violation: driver `d` would write `/usr`, which is not in the workspace",
        ),
        (
            "workspace:in/../../etc",
            "sandbox.violation: driver `d` cannot open `in/../../etc`: it leads up",
        ),
        (
            "workspace:new.md",
            "setup.required: driver `d` would write `new.md`, and there is no such file or folder",
        ),
    ] {
        assert_eq!(opened(&folder, &manifest, &effects(Some(&[scope]), &[])), [expected]);
    }
}

#[test]
fn a_host_is_open_where_both_sides_list_it() {
    let folder = Folder::new();
    let manifest = json!({
        "id": "d",
        "network": {"egress": ["api.example:443", "*.cdn.example", "other.example"]},
    });
    let contract = effects(Some(&[]), &["API.example", "a.cdn.example", "b.example"]);
    assert_eq!(
        opened(&folder, &manifest, &contract),
        ["read ./", "hide ./.haft", "reach a.cdn.example", "reach api.example:443"]
    );
}

#[test]
fn a_secret_of_the_workspace_is_never_passed_on() {
    let folder = Folder::new();
    let passing = |auth: Value| {
        let env = json!({"pass": ["TERM", "TOKEN"]});
        let manifest =
            json!({"id": "d", "sandbox": {"fs": {"read": []}, "env": env}, "auth": auth});
        opened(&folder, &manifest, &effects(Some(&[]), &[]))
    };
    let refused = "sandbox.violation: `TOKEN` is a secret of this workspace, and is not passed on";
    assert_eq!(passing(json!({})), [refused]);
    // As a login the variable comes from the vault.
    assert_eq!(passing(json!({"state": {"env": ["TOKEN"]}})), ["hide ./.haft", "TERM=dumb"]);
}

#[test]
fn environment_holds_only_passed_and_set_variables() {
    let folder = Folder::new();
    let manifest = json!({
        "id": "d",
        "sandbox": {"fs": {"read": []}, "env": {"pass": ["TERM", "MISSING"], "set": {"A": "b"}}},
    });
    assert_eq!(
        opened(&folder, &manifest, &effects(Some(&[]), &[])),
        ["hide ./.haft", "A=b", "TERM=dumb"]
    );
}

#[test]
fn state_path_is_own_or_declared_by_contract() {
    let folder = Folder::new().file("home/.config/demo/token", "").file("kept/token", "");
    let root = fs::canonicalize(folder.path()).unwrap();
    let beyond = Folder::new().file("login/token", "");
    let outside = fs::canonicalize(beyond.path()).unwrap().join("login");
    let undeclared = "in every call, which the contract does not declare";
    let above = root.parent().unwrap().display().to_string();
    for (stated, mutates, expected) in [
        (outside.display().to_string(), &[][..], format!("write {}", outside.display())),
        (above.clone(), &[], format!("would write `{above}`, which is more than its own state")),
        ("/".to_owned(), &[], "would write `/`, which is more than its own state".to_owned()),
        ("./kept/**".to_owned(), &[], undeclared.to_owned()),
        (root.join("kept").display().to_string(), &[], undeclared.to_owned()),
        ("./kept/**".to_owned(), &["workspace:kept/**"], "write ./kept".to_owned()),
        ("./kept/**".to_owned(), &["workspace:home/**"], undeclared.to_owned()),
        ("./kept/**".to_owned(), &["workspace:**"], "write ./kept".to_owned()),
        ("./missing".to_owned(), &[], "hide ./.haft".to_owned()),
    ] {
        let manifest = json!({
            "id": "d", "sandbox": {"fs": {"read": [], "write": []}},
            "auth": {"state": {"paths": [stated]}},
        });
        let told = opened(&folder, &manifest, &effects(Some(mutates), &[]));
        assert!(told[0].contains(&expected), "{stated} {mutates:?}: {told:?}");
    }
}
