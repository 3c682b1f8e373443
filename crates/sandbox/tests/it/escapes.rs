//! Escape table: each row is tried for real as the current user, as an ordinary user, in
//! bubblewrap, and without a sandbox, where it must escape, or the row would prove nothing.

mod column;
mod probe;
mod rows;
mod stage;

use std::collections::BTreeMap;
use std::path::Path;

use column::Column;
use rows::{Control, ROWS};

/// The verdict of every row.
type Verdicts = BTreeMap<String, String>;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Every row must be held, and the machine must be unchanged.
fn all_held(verdicts: &Verdicts) {
    let out: Vec<_> = verdicts.iter().filter(|(_, verdict)| *verdict != "held").collect();
    assert!(out.is_empty(), "{out:#?}");
    assert_eq!(verdicts.len(), ROWS.len());
}

#[test]
fn every_escape_is_contained() {
    all_held(&column::tried(Column::Own));
}

#[test]
fn every_escape_of_an_ordinary_user_is_contained() {
    if !is_root() {
        eprintln!("skipped: the tests run as an ordinary user, so the other test was this one");
        return;
    }
    all_held(&column::tried(Column::User));
}

#[test]
fn every_escape_is_contained_behind_bubblewrap() {
    if !Path::new(column::BUBBLEWRAP).exists() {
        eprintln!(
            "skipped: {} is not installed (`apt-get install bubblewrap`)",
            column::BUBBLEWRAP
        );
        return;
    }
    all_held(&column::tried(Column::Bubblewrap));
}

/// The other half of the proof: without a sandbox the same attempts succeed.
#[test]
fn without_walls_every_escape_succeeds() {
    let verdicts = column::tried(Column::Off);
    let mut wrong = Vec::new();
    for row in ROWS {
        let verdict = verdicts.get(row.name).map(String::as_str);
        let right = match (row.control, is_root()) {
            (Control::None(_), _) | (Control::AsRoot | Control::IfThere, false) => {
                verdict.is_none()
            }
            (Control::Escapes, _) | (Control::AsRoot, true) => verdict == Some("escaped"),
            (Control::IfThere, true) => {
                if verdict != Some("escaped") {
                    eprintln!("not proved: root of this machine cannot try `{}`", row.name);
                }
                matches!(verdict, Some("escaped" | "absent" | "held"))
            }
        };
        if !right {
            wrong.push((row.name, verdict.unwrap_or("nothing")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_escape_row_has_unique_name_and_reason() {
    let names: std::collections::BTreeSet<_> = ROWS.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), ROWS.len());
    assert!(ROWS.len() >= 40, "{}", ROWS.len());
    for row in ROWS {
        assert!(!matches!(row.control, Control::None("")), "{}", row.name);
    }
}
