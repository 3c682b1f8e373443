//! File discovery tests: which files are read, and which of two comes first.

use std::fs;

use haft::{Error, LoadOptions, Workspace};
use haft_testkit::Folder;

use crate::workspace::{catalog, driver, load, said, tool};

#[test]
fn a_folder_without_settings_and_tools_is_no_workspace() {
    let folder = Folder::new().file(".drivers/ones/DRIVER.md", driver("ones", "a.one"));
    let fault = Workspace::load(folder.path(), LoadOptions::default()).unwrap_err();
    assert!(matches!(fault, Error::NoWorkspace { .. }), "{fault}");
}

#[test]
fn a_lock_may_be_larger_than_a_manifest() {
    let folder = Folder::new().file(".tools/a.one/TOOL.md", tool("a.one", "1.0.0", "First."));
    load(&folder).accept(None).unwrap();
    let lock = folder.read("haft.lock");
    let entry = lock.split_once("[[tool]]").unwrap().1.to_owned();
    let many: String = (0..4000)
        .map(|index| format!("[[tool]]{}\n", entry.replace("a.one@1", &format!("x.{index}@1"))))
        .collect();
    assert!(many.len() > 1 << 20);
    let folder = folder.file("haft.lock", lock + &many);
    assert_eq!(said(&load(&folder)), [""; 0]);
}

#[test]
fn categories_nest() {
    let folder = Folder::new()
        .file(".tools/a.one/TOOL.md", tool("a.one", "1.0.0", "First."))
        .file(".tools/shop/a.two/TOOL.md", tool("a.two", "1.0.0", "Second."))
        .file(".tools/shop/stock/b.one/TOOL.md", tool("b.one", "1.0.0", "Third."))
        .file(".tools/shop/stock/deep/er/b.two/TOOL.md", tool("b.two", "1.0.0", "Fourth."))
        .file(".drivers/shop/stock/ones/DRIVER.md", driver("ones", "b.two"))
        .file(".tools/shop/README.md", "No manifest.");
    let workspace = load(&folder);
    assert_eq!(catalog(&workspace), ["a.one@1 by", "a.two@1 by", "b.one@1 by", "b.two@1 by ones"]);
    assert_eq!((said(&workspace), workspace.manifest_count()), (Vec::new(), 5));
}

#[test]
fn folders_that_nest_without_end_are_reported() {
    let folder = Folder::new()
        .file(".tools/a.one/TOOL.md", tool("a.one", "1.0.0", "First."))
        .file(&format!(".tools/{}x.y/TOOL.md", "d/".repeat(20)), tool("x.y", "1.0.0", "Deep."));
    let workspace = load(&folder);
    assert_eq!(catalog(&workspace), ["a.one@1 by"]);
    let place = format!(".tools{}", "/d".repeat(17));
    assert_eq!(said(&workspace), [format!("Y011 {place}:0: folders nest more than 16 deep")]);
}

#[test]
fn duplicate_contract_id_and_major_resolves_to_first_path() {
    let folder = Folder::new()
        .file(".tools/z/a.one/TOOL.md", tool("a.one", "1.0.0", "The other."))
        .file(".tools/b/a.one/TOOL.md", tool("a.one", "1.7.0", "The one."));
    let workspace = load(&folder);
    let found = &workspace.snapshot().find("a.one").unwrap().contract.tool;
    assert_eq!(&*found.description, "The one.");
    assert_eq!(
        said(&workspace),
        ["T049 .tools/z/a.one/TOOL.md:3: `a.one@1` is already defined in .tools/b/a.one/TOOL.md"]
    );
}

#[test]
fn duplicate_driver_id_resolves_to_first_path() {
    let folder = Folder::new()
        .file(".tools/a.one/TOOL.md", tool("a.one", "1.0.0", "First."))
        .file(".drivers/x/ones/DRIVER.md", driver("ones", "a.one"))
        .file(".drivers/y/ones/DRIVER.md", driver("ones", "a.one"));
    let workspace = load(&folder);
    assert_eq!(catalog(&workspace), ["a.one@1 by ones"]);
    assert_eq!(
        said(&workspace),
        [
            "D045 .drivers/y/ones/DRIVER.md:3: `ones` is already defined in .drivers/x/ones/DRIVER.md"
        ]
    );
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let large = tool("a.one", "1.0.0", "First.") + &"x".repeat(1 << 20);
    let workspace = load(&Folder::new().file(".tools/a.one/TOOL.md", large));
    assert_eq!(catalog(&workspace), [""; 0]);
    let codes: Vec<_> = workspace.diagnostics().iter().map(|found| found.code).collect();
    assert_eq!(codes, ["Y003"]);
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_inside_the_workspace_is_followed() {
        let folder = Folder::new()
            .file("haft.toml", "")
            .file("shared/a.one/TOOL.md", tool("a.one", "1.0.0", "First."))
            .file("shared/two.md", tool("a.two", "1.0.0", "Second."));
        fs::create_dir_all(folder.path().join(".tools/a.two")).unwrap();
        symlink("../shared/a.one", folder.path().join(".tools/a.one")).unwrap();
        symlink("../../shared/two.md", folder.path().join(".tools/a.two/TOOL.md")).unwrap();
        let workspace = load(&folder);
        assert_eq!(catalog(&workspace), ["a.one@1 by", "a.two@1 by"]);
        assert_eq!(said(&workspace), [""; 0]);
    }

    #[test]
    fn settings_and_lock_symlinks_leaving_workspace_are_refused() {
        let outside = Folder::new().file("passwords", "root = [").file("lock", "[[tool]]\n");
        let folder = Folder::new().file(".tools/a.one/TOOL.md", tool("a.one", "1.0.0", "First."));
        symlink(outside.path().join("passwords"), folder.path().join("haft.toml")).unwrap();
        symlink(outside.path().join("lock"), folder.path().join("haft.lock")).unwrap();
        let workspace = load(&folder);
        let refused = "this link leaves the workspace";
        assert_eq!(
            said(&workspace),
            [format!("Y010 haft.lock:0: {refused}"), format!("Y010 haft.toml:0: {refused}")]
        );
        let files = [".tools/a.one/TOOL.md"];
        assert_eq!(
            workspace.accept_written(&files).unwrap(),
            [],
            "what the lock says is not known"
        );
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let folder = Folder::new().file(".tools/a.one/TOOL.md", tool("a.one", "1.0.0", "First."));
        let pipe = folder.path().join(".tools/a.two/TOOL.md");
        fs::create_dir_all(pipe.parent().unwrap()).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let workspace = load(&folder);
        assert_eq!(catalog(&workspace), ["a.one@1 by"]);
        assert_eq!(said(&workspace), ["Y011 .tools/a.two/TOOL.md:0: this is not a regular file"]);
    }

    #[test]
    fn a_link_that_leaves_the_workspace_is_refused() {
        let outside = Folder::new().file("a.one/TOOL.md", tool("a.one", "1.0.0", "First."));
        let folder =
            Folder::new().file(".tools/a.three/TOOL.md", tool("a.three", "1.0.0", "Third."));
        let tools = folder.path().join(".tools");
        fs::create_dir_all(tools.join("a.two")).unwrap();
        symlink(outside.path().join("a.one"), tools.join("a.one")).unwrap();
        symlink(outside.path().join("a.one/TOOL.md"), tools.join("a.two/TOOL.md")).unwrap();
        symlink("nowhere", tools.join("a.four")).unwrap();
        let workspace = load(&folder);
        assert_eq!(catalog(&workspace), ["a.three@1 by"]);
        assert_eq!(
            said(&workspace),
            [
                "Y011 .tools/a.four:0: this link cannot be followed: entity not found",
                "Y010 .tools/a.one:0: this link leaves the workspace",
                "Y010 .tools/a.two/TOOL.md:0: this link leaves the workspace",
            ]
        );
    }

    #[test]
    fn tools_folder_symlink_leaving_workspace_is_refused() {
        let outside = Folder::new().file("a.one/TOOL.md", tool("a.one", "1.0.0", "First."));
        let folder = Folder::new().file("haft.toml", "");
        symlink(outside.path(), folder.path().join(".tools")).unwrap();
        assert_eq!(catalog(&load(&folder)), [""; 0]);
    }

    #[test]
    fn a_loop_of_links_ends() {
        let folder = Folder::new().file(".tools/a.one/TOOL.md", tool("a.one", "1.0.0", "First."));
        symlink("..", folder.path().join(".tools/a.one/loop")).unwrap();
        let workspace = load(&folder);
        assert_eq!(catalog(&workspace), ["a.one@1 by"]);
        assert!(workspace.has_errors());
    }
}
