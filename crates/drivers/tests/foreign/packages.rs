//! Tests of the sdk driver with published third-party packages, installed by npm and pip.
//!
//! They need npm, pip and a registry or its cache. If nothing can be installed, the test fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use haft_contract::DriverManifest;
use haft_driver::{Attempt, Cancel, Driver as _, Link};
use haft_drivers::{DeclaredEntries, Sdk, WorkingFolder};
use haft_model::{DriverKind, ToolKey, Tri};
use haft_sandbox::{AddressGuard, Launcher, Walls};
use serde_json::{Value, json};

use crate::plans;

/// A folder that stays between runs, so that each package is installed once.
fn workspace(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&root).unwrap();
    root
}

fn ran(root: &Path, program: &str, args: &[&str]) {
    let mut command = Command::new(program);
    command.args(args).current_dir(root).stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().unwrap().success(), "{command:?}");
}

/// Calls a function of a package that is installed in a folder.
async fn called(root: &Path, package: Value, sdk: Value, input: Value) -> Result<Value, String> {
    let mut manifest = json!({
        "id": "foreign", "kind": "sdk",
        "implements": [{"tool": "foreign.do", "version": "^1", "metadata": {"sdk": sdk}}],
    });
    manifest.as_object_mut().unwrap().extend(package.as_object().unwrap().clone());
    let place = WorkingFolder {
        root: root.to_owned(),
        hidden: Vec::new(),
        programs: Vec::new(),
        walls: Walls::By(Launcher::at(env!("CARGO_BIN_EXE_haft-drivers-test-launcher"))),
        guard: AddressGuard::public(),
        variable: |name| std::env::var(name).ok(),
        secrets: Default::default(),
    };
    let serves = vec![(ToolKey::new("foreign.do", 1), 0)];
    let manifest = DriverManifest::from_json(DriverKind::Sdk, &manifest);
    let driver = Sdk::new(move || DeclaredEntries { manifest, serves }, place);
    let mut plan = plans::plan("foreign.do", "foreign", input);
    let effects = std::sync::Arc::make_mut(&mut plan.effects);
    (effects.facts.read_only, effects.mutates_stated) = (Tri::Yes, true);
    let permit = plans::permit(&plan);
    let (link, _heard) = Link::new();
    let deadline = Instant::now() + Duration::from_secs(30);
    let attempt = Attempt::new(&permit, &plan, 1, deadline, Cancel::new(), link).unwrap();
    let ended = driver.run(attempt).await;
    ended
        .map(|output| output.structured.unwrap_or_default())
        .map_err(|failure| failure.stop.message)
}

#[tokio::test]
async fn functions_of_an_npm_package_are_called() {
    let root = workspace("sdk-npm");
    let there = root.join("node_modules/semver/package.json").exists();
    let args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "semver@7.7.2"];
    if !there {
        ran(&root, "npm", &args);
    }
    let package = |style: &str, range: &str| {
        json!({"package": "semver", "package_manager": "npm", "import_style": style,
            "package_version": range})
    };
    let args = json!({"_0": "${input.version}", "_1": "minor"});
    for style in ["esm", "cjs"] {
        let sdk = json!({"function_ref": "inc", "args_template": args});
        let next = called(&root, package(style, "^7.7.0"), sdk, json!({"version": "1.2.3"})).await;
        assert_eq!(next, Ok(json!("1.3.0")), "{style}");
    }
    let sdk =
        json!({"function_ref": "SemVer.compare", "args_template": {"_0": "${input.version}"}});
    let mut options = package("esm", "*");
    options["client_options"] = json!({"_0": "2.0.0"});
    let order = called(&root, options, sdk, json!({"version": "1.9.9"})).await;
    assert_eq!(order, Ok(json!(1)));
    let sdk = json!({"function_ref": "inc"});
    let other = called(&root, package("esm", "^6"), sdk, json!({})).await;
    let expected = "package `semver` is there in version `7.7.2`, and its driver wants `^6`";
    assert_eq!(other, Err(expected.to_owned()));
}

#[tokio::test]
async fn functions_of_pypi_package_are_called_in_venv() {
    let root = workspace("sdk-pypi-2");
    let there = root.join(".venv/ready").exists();
    if !there {
        ran(&root, "python3", &["-m", "venv", "--clear", "--without-pip", ".venv"]);
        let pip = ["-m", "pip", "--python", ".venv/bin/python", "install", "--quiet"];
        ran(&root, "python3", &[&pip[..], &["humanize==4.12.3"]].concat());
    }
    fs::write(root.join(".venv/ready"), "").unwrap();
    let package = |range: &str| json!({"package": "humanize", "package_manager": "pip", "package_version": range});
    let sdk = json!({"function_ref": "naturalsize", "args_template": {"value": "${input.bytes}"}});
    let said = called(&root, package("~=4.12"), sdk.clone(), json!({"bytes": 3_000_000})).await;
    assert_eq!(said, Ok(json!("3.0 MB")));
    let other = called(&root, package(">=1,<4"), sdk, json!({"bytes": 1})).await;
    let expected = "package `humanize` is there in version `4.12.3`, and its driver wants `>=1,<4`";
    assert_eq!(other, Err(expected.to_owned()));
}
