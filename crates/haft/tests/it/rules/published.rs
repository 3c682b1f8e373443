//! Published schema tests (`Y020`): manifests against the schemas of a folder.

use haft::{Error, LoadOptions, Workspace};
use haft_testkit::Folder;

use crate::rules::base::Base;
use crate::rules::line;

const TOOL: &str = ".tools/demo.read/TOOL.md";
const DRIVER: &str = ".drivers/demo/DRIVER.md";

/// What is said of a tool and its driver beside the schemas of a folder.
fn said(schemas: &Folder) -> Result<Vec<String>, Error> {
    let folder = Folder::new()
        .file(TOOL, Base::named("tool").text())
        .file(DRIVER, Base::named("http").text());
    let published_schemas = Some(schemas.path().to_owned());
    let options = LoadOptions { published_schemas, ..LoadOptions::default() };
    Workspace::load(folder.path(), LoadOptions::default())?.accept(None)?;
    let workspace = Workspace::load(folder.path(), options)?;
    Ok(workspace.diagnostics().iter().map(line).collect())
}

#[test]
fn manifest_violating_published_schema_is_an_error() {
    let schemas = Folder::new()
        .file("TOOL.schema.json", r#"{ "properties": { "risk_level": { "minimum": 2 } } }"#)
        .file("HTTP.schema.json", r#"{ "required": ["rate_limit"] }"#);
    assert_eq!(
        said(&schemas).unwrap(),
        [
            "Y020 error .drivers/demo/DRIVER.md:2:1 HTTP.schema.json: \"rate_limit\" is a required property",
            "Y020 error .tools/demo.read/TOOL.md:9:13 TOOL.schema.json: 0 is less than the minimum of 2",
        ]
    );
}

#[test]
fn one_published_schema_may_refer_to_another() {
    let schemas = Folder::new()
        .file(
            "TOOL.schema.json",
            r#"{ "$ref": "https://agentproto.sh/schemas/aip-0/SANDBOX.schema.json" }"#,
        )
        .file("SANDBOX.schema.json", r#"{ "type": "object", "required": ["tags"] }"#);
    assert_eq!(
        said(&schemas).unwrap(),
        [
            "Y020 error .tools/demo.read/TOOL.md:2:1 TOOL.schema.json: \"tags\" is a required property"
        ]
    );
}

#[test]
fn a_folder_without_schemas_is_no_answer() {
    assert!(matches!(said(&Folder::new()), Err(Error::NoSchemas { .. })));
}
