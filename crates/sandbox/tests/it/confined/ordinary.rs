//! Tests as an ordinary user: for root the kernel checks less, and counts otherwise.

use haft_sandbox::StartRefusal;
use haft_testkit::{Folder, OrdinaryUser};

use crate::confined::{LAUNCHER, run, script};

/// Printed where this user may not create namespaces.
const CLOSED: &str = "namespaces are closed to this user";

#[test]
fn confined_programs_of_an_ordinary_user_are_held_alike() {
    let Some(user) = OrdinaryUser::new() else { return };
    let user = user.with(LAUNCHER, env!("CARGO_BIN_EXE_haft-sandbox"));
    // Where the kernel forbids it, the documented refusal was asserted, and nothing else can run.
    if user.run(&["confined::ordinary::walls_stand_or_the_refusal_names_why"]).contains(CLOSED) {
        return;
    }
    // Every module, so that one that is added later runs here too.
    user.run(&["confined::"]);
}

#[tokio::test]
async fn walls_stand_or_the_refusal_names_why() {
    match run(script(&Folder::new(), "exit 0")).await {
        Ok(_) => {}
        Err(StartRefusal::Unenforced(why)) => {
            assert!(why.starts_with("no namespaces: "), "{why}");
            println!("{CLOSED}");
        }
        Err(other) => panic!("{other}"),
    }
}
