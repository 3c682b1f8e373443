//! Accepted workspace: the state from which tests of calls begin.

use haft::{LoadOptions, Workspace};
use haft_testkit::Folder;

/// Accepts everything in a workspace as it is now, as `haft accept --all` does.
pub(crate) fn accept(folder: &Folder) {
    let workspace = Workspace::load(folder.path(), LoadOptions::default()).unwrap();
    workspace.accept(None).unwrap();
}
