//! Incremental reload tests: a reload redoes what changed, and nothing else.

use haft_testkit::Folder;

use crate::workspace::{catalog, driver, kept, load, remove, said, tool};

fn three_tools() -> Folder {
    Folder::new()
        .file(".tools/a.one/TOOL.md", tool("a.one", "1.0.0", "First."))
        .file(".tools/a.two/TOOL.md", tool("a.two", "1.0.0", "Second."))
        .file(".tools/a.three/TOOL.md", tool("a.three", "1.0.0", "Third."))
        .file(".drivers/ones/DRIVER.md", driver("ones", "a.one"))
}

#[test]
fn nothing_is_made_anew_when_nothing_changed() {
    let folder = three_tools();
    let before = load(&folder);
    let after = before.reload().unwrap();
    assert_eq!(kept(&before, &after), ["a.one@1 kept", "a.three@1 kept", "a.two@1 kept"]);
    assert_eq!(said(&after), [""; 0]);
}

#[test]
fn only_a_changed_contract_is_made_anew() {
    let folder = three_tools();
    let before = load(&folder);
    let folder = folder.file(".tools/a.two/TOOL.md", tool("a.two", "1.0.0", "Second to none."));
    let after = before.reload().unwrap();
    assert_eq!(kept(&before, &after), ["a.one@1 kept", "a.three@1 kept", "a.two@1 new"]);
    let description = |workspace: &haft::Workspace| {
        workspace.snapshot().find("a.two").unwrap().contract.tool.description.to_string()
    };
    assert_eq!([description(&before), description(&after)], ["Second.", "Second to none."]);
    drop(folder);
}

#[test]
fn a_new_driver_is_bound_to_its_tool_only() {
    let folder = three_tools();
    let before = load(&folder);
    let folder = folder.file(".drivers/twos/DRIVER.md", driver("twos", "a.two"));
    let after = before.reload().unwrap();
    assert_eq!(kept(&before, &after), ["a.one@1 kept", "a.three@1 kept", "a.two@1 new"]);
    assert_eq!(catalog(&after), ["a.one@1 by ones", "a.three@1 by", "a.two@1 by twos"]);
    drop(folder);
}

#[test]
fn a_driver_that_goes_is_bound_to_nothing() {
    let folder = three_tools();
    let before = load(&folder);
    remove(&folder, ".drivers/ones/DRIVER.md");
    let after = before.reload().unwrap();
    assert_eq!(kept(&before, &after), ["a.one@1 new", "a.three@1 kept", "a.two@1 kept"]);
    assert_eq!(catalog(&after), ["a.one@1 by", "a.three@1 by", "a.two@1 by"]);
}

#[test]
fn reload_drops_deleted_contract_and_reports_its_driver() {
    let folder = three_tools();
    let before = load(&folder);
    remove(&folder, ".tools/a.one/TOOL.md");
    let after = before.reload().unwrap();
    assert_eq!(kept(&before, &after), ["a.three@1 kept", "a.two@1 kept"]);
    assert_eq!(said(&after), ["D050 .drivers/ones/DRIVER.md:9: there is no tool `a.one`"]);
    assert!(before.snapshot().find("a.one").is_some(), "the earlier workspace stays as it was");
}

#[test]
fn reload_drops_broken_contract_and_restores_fixed_one() {
    let folder = three_tools();
    let first = load(&folder);
    let folder = folder.file(".tools/a.two/TOOL.md", "---\nid: a.two\nname: [\n---\n");
    let second = first.reload().unwrap();
    assert_eq!(kept(&first, &second), ["a.one@1 kept", "a.three@1 kept"]);
    let broken: Vec<_> = second.broken().into_iter().map(|broken| broken.file).collect();
    assert_eq!(broken, [".tools/a.two/TOOL.md"]);
    assert!(second.has_errors());
    let folder = folder.file(".tools/a.two/TOOL.md", tool("a.two", "1.0.1", "Mended."));
    let third = second.reload().unwrap();
    assert_eq!(kept(&second, &third), ["a.one@1 kept", "a.three@1 kept", "a.two@1 new"]);
    assert_eq!(said(&third), [""; 0]);
    drop(folder);
}

#[test]
fn reload_rebuilds_tools_that_implement_changed_action() {
    let action = |risk: u8| {
        format!(
            "---\nschema: action/v1\nid: stock:read\ndescription: Reads.\ncategory: stock\n\
             mutates: []\nrisk_level: {risk}\napproval: auto\n---\n"
        )
    };
    let implementing = "---\nname: Four\nid: a.four\ndescription: Fourth.\nversion: 1.0.0\n\
        implements: stock:read\ninputs: { type: object }\noutputs: { type: object }\n---\n";
    let folder = three_tools()
        .file(".actions/stock-read/ACTION.md", action(0))
        .file(".tools/a.four/TOOL.md", implementing);
    let before = load(&folder);
    let folder = folder.file(".actions/stock-read/ACTION.md", action(1) + "Now with a remark.\n");
    let after = before.reload().unwrap();
    assert_eq!(
        kept(&before, &after),
        ["a.four@1 new", "a.one@1 kept", "a.three@1 kept", "a.two@1 kept"]
    );
    drop(folder);
}

#[test]
fn only_the_files_that_are_named_are_read_again() {
    let folder = three_tools();
    let before = load(&folder);
    let folder = folder
        .file(".tools/a.one/TOOL.md", tool("a.one", "1.0.1", "First, changed."))
        .file(".tools/a.two/TOOL.md", tool("a.two", "1.0.1", "Second, changed."))
        .file(".tools/a.five/TOOL.md", tool("a.five", "1.0.0", "Fifth."));
    remove(&folder, ".tools/a.three/TOOL.md");
    let named = [".tools/a.one/TOOL.md", ".tools/a.three/TOOL.md", ".tools/a.five/TOOL.md"];
    let after = before.reload_files(&named).unwrap();
    assert_eq!(kept(&before, &after), ["a.five@1 new", "a.one@1 new", "a.two@1 kept"]);
}

#[test]
fn reload_of_named_symlink_leaving_workspace_is_refused() {
    let outside = Folder::new().file("TOOL.md", tool("a.one", "1.0.0", "First."));
    let folder = three_tools();
    let before = load(&folder);
    let link = folder.path().join(".tools/a.one/TOOL.md");
    remove(&folder, ".tools/a.one/TOOL.md");
    std::os::unix::fs::symlink(outside.path().join("TOOL.md"), &link).unwrap();
    let after = before.reload_files(&[".tools/a.one/TOOL.md"]).unwrap();
    assert_eq!(
        said(&after),
        [
            "D050 .drivers/ones/DRIVER.md:9: `a.one` cannot be used",
            "Y010 .tools/a.one/TOOL.md:0: this link leaves the workspace",
        ]
    );
}

#[test]
fn accepting_makes_only_what_was_accepted_anew() {
    let folder = three_tools();
    let before = load(&folder);
    before.accept(Some("a.one")).unwrap();
    let after = before.reload().unwrap();
    assert_eq!(kept(&before, &after), ["a.one@1 new", "a.three@1 kept", "a.two@1 kept"]);
    assert!(!after.snapshot().find("a.one").unwrap().is_new());
    assert_eq!(after.accept(None).unwrap().len(), 3);
    assert!(after.reload().unwrap().snapshot().entries().all(|entry| !entry.is_new()));
}

#[test]
fn settings_are_read_again() {
    let folder = three_tools().file("haft.toml", "[workspace]\nautonomy = 1\n");
    let before = load(&folder);
    let folder = folder.file("haft.toml", "[workspace]\nregion = [\"eu\"]\n");
    let after = before.reload().unwrap();
    assert!(before.settings().workspace.region.is_empty());
    assert!(after.settings().workspace.region.contains("eu"));
    assert_eq!(kept(&before, &after), ["a.one@1 kept", "a.three@1 kept", "a.two@1 kept"]);
    drop(folder);
}
