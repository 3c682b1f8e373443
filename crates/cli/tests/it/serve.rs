//! `haft serve` tests: authentication and server lifetime, with real processes and real sockets.

mod acceptance;
mod auditor;
mod begun;
mod entrance;
mod living;
mod oauth;
mod outage;
mod stopping;
mod tokens;

use haft_testkit::{Folder, eventually};

use crate::stage;

/// A workspace with two actors, and nothing but what comes with Haft.
fn workspace() -> Folder {
    Folder::new().file(
        "haft.toml",
        "[workspace]\nname = \"shop\"\n\
         [[actor]]\nid = \"agent:coder\"\nroles = [\"agent\"]\n\
         [[actor]]\nid = \"user:bo\"\nroles = [\"approver\"]\n",
    )
}

/// Makes a token for an actor: its text and its id.
fn token(folder: &Folder, line: &str) -> (String, String) {
    let (exit, told) = stage::json(folder, &format!("token new {line} --json"));
    assert_eq!(exit, 0, "{told}");
    let text = |key: &str| told[key].as_str().unwrap().to_owned();
    (text("token"), text("token_id"))
}
