//! `haft test` tests: examples of contracts, executed.

use haft_testkit::Folder;

use crate::call::shop;
use crate::stage::check;

fn greeted(words: &str) -> Folder {
    shop().file("notes/hello.txt", words)
}

#[test]
fn examples_that_hold_are_ok() {
    check(
        &greeted("hello\n"),
        "test fs.read",
        r"
exit 0
TOOL       EXAMPLE                          DRIVER        CAME  WHY
fs.read@1  A short file                     haft-builtin  ok
fs.read@1  The first bytes of a longer one  haft-builtin  ok
2 ok, 0 failed, 0 skipped
",
    );
}

#[test]
fn an_example_that_does_not_hold_fails() {
    check(
        &greeted("help!\n"),
        "test fs.read",
        r#"
exit 1
TOOL       EXAMPLE                          DRIVER        CAME    WHY
fs.read@1  A short file                     haft-builtin  failed  expected {"path":"notes/hello.txt","content":"hello\n","encoding":"utf-8","size":6,"offset":0,"more":false}, got {"path":"notes/hello.txt","content":"help!\n","encoding":"utf-8","size":6,"offset":0,"more":false}
fs.read@1  The first bytes of a longer one  haft-builtin  failed  expected {"path":"notes/hello.txt","content":"hell","encoding":"utf-8","size":6,"offset":0,"more":true}, got {"path":"notes/hello.txt","content":"help","encoding":"utf-8","size":6,"offset":0,"more":true}
0 ok, 2 failed, 0 skipped
"#,
    );
}

#[test]
fn what_changes_something_is_tried_only_when_asked_for() {
    let folder = shop();
    check(
        &folder,
        "test fs.write",
        r"
exit 0
TOOL        EXAMPLE     DRIVER        CAME     WHY
fs.write@1  A new file  haft-builtin  skipped  it may change something; add --mutating
0 ok, 0 failed, 1 skipped
",
    );
    assert!(!folder.path().join("notes").exists());
    check(
        &folder,
        "test fs.write --mutating",
        r"
exit 0
TOOL        EXAMPLE     DRIVER        CAME  WHY
fs.write@1  A new file  haft-builtin  ok
1 ok, 0 failed, 0 skipped
",
    );
    assert_eq!(folder.read("notes/hello.txt"), "hello\n");
}

#[test]
fn without_a_name_only_the_workspaces_own_are_tried() {
    check(&shop(), "test", "\nexit 0\nno contract has an example that a driver claims\n");
}
