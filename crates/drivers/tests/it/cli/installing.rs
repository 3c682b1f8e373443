//! Tests of verified downloads: a program matches its declared hash, or is not used.

use std::process::Command;
use std::sync::OnceLock;

use haft_contract::DriverManifest;
use haft_drivers::{Provision, WorkingFolder};
use haft_model::{Digest, DriverKind};
use haft_sandbox::AddressGuard;
use haft_testkit::{Act, Backend, Folder, Keys, Then};
use serde_json::{Value, json};

use crate::cli::stage::{alone, walls};

static HOME: OnceLock<String> = OnceLock::new();

fn provision(folder: &Folder, backend: &Backend, install: Value) -> Provision {
    HOME.get_or_init(|| folder.path().display().to_string());
    let place = WorkingFolder {
        root: folder.path().to_owned(),
        hidden: Vec::new(),
        programs: Vec::new(),
        walls: walls(),
        guard: AddressGuard::public().allowing("127.0.0.1", backend.port()),
        variable: |name| HOME.get().filter(|_| name == "HOME").cloned(),
        secrets: Default::default(),
    };
    let manifest = json!({"id": "demo", "bin": "haft-fetched", "install": [install]});
    let manifest = DriverManifest::from_json(DriverKind::Cli, &manifest).unwrap();
    Provision::new(manifest, folder.path().to_owned(), place)
}

#[test]
fn downloaded_program_is_hash_verified_and_found_by_name() {
    let folder = Folder::new().file("src/haft-fetched", "#!/bin/sh\necho fetched\n");
    let mut tar = Command::new("tar");
    tar.args(["-cf", "a.tar", "src/haft-fetched"]).current_dir(folder.path());
    assert!(tar.status().unwrap().success());
    let archive = std::fs::read(folder.path().join("a.tar")).unwrap();
    let hash = Digest::of_bytes(&archive).as_str().trim_start_matches("sha256:").to_owned();
    let backend = Backend::new(Keys::Ignored);
    let entry = |hash: &str| {
        let url = format!("http://{}/a.tar", backend.host());
        json!({"method": "download", "url": url, "verify_sha256": hash, "extract_bin": "src/haft-fetched"})
    };
    let body = String::from_utf8(archive).unwrap();
    let installed = |hash: &str| {
        backend.will(Act::refuses(Then::json(200, &body)));
        let provision = provision(&folder, &backend, entry(hash));
        let ways = provision.ways();
        alone(provision.install(&ways[0])).map(|()| provision.program().unwrap())
    };
    let wrong = "0".repeat(64);
    let stop = installed(&wrong).unwrap_err();
    assert!(
        stop.message.ends_with(&format!("has the hash {hash}, and {wrong} was declared")),
        "{stop:?}"
    );
    let program = installed(&hash).unwrap();
    assert!(program.ends_with(".local/share/haft/programs/demo/haft-fetched"), "{program}");
    assert_eq!(std::fs::read_to_string(program).unwrap(), "#!/bin/sh\necho fetched\n");
}
