//! Tests of control groups: where groups are created, and how leftover groups are removed.

use haft_testkit::Folder;

use super::*;

const V1: &str = "34 28 0:30 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n\
                  35 28 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
const V2: &str = "36 28 0:32 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

fn v1(path: &str) -> TotalMemory {
    TotalMemory::V1(path.into())
}

fn v2(path: &str) -> TotalMemory {
    TotalMemory::V2(path.into())
}

#[test]
fn candidates_follow_own_group_and_mounts() {
    let inside = "34 28 0:30 /docker/a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    for (groups, mounts, expected) in [
        ("", V2.to_owned(), vec![]),
        ("0::/\n", V2.to_owned(), vec![v2("/sys/fs/cgroup")]),
        (
            "0::/user.slice/a.scope\n",
            V2.to_owned(),
            vec![
                v2("/sys/fs/cgroup/user.slice/a.scope"),
                v2("/sys/fs/cgroup/user.slice"),
                v2("/sys/fs/cgroup"),
            ],
        ),
        ("4:memory:/a/b\n3:cpu:/\n0::/\n", V1.to_owned(), vec![v1("/sys/fs/cgroup/memory/a/b")]),
        ("4:memory:/docker/a/b\n", inside.to_owned(), vec![v1("/sys/fs/cgroup/memory/b")]),
        // A group outside of the mount is unreachable.
        ("4:memory:/elsewhere\n", inside.to_owned(), vec![]),
        ("0::/../a\n", V2.to_owned(), vec![]),
        (
            "4:memory:/a\n0::/\n",
            format!("{V1}{V2}"),
            vec![v2("/sys/fs/cgroup"), v1("/sys/fs/cgroup/memory/a")],
        ),
        ("nonsense\n4:memory\n", V1.to_owned(), vec![]),
    ] {
        assert_eq!(candidates(groups, &mounts), expected, "{groups}");
    }
}

#[test]
fn a_machine_without_groups_names_why() {
    let folder = Folder::new();
    let none = TotalMemory::EachProcess("this machine mounts no control groups for memory".into());
    assert_eq!(chosen(&[]), none);
    // An ordinary folder is no control group: nothing in it limits memory.
    let TotalMemory::EachProcess(why) = chosen(&[v1(&folder.path().display().to_string())]) else {
        panic!("a plain folder was taken for a group")
    };
    assert!(why.contains("no group can be made below"), "{why}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the trial is removed");
}

#[test]
fn groups_of_dead_processes_are_swept_and_others_stay() {
    let folder = Folder::new();
    let own = Owner::own();
    let make = |name: &str| fs::create_dir(folder.path().join(name)).unwrap();
    let live = format!("{}7", prefix(&own));
    // The PID is in use again, by a process with another start time.
    let reused = format!("{}7", prefix(&Owner { since: "1".into(), ..own.clone() }));
    let dead = format!("{}7", prefix(&Owner { id: u32::MAX - 1, ..own.clone() }));
    let foreign = format!("{}7", prefix(&Owner { numbering: 1, id: u32::MAX - 1, ..own }));
    for name in [&live, &reused, &dead, &foreign, "haft-x", "other"] {
        make(name);
    }
    sweep(&v1(&folder.path().display().to_string()));
    let left = fs::read_dir(folder.path()).unwrap().flatten();
    let mut left: Vec<_> = left.map(|entry| entry.file_name().into_string().unwrap()).collect();
    left.sort();
    let mut expected = vec![live, foreign, "haft-x".to_owned(), "other".to_owned()];
    expected.sort();
    assert_eq!(left, expected);
}
