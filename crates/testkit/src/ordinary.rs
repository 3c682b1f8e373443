//! Unprivileged rerun: runs tests as an ordinary user where the suite runs as root.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Folder;
use crate::folder::done;

/// The user with the fewest rights on every machine.
const USER: u32 = 65534;

/// The tests of this very program, about to be run by an ordinary user.
#[derive(Debug)]
pub struct OrdinaryUser {
    folder: Folder,
    test: PathBuf,
    variables: Vec<(&'static str, PathBuf)>,
}

impl OrdinaryUser {
    /// None where the tests are run by an ordinary user already, whose run is this one.
    pub fn new() -> Option<OrdinaryUser> {
        if done("look at oneself", fs::metadata("/proc/self")).uid() != 0 {
            eprintln!("the tests run as an ordinary user already, so that the others are this one");
            return None;
        }
        let folder = Folder::new();
        done("open the folder", fs::set_permissions(folder.path(), Permissions::from_mode(0o755)));
        for own in ["home", "tmp"] {
            let path = folder.path().join(own);
            done(own, fs::create_dir(&path));
            done(own, chown(&path, Some(USER), Some(USER)));
        }
        let test = copied(&folder, &done("find the test", std::env::current_exe()), "test");
        Some(OrdinaryUser { folder, test, variables: Vec::new() })
    }

    /// The same with a program that the tests find by a variable, where this user can reach it.
    pub fn with(mut self, variable: &'static str, program: &str) -> OrdinaryUser {
        let copy = copied(&self.folder, Path::new(program), &variable.to_ascii_lowercase());
        self.variables.push((variable, copy));
        self
    }

    /// Runs the tests whose names hold one of these, and gives what they print. One that fails fails
    /// the test that asks, and so does a name that no test has.
    #[track_caller]
    pub fn run(&self, names: &[&str]) -> String {
        let home = self.folder.path().join("home");
        let mut command = Command::new(&self.test);
        command.args(names).args(["--nocapture", "--test-threads", "2"]);
        command.env("HOME", &home).env("TMPDIR", self.folder.path().join("tmp"));
        command.env("XDG_CONFIG_HOME", &home).env("XDG_STATE_HOME", &home).env("USER", "nobody");
        command.envs(self.variables.iter().map(|(name, path)| (name, path)));
        command.current_dir(&home).uid(USER).gid(USER);
        let ended = done("run the tests", command.output());
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "as an ordinary user: {said}\n{complaint}");
        for name in names {
            assert!(said.contains(name), "no test is named so: {name}");
        }
        format!("{said}{complaint}")
    }
}

fn copied(folder: &Folder, from: &Path, name: &str) -> PathBuf {
    let to = folder.path().join(name);
    done(name, fs::copy(from, &to));
    done(name, fs::set_permissions(&to, Permissions::from_mode(0o755)));
    to
}
