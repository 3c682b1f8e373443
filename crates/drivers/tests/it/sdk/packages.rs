//! Tests of package loading: which package, by which interpreter, and the refusals.

use std::fs;

use haft_contract::DriverManifest;
use haft_driver::Driver as _;
use haft_sandbox::Walls;
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::sdk::stage::{BOTH, Language, Stage};

/// A driver over a package of `node_modules`.
fn npm(function: &str) -> Stage {
    let stage = Stage::reading(Language::Node, function)
        .with("package", json!("@acme/pair"))
        .with("package_manager", json!("npm"))
        .with("entrypoint", Value::Null)
        .entry("sdk", "args_template", json!({}));
    let about = json!({"name": "@acme/pair", "version": "2.3.1", "main": "./main.cjs",
        "exports": {".": {"import": "./main.mjs", "require": "./main.cjs"}, "./sub": "./sub.mjs"}});
    let folder = "node_modules/@acme/pair";
    let stage = Stage {
        folder: stage
            .folder
            .file(&format!("{folder}/package.json"), about.to_string())
            .file(&format!("{folder}/main.mjs"), "export const kind = () => 'esm';")
            .file(
                &format!("{folder}/main.cjs"),
                "exports.kind = () => 'cjs'; module.exports.Client = class {};",
            )
            .file(
                &format!("{folder}/sub.mjs"),
                "export default class Pair { kind() { return 'sub'; } }",
            ),
        ..stage
    };
    without_nulls(stage)
}

/// A driver over a package of a `.venv`.
fn pip(function: &str) -> Stage {
    let stage = Stage::reading(Language::Python, function)
        .with("package", json!("acme-pair"))
        .with("package_manager", json!("pip"))
        .with("entrypoint", Value::Null)
        .with("import_style", Value::Null)
        .entry("sdk", "args_template", json!({}));
    let site = "site/acme_pair";
    let stage = Stage {
        folder: stage
            .folder
            .file(&format!("{site}/__init__.py"), "def kind():\n    return 'python'\n")
            .file(&format!("{site}/sub.py"), "def kind():\n    return 'sub'\n")
            .file(
                "site/acme_pair-2.3.dist-info/METADATA",
                "Metadata-Version: 2.1\nName: acme-pair\nVersion: 2.3\n",
            ),
        ..stage
    };
    let site = fs::canonicalize(stage.folder.path()).unwrap().join("site");
    let stage = stage.with("sandbox", json!({"env": {"set": {"PYTHONPATH": site}}}));
    without_nulls(stage)
}

fn without_nulls(mut stage: Stage) -> Stage {
    stage.manifest.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    stage
}

#[tokio::test]
async fn a_package_is_loaded_as_its_driver_says() {
    for (stage, expected) in [
        (npm("kind"), "esm"),
        (npm("kind").with("import_style", json!("cjs")), "cjs"),
        (npm("Client.kind").with("entrypoint", json!("./sub")), "sub"),
        (npm("Pair.kind").with("entrypoint", json!("@acme/pair/sub")), "sub"),
        (pip("kind"), "python"),
        (pip("sub.kind"), "sub"),
        (pip("kind").with("entrypoint", json!("acme_pair.sub")), "sub"),
    ] {
        assert_eq!(stage.run(json!({})).await.value(), expected, "{}", stage.manifest);
    }
}

#[tokio::test]
async fn a_folder_of_the_workspace_can_be_a_package() {
    let mut stage =
        Stage::reading(Language::Node, "default").entry("sdk", "args_template", json!({}));
    stage.manifest.as_object_mut().unwrap().remove("entrypoint");
    let stage = stage
        .with("package", json!("@host/runner"))
        .with("package_version", json!("^0.3"))
        .with("install", json!([{"method": "vendored", "path": "./packages/runner"}]));
    let stage = Stage {
        folder: stage
            .folder
            .file("packages/runner/package.json", r#"{"version": "0.3.4", "main": "run.mjs"}"#)
            .file("packages/runner/run.mjs", "export default () => 'ran';"),
        ..stage
    };
    assert_eq!(stage.run(json!({})).await.value(), "ran");
}

#[tokio::test]
async fn a_package_of_another_version_is_not_used() {
    for (stage, range, expected) in [
        (npm("kind"), "^2.3.0", None),
        (
            npm("kind"),
            "^3",
            Some("package `@acme/pair` is there in version `2.3.1`, and its driver wants `^3`"),
        ),
        (pip("kind"), "~=2.0", None),
        (
            pip("kind"),
            ">=1,<2",
            Some("package `acme-pair` is there in version `2.3`, and its driver wants `>=1,<2`"),
        ),
    ] {
        let stage = stage.with("package_version", json!(range));
        let ended = stage.run(json!({})).await;
        match expected {
            None => assert_ne!(ended.value(), Value::Null),
            Some(words) => assert_eq!(ended.words(), format!("setup.required: {words}")),
        }
    }
    for (language, expected) in [
        (
            Language::Node,
            "setup.required: package `odd` does not say its version, and its driver wants `^1`",
        ),
        (Language::Python, ""),
    ] {
        let stage = Stage::reading(language, "who").entry("sdk", "args_template", json!({}));
        let ended = stage.with("package_version", json!("^1")).run(json!({})).await;
        match ended.result {
            Ok(_) => assert_eq!(expected, ""),
            Err(failure) => {
                assert_eq!(format!("setup.required: {}", failure.stop.message), expected);
            }
        }
    }
}

#[tokio::test]
async fn package_installed_later_is_found_by_next_call() {
    let stage = npm("kind");
    let (there, away) =
        (stage.folder.path().join("node_modules"), stage.folder.path().join("away"));
    fs::rename(&there, &away).unwrap();
    let driver = stage.driver();
    let expected = "setup.required: package `@acme/pair` is not in `node_modules` of the workspace";
    assert_eq!(stage.call(&driver, json!({})).await.words(), expected);
    assert_eq!(stage.call(&driver, json!({})).await.words(), expected);
    fs::rename(&away, &there).unwrap();
    assert_eq!(stage.call(&driver, json!({})).await.value(), "esm");
}

#[tokio::test]
async fn missing_function_or_file_is_named() {
    for language in BOTH {
        let missing = Stage::reading(language, "tools.deap.twice").run(json!({"n": 1})).await;
        let expected = "setup.required: package `odd`: `tools.deap.twice` is not in the package: there is no `deap`";
        assert_eq!(missing.words(), expected);
        let absent = Stage::reading(language, "who").with("entrypoint", json!("lib/gone.py"));
        let expected = "setup.required: package `odd` is not in the workspace";
        assert_eq!(absent.run(json!({})).await.words(), expected);
        let thing = Stage::reading(language, "token").run(json!({})).await.words();
        assert!(thing.starts_with("setup.required: package `odd`: `token` is not in the package"));
    }
    let broken = pip("kind");
    let broken = Stage {
        folder: broken.folder.file("site/acme_pair/__init__.py", "import not_there\n"),
        ..broken
    };
    let expected = "setup.required: package `acme-pair` cannot be loaded: ModuleNotFoundError: No module named 'not_there'";
    assert_eq!(broken.run(json!({})).await.words(), expected);
}

#[tokio::test]
async fn an_entrypoint_outside_of_the_workspace_is_not_there() {
    for (language, file) in [(Language::Node, "odd.mjs"), (Language::Python, "odd.py")] {
        let outside = Folder::new().file(file, "export const who = () => 1;");
        let path = outside.path().join(file);
        // Test folders lie side by side.
        let beside = path.strip_prefix(outside.path().parent().unwrap()).unwrap();
        let climbing = format!("../{}", beside.display());
        for entrypoint in [path.display().to_string(), climbing] {
            let stage = Stage::reading(language, "who").with("entrypoint", json!(entrypoint));
            let expected = "setup.required: package `odd` is not in the workspace";
            assert_eq!(stage.run(json!({})).await.words(), expected, "{entrypoint}");
        }
    }
}

#[tokio::test]
async fn sandbox_without_read_paths_still_loads_the_package() {
    for language in BOTH {
        let stage = Stage::reading(language, "who").entry("sdk", "args_template", json!({}));
        let stage = stage.with("sandbox", json!({"fs": {"read": []}}));
        assert!(stage.run(json!({})).await.value().is_string(), "{language:?}");
    }
}

#[tokio::test]
async fn without_walls_the_same_functions_are_called() {
    for language in BOTH {
        let stage = Stage::reading(language, "add");
        let (manifest, mut place) = (stage.manifest.clone(), stage.place());
        place.walls = Walls::Off;
        let serves = vec![(haft_model::ToolKey::new("odd.do", 1), 0)];
        let manifest = DriverManifest::from_json(haft_model::DriverKind::Sdk, &manifest);
        let declared = haft_drivers::DeclaredEntries { manifest, serves };
        let driver = haft_drivers::Sdk::new(move || declared, place);
        assert_eq!(stage.call(&driver, json!({"a": 1, "b": 2})).await.value(), json!(3));
    }
}

#[test]
fn unloadable_package_kind_is_refused_preflight() {
    let check = |field: &str, value: Value, expected: &str| {
        let stage = Stage::reading(Language::Node, "add").with(field, value);
        let stop = stage.driver().preflight(&stage.plan(json!({}))).unwrap_err();
        assert_eq!(format!("{}: {}", stop.code, stop.message), expected);
    };
    let compiled =
        "setup.required: driver `odd` names functions that are compiled, which no worker can load";
    check("package_manager", json!("cargo"), compiled);
    check("package_manager", json!("go"), compiled);
    check("import_style", json!("rust-crate"), compiled);
    check(
        "package_manager",
        json!("pip"),
        "setup.required: driver `odd` loads a package of `pip` as `esm`, which does not fit",
    );
    check(
        "code",
        json!({}),
        "setup.required: driver `odd` uses `code`, which this version cannot run",
    );
}

#[tokio::test]
async fn an_interpreter_can_be_named() {
    for language in BOTH {
        let stage = Stage::reading(language, "who");
        let stage = stage.with("metadata", json!({"haft": {"interpreter": "/no/such/program"}}));
        let expected = "setup.required: the interpreter `/no/such/program` is not there";
        assert_eq!(stage.run(json!({})).await.words(), expected);
    }
}
