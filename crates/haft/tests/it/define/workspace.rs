//! Tests of code-defined contracts in a workspace of files.

use std::sync::Arc;

use haft::{Args, Definitions, Tool, define_driver};
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::define::{Area, Sides, area, host, keep, load, plan, said};

fn both() -> Definitions {
    Definitions::new().tool(&area()).tool(&keep()).driver(&host())
}

fn empty() -> Folder {
    Folder::new().file("haft.toml", "")
}

/// A file with a contract of `shape.area`.
fn written(more: &str) -> String {
    format!(
        "---\nname: Area\nid: shape.area\ndescription: Says how large a rectangle is.\n{more}\
         mutates: []\nrisk_level: 0\noutputs: {{ type: object }}\n\
         inputs: {{ type: object, properties: {{ width: {{ type: integer }} }} }}\n---\n"
    )
}

#[test]
fn a_call_is_planned_to_a_driver_in_code() {
    let folder = empty();
    let workspace = load(&folder, both());
    let plan = plan(workspace.snapshot(), "shape.area", json!({ "width": 3 })).unwrap();
    assert_eq!(
        (plan.tool.to_string(), plan.route.driver.as_str()),
        ("shape.area@1".into(), "host-shapes")
    );
    assert_eq!((said(&workspace), workspace.manifest_count()), (Vec::new(), 0));
    let ids: Vec<_> = workspace.code_drivers().into_keys().collect();
    assert_eq!(ids, [host().id().clone()]);
    assert_eq!(workspace.accept(None).unwrap(), [], "code is accepted with the program");
    let again = workspace.reload().unwrap();
    let entry =
        |workspace: &haft::Workspace| workspace.snapshot().find("note.keep").unwrap().clone();
    assert!(Arc::ptr_eq(&entry(&workspace), &entry(&again)));
}

#[test]
fn input_outside_type_range_fails_derived_schema() {
    let folder = empty();
    let workspace = load(&folder, both());
    let stop = plan(workspace.snapshot(), "shape.area", json!({ "width": -1 })).unwrap_err();
    assert_eq!((stop.code.name(), stop.field.as_deref()), ("input.schema", Some("/width")));
}

#[test]
fn tool_manifest_overrides_code_and_reports_differences() {
    let folder = empty().file(".tools/shape.area/TOOL.md", written("version: 1.4.0\n"));
    let workspace = load(&folder, both());
    let entry = workspace.snapshot().find("shape.area").unwrap();
    assert_eq!(&*entry.contract.tool.file, ".tools/shape.area/TOOL.md");
    assert_eq!(entry.bindings.len(), 1, "the body still serves the contract of the file");
    assert!(!entry.is_given() && entry.is_new());
    assert_eq!(
        said(&workspace),
        [
            "Y013 .tools/shape.area/TOOL.md: code defines the same id with another `version`, `inputs`, `outputs`"
        ]
    );
}

#[test]
fn driver_manifest_overrides_code_and_keeps_bodies() {
    let file = |kind: &str| {
        format!(
            "---\nname: Shapes\nid: host-shapes\ndescription: Shapes.\nversion: 1.0.0\nkind: {kind}\n\
             region: [eu]\nimplements:\n  - {{ tool: shape.area, version: ^1.0.0 }}\n\
             \x20 - {{ tool: note.keep, version: ^1.0.0 }}\n---\n"
        )
    };
    let folder = empty().file(".drivers/host-shapes/DRIVER.md", file("builtin"));
    let workspace = load(&folder, both());
    assert_eq!(
        said(&workspace),
        ["Y013 .drivers/host-shapes/DRIVER.md: code defines the same id with another `region`"]
    );
    let entry = workspace.snapshot().find("note.keep").unwrap();
    assert_eq!(entry.bindings.first().unwrap().driver.region, ["eu"]);
    assert_eq!(workspace.code_drivers().len(), 1);
}

#[test]
fn broken_manifest_is_not_replaced_by_code() {
    let folder = empty()
        .file(".tools/shape.area/TOOL.md", written("version: one\n"))
        .file(".drivers/host-shapes/DRIVER.md", "---\nid: host-shapes\nkind: builtin\n---\n");
    let workspace = load(&folder, both());
    assert!(workspace.snapshot().find("shape.area").is_none());
    assert!(workspace.snapshot().find("note.keep").unwrap().bindings.is_empty());
    assert!(workspace.code_drivers().is_empty());
}

#[test]
fn a_contract_in_code_wins_over_a_builtin_one() {
    let now = Tool::<Value, Value>::builder("time.now")
        .description("Says when it is.")
        .read_only()
        .define()
        .unwrap();
    let folder = empty();
    let workspace = load(&folder, Definitions::new().tool(&now));
    let entry = workspace.snapshot().find("time.now").unwrap();
    assert_eq!((&*entry.contract.tool.file, entry.bindings.len()), ("code:time.now", 0));
    assert_eq!(said(&workspace), [""; 0]);
}

#[test]
fn code_driver_may_not_take_builtin_driver_id() {
    let driver = define_driver("haft-builtin")
        .implement(&area(), |args: Args<Sides>| async move {
            Ok(Area { area: args.input.width.into() })
        })
        .define()
        .unwrap();
    let folder = empty();
    let workspace = load(&folder, Definitions::new().tool(&area()).driver(&driver));
    assert_eq!(
        said(&workspace),
        [
            "D045 code:driver:haft-builtin: `haft-builtin` is already defined in builtin:haft-builtin"
        ]
    );
    assert!(workspace.code_drivers().is_empty());
}

#[test]
fn cross_manifest_diagnostics_cover_code_definitions() {
    let folder = empty();
    let workspace = load(&folder, Definitions::new().driver(&host()));
    assert_eq!(
        said(&workspace),
        [
            "D050 code:driver:host-shapes: there is no tool `shape.area`",
            "D050 code:driver:host-shapes: there is no tool `note.keep`",
        ]
    );
    assert!(workspace.text("code:driver:host-shapes").unwrap().contains("\"shape.area\""));
}
