//! Published schema tests: `haft check --strict-published-schema`.

use haft_testkit::Folder;

use crate::stage::{READS, check, tool};

/// One sound tool, and a folder of schemas.
fn beside(schema: &str) -> Folder {
    Folder::new()
        .file(".tools/a.b/TOOL.md", tool("a.b", "1.0.0", READS))
        .file("schemas/TOOL.schema.json", schema)
}

fn strict(folder: &Folder) -> String {
    format!("check --strict-published-schema {}", folder.path().join("schemas").display())
}

#[test]
fn what_a_published_schema_refuses_is_an_error() {
    let folder =
        beside(r#"{ "type": "object", "properties": { "risk_level": { "minimum": 1 } } }"#);
    check(
        &folder,
        &strict(&folder),
        r"
exit 1
checked 1 manifest: 1 error, no warnings
! error[Y020]: TOOL.schema.json: 0 is less than the minimum of 1
!  --> .tools/a.b/TOOL.md:8:13
!   |
! 8 | risk_level: 0
!   |             ^
!
",
    );
}

#[test]
fn a_manifest_that_fits_is_no_error() {
    let folder = beside(r#"{ "type": "object", "required": ["id"] }"#);
    check(
        &folder,
        &strict(&folder),
        r"
exit 0
checked 1 manifest: no errors, no warnings
",
    );
}

#[test]
fn a_folder_without_schemas_is_a_usage_error() {
    let folder = beside("{}");
    let tools = folder.path().join(".tools");
    check(
        &folder,
        &format!("check --strict-published-schema {}", tools.display()),
        r"
exit 2
! error: `[folder]/.tools` holds no schema that can be read: there is no TOOL.schema.json in it
",
    );
}
