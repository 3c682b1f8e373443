//! Runners: in a file of their own, and inside a driver.

use crate::trial::{check, good, lines, reading};
use crate::{ManifestKind, ParsedManifest};

#[test]
fn runner_block_parses_from_its_own_file() {
    let reading = reading(
        "RUNNER.md",
        "engine: sandbox\nimage: node-22\nneeds: { language: node, native: [ffmpeg], npm: [\"left-pad@1\"], pip: [] }\nlimits: { memory_mb: 256, timeout_ms: 600000, cpu_ms: 1 }",
    );
    assert_eq!(
        lines(&reading),
        [
            "Y014 4 `needs` is recorded and not enforced",
            "Y014 5 `timeout_ms` is recorded and not enforced",
        ]
    );
    assert!(matches!(reading.manifest, Some(ParsedManifest::Block(ManifestKind::Runner))));
}

#[test]
fn a_runner_breaks_its_rules() {
    check(
        "RUNNER.md",
        &[
            (
                "engine: docker\nimage: x\nneeds: { language: rust }\nlimits: { memory_mb: 0 }\nnetwork: {}\nshell: bash",
                &[
                    "R001 2 `engine` cannot be `docker`",
                    "R003 4 `language` cannot be `rust`",
                    "R004 5 `memory_mb` is 0; it must be at least 1",
                    "R031 6 `network` does not belong in the runner",
                    "R030 7 the runner has no field `shell`",
                ],
            ),
            (
                "ref: \"@acme/runner\"\nengine: subprocess",
                &["R041 2 it is not clear which of several things is meant"],
            ),
        ],
    );
}

const DRIVER: &str = "name: Status\nid: status\ndescription: Status.\nversion: 1.0.0\nkind: cli\nbin: git\nimplements: [{ tool: status, version: \"^1.0.0\", metadata: { cli: { argv: [status] } } }]";

#[test]
fn inline_runner_of_driver_is_validated_in_place() {
    let driver = |runner: &str| format!("{DRIVER}\nrunner: {runner}");
    for fine in ["./RUNNER.md", "{ file: ./RUNNER.md }", "{ engine: subprocess }"] {
        good("status/DRIVER.md", &driver(fine));
    }
    let secrets = ["R031 9 `secrets` does not belong in the runner"];
    check(
        "status/DRIVER.md",
        &[
            (&driver("{ secrets: {} }"), &secrets),
            (&driver("{ inline: { secrets: {} } }"), &secrets),
        ],
    );
}
