//! One column of the escape table: every row, in a process of its own, maybe as another user.

use std::fs;
use std::future::pending;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use haft_sandbox::{ConfinedProgram, Launcher, Walls};
use haft_testkit::Folder;

use crate::escapes::rows::{By, Control, ROWS, Row};
use crate::escapes::stage::Stage;
use crate::escapes::{Verdicts, is_root};

/// The user who tries, and the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// The user who runs the tests.
    Own,
    /// An ordinary user.
    User,
    /// An ordinary user, in bubblewrap.
    Bubblewrap,
    /// The user who runs the tests, without a sandbox.
    Off,
}

/// Path of bubblewrap.
pub(crate) const BUBBLEWRAP: &str = "/usr/bin/bwrap";

/// The conventional id of an unprivileged user.
const USER: u32 = 65534;

/// The variables that tell the process of a column what to do.
const ORDERS: &str = "HAFT_TEST_COLUMN";
const LAUNCHER: &str = "HAFT_TEST_LAUNCHER";
const ONLY: &str = "HAFT_TEST_ROW";

/// Tries every row, and returns the verdicts.
pub(crate) fn tried(column: Column) -> Verdicts {
    let folder = Folder::new();
    // Where an ordinary user can reach them.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let test = copied(&folder, &std::env::current_exe().unwrap(), "test");
    let launcher = copied(&folder, env!("CARGO_BIN_EXE_haft-sandbox").as_ref(), "launcher");
    let mut command = Command::new(test);
    command
        .args(["--exact", "escapes::column::column", "--nocapture", "--test-threads", "1"])
        .env(ORDERS, format!("{column:?}"))
        .env(LAUNCHER, launcher)
        .env("HAFT_TEST_LEAK", "secret")
        .current_dir("/");
    if is_root() && matches!(column, Column::User | Column::Bubblewrap) {
        command.uid(USER).gid(USER);
    }
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}{complaint}");
    let rows = said.lines().filter_map(|line| line.strip_prefix("row: ")?.split_once(" = "));
    rows.map(|(name, verdict)| (name.to_owned(), verdict.to_owned())).collect()
}

fn copied(folder: &Folder, from: &std::path::Path, name: &str) -> PathBuf {
    let to = folder.path().join(name);
    fs::copy(from, &to).unwrap();
    fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
    to
}

/// Not a test of its own: the entry point of a column's process.
#[tokio::test]
async fn column() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let launcher = || Launcher::at(std::env::var(LAUNCHER).unwrap());
    let walls = match orders.as_str() {
        "Off" => Walls::Off,
        "Bubblewrap" => Walls::Bubblewrap(BUBBLEWRAP.into(), launcher()),
        _ => Walls::By(launcher()),
    };
    println!();
    let only = std::env::var(ONLY).ok();
    for row in ROWS.iter().filter(|row| only.as_ref().is_none_or(|only| row.name == only)) {
        if is_tried(row, &walls) {
            println!("row: {} = {}", row.name, verdict(row, &walls).await);
        }
    }
}

fn is_tried(row: &Row, walls: &Walls) -> bool {
    match (walls, row.control) {
        (Walls::Off, Control::None(_)) => false,
        (Walls::Off, Control::AsRoot | Control::IfThere) => is_root(),
        (Walls::Off, Control::Escapes) => true,
        (Walls::By(_) | Walls::Bubblewrap(..) | Walls::Missing, _) => true,
    }
}

async fn verdict(row: &Row, walls: &Walls) -> String {
    let stage = Stage::new();
    let confined: ConfinedProgram = stage.confined(row);
    let deadline = Instant::now() + Duration::from_secs(30);
    let ended = match confined.run(walls, deadline, pending()).await {
        Ok(ended) => ended,
        Err(refused) => return format!("refused: {refused}"),
    };
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let words = ["escaped", "held", "absent"];
    let word = said.lines().rev().map(str::trim).find(|line| words.contains(line));
    let left = stage.left();
    let verdict = match (row.by, word) {
        (By::Stays(_), _) if left => "escaped".to_owned(),
        (By::Stays(_), Some(_)) => "held".to_owned(),
        (_, Some(word)) => word.to_owned(),
        (_, None) => {
            let aside = String::from_utf8_lossy(&ended.stderr);
            format!("no verdict: {:?} {said} {aside}", ended.end)
        }
    };
    match walls {
        Walls::Off => verdict,
        Walls::By(_) | Walls::Bubblewrap(..) | Walls::Missing => {
            stage.harmed().map_or(verdict, |harm| format!("escaped: {harm}"))
        }
    }
}
