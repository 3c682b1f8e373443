//! Hook fixture: hooks that are programs of the workspace.

use haft_testkit::Folder;

/// A program of the workspace that hooks can be.
pub(crate) fn program(folder: Folder, path: &str, script: &str) -> Folder {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder.file(path, format!("#!/bin/sh\n{script}"));
    let rights = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path().join(path), rights).unwrap();
    folder
}

/// A hook of haft.toml that runs a program, with a timeout that suits a busy machine.
pub(crate) fn hook(event: &str, tool: &str, program: &str) -> String {
    format!(
        "[[hook]]\nevent = \"{event}\"\ntool = \"{tool}\"\nrun = [\"{program}\"]\ntimeout_ms = 20000\n"
    )
}
