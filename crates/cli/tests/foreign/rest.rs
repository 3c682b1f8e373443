//! REST fuzzing by Schemathesis: the OpenAPI document against the server. Schemathesis is fetched
//! once by pip into the target folder. Without Python the test fails: what was not tried is not
//! known to work.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::wire::Server;
use haft_testkit::{ALLOW, Backend, Keys, READ, Served, WRITE, installed};

const PACKAGE: &str = "schemathesis==4.32.5";

/// The program, fetched at first use.
fn schemathesis() -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign-rest/python");
    installed::python(place, &[PACKAGE]).join("bin/schemathesis")
}

#[test]
fn the_document_is_true_to_what_is_served() {
    let backend = Backend::new(Keys::Ignored);
    let folder = Served::by(&backend)
        .at("look", READ, "GET", "/look")
        .at("pay", WRITE, "POST", "/pay")
        .with(ALLOW);
    let server = Server::of(&folder);
    let mut command = Command::new(schemathesis());
    command.arg("run").arg(format!("http://{}/v1/openapi.json", server.address));
    // A stream has no end, so it has tests of its own.
    command.args(["--exclude-path", "/v1/events", "--checks", "all", "--max-examples", "10"]);
    command.args(["--seed", "7", "--no-color"]).current_dir(folder.path());
    let ran = command.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{said}");
    assert!(said.contains("Operations:       20 selected / 21 total"), "{said}");
}
