//! Tests of interpreter lookup: which interpreter is found, and what it needs to see.

use std::os::unix::fs::symlink;

use haft_sandbox::{AddressGuard, Walls};
use haft_testkit::Folder;

use super::*;

/// A workspace beside a Python installation and a shim script.
fn machine() -> Folder {
    let folder = Folder::new()
        .file("shims/python3", "#!/bin/sh\nexec pick python3\n")
        .file("python/bin/python3.11", "\u{7f}ELF")
        .file("python/lib/python3.11/os.py", "")
        .file("node/bin/node", "\u{7f}ELF")
        .file("work/TOOL.md", "");
    symlink("python3.11", folder.path().join("python/bin/python3")).unwrap();
    folder
}

fn found(folder: &Folder, runtime: Runtime, named: Option<&str>, path: &str) -> String {
    let base = fs::canonicalize(folder.path()).unwrap();
    let package = Package {
        runtime,
        name: "p".into(),
        versions: None,
        entrypoint: None,
        local: false,
        path: None,
        style: "esm",
        interpreter: named.map(str::to_owned),
    };
    let place = |variable| WorkingFolder {
        root: base.join("work"),
        hidden: Vec::new(),
        programs: Vec::new(),
        walls: Walls::Missing,
        guard: AddressGuard::public(),
        variable,
        secrets: Default::default(),
    };
    let folders: Vec<_> =
        path.split(':').map(|name| base.join(name).display().to_string()).collect();
    // The environment is a plain function, so each test thread has its own.
    PATH.with(|path| path.replace(folders.join(":")));
    let place = place(|name| (name == "PATH").then(|| PATH.with(|path| path.borrow().clone())));
    match Interpreter::of(&package, &base.join("work"), &place) {
        Ok(found) => {
            let short = |path: &Path| path.strip_prefix(&base).unwrap().display().to_string();
            let needs: Vec<_> = found.needs.iter().map(|path| short(path)).collect();
            format!("{} needs {}", short(&found.program), needs.join(" "))
        }
        Err(stop) => format!("{}: {}", stop.code, stop.message),
    }
}

thread_local! {
    static PATH: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

#[test]
fn a_script_that_picks_an_interpreter_is_none() {
    let folder = machine();
    let path = "shims:python/bin";
    let expected = "python/bin/python3 needs python";
    assert_eq!(found(&folder, Runtime::Python, None, path), expected);
    let nothing = found(&folder, Runtime::Python, None, "shims");
    assert_eq!(nothing, "setup.required: there is no Python to run `p`");
}

#[test]
fn workspace_venv_wins_and_starts_by_its_own_path() {
    let folder = machine();
    let venv = folder.path().join("work/.venv");
    fs::create_dir_all(venv.join("bin")).unwrap();
    fs::create_dir_all(venv.join("lib/python3.11")).unwrap();
    let base = fs::canonicalize(folder.path()).unwrap();
    symlink(base.join("python/bin/python3"), venv.join("bin/python")).unwrap();
    let expected = "work/.venv/bin/python needs work/.venv python";
    assert_eq!(found(&folder, Runtime::Python, None, "shims"), expected);
}

#[test]
fn an_interpreter_that_is_named_is_the_one() {
    let folder = machine();
    let named = |name| found(&folder, Runtime::Node, Some(name), "");
    assert_eq!(named("../node/bin/node"), "node/bin/node needs ");
    assert_eq!(named("../nowhere"), "setup.required: the interpreter `../nowhere` is not there");
}
