//! Hardening tests: what the checks read out of files and mounts.

use std::os::unix::fs::PermissionsExt as _;

use haft_testkit::Folder;

use super::*;

#[test]
fn folders_lie_on_their_nearest_latest_mount() {
    let mounts = "1 0 8:1 / / rw - ext4 /dev/a rw\n\
                  2 1 0:2 / /tmp rw - tmpfs tmpfs rw\n\
                  3 1 0:3 / /shared/ana rw - nfs4 server:/shared rw\n\
                  4 1 0:4 / /tmp rw - xfs /dev/b rw\n\
                  broken line\n";
    for (folder, expected) in [
        ("/", "ext4"),
        ("/tmp/a", "xfs"),
        ("/shared/ana/work/.haft", "nfs4"),
        ("/shared/analysis", "ext4"),
    ] {
        assert_eq!(file_system(mounts, Path::new(folder)), Some(expected), "{folder}");
    }
    assert_eq!(file_system("", Path::new("/")), None);
}

#[test]
fn modes_owners_and_links_of_files_are_told() {
    let folder = Folder::new().file("a", "");
    let file = folder.path().join("a");
    let about = || fs::symlink_metadata(&file).unwrap();
    let own = about().uid();
    let told = |own| changeable(&file, &about(), Some(own)).into_iter().map(|one| one.degree);
    assert_eq!(told(own).collect::<Vec<_>>(), []);
    let foreign = if own == 0 { vec![] } else { vec![Degree::Warning] };
    assert_eq!(
        told(own + 1).collect::<Vec<_>>(),
        foreign,
        "root's files are nobody's foreign ones"
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(told(own).collect::<Vec<_>>(), [Degree::Broken]);
    assert_eq!(linked(&file, &about()), None);
    fs::hard_link(&file, folder.path().join("b")).unwrap();
    assert!(linked(&file, &about()).is_some_and(|one| one.says.contains("has 2 names")));
}

#[test]
fn programs_of_hooks_are_looked_for() {
    let folder = Folder::new().file("hooks/one", "#!/bin/sh\n");
    assert_eq!(unstartable(folder.path(), "sh"), None);
    for program in ["hooks/one", "hooks/none", "haft-nowhere"] {
        assert!(unstartable(folder.path(), program).is_some(), "{program}");
    }
    let file = folder.path().join("hooks/one");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(unstartable(folder.path(), "hooks/one"), None);
}
