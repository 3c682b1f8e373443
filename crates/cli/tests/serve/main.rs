//! `haft serve` tests: authentication and server lifetime, with real processes and real sockets.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

mod acceptance;
mod auditor;
mod begun;
mod entrance;
mod living;
mod oauth;
mod outage;
#[path = "../it/stage.rs"]
#[allow(dead_code, reason = "the stage is shared with the other tests of the command")]
mod stage;
mod stopping;
mod tokens;
#[path = "../rest/wire.rs"]
#[allow(dead_code, reason = "the client is shared with the other tests of the server")]
mod wire;

use haft_testkit::{Folder, eventually};

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
