//! Sandboxes: what is fine, and what is refused.

use crate::sandbox::mount_point;
use crate::trial::{check, lines, reading};
use crate::{ManifestKind, ParsedManifest};

const FILE: &str = "SANDBOX.md";

#[test]
fn sandbox_block_parses_from_its_own_file() {
    let reading = reading(
        FILE,
        r#"
schema: sandbox/v1
id: "@acme/box"
version: 1.0.0
provider: mastra-e2b
config: { template: base, api_key: "${secrets.E2B_API_KEY}", max_tokens: 3 }
limits: { timeout_ms: 30000 }
env: { auth: { ref: .secrets/SECRETS.md, state: { env: [E2B_API_KEY] } }, passthrough: [LANG] }
network: { egress: [api.acme.example] }
mounts:
  - { source: workspace, at: /here, mode: read-only }
  - { source: { ref: "@acme/store" }, at: /data }
identity: { ref: "@acme/bot" }
policy: [{ file: ./POLICY.md }]
lifecycle: { pause_after_idle: idle-600, destroy_on: workspace-close }
read_only: false"#,
    );
    assert_eq!(lines(&reading), ["Y014 8 `timeout_ms` is recorded and not enforced"]);
    assert!(matches!(reading.manifest, Some(ParsedManifest::Block(ManifestKind::Sandbox))));
}

#[test]
fn a_sandbox_breaks_the_rules_of_its_fields() {
    check(
        FILE,
        &[
            (
                "provider: docker\nnetworking: {}",
                &[
                    "X005 2 `config` is missing from the sandbox",
                    "X004 2 `provider` cannot be `docker`",
                    "X030 3 the sandbox has no field `networking`",
                ],
            ),
            (
                "provider: local\nconfig: {}\nmounts:\n- { source: home, at: work }\n- { source: workspace, at: /a/../b, mode: rw }",
                &[
                    "X009 5 `source` cannot be `home`",
                    "X009 5 `at`: `work` is not a place inside the sandbox",
                    "X009 6 `at`: `/a/../b` is not a place inside the sandbox",
                    "X009 6 `mode` cannot be `rw`",
                ],
            ),
        ],
    );
}

#[test]
fn a_sandbox_breaks_the_rules_across_its_fields() {
    check(
        FILE,
        &[
            (
                "provider: local\nconfig:\n  E2B_API_KEY: hunter2\n  nested: [{ authToken: hunter2 }]\nmetadata: { password: hunter2 }",
                &[
                    "X040 4 `E2B_API_KEY` is written out",
                    "X040 5 `authToken` is written out",
                    "X040 6 `password` is written out",
                ],
            ),
            (
                "provider: local\nconfig: {}\nmounts:\n- { source: workspace, at: /here }\n- { source: { ref: a, file: b }, at: //here/./ }",
                &[
                    "X042 6 it is not clear which of several things is meant",
                    "X041 6 something else is mounted at `/here`",
                ],
            ),
            (
                "provider: local\nconfig: {}\nlifecycle: { pause_after_idle_ms: 600, destroy_on_workspace_close: true, snapshot: daily }",
                &[
                    "X043 4 `lifecycle` has no field `pause_after_idle_ms`",
                    "X043 4 `lifecycle` has no field `destroy_on_workspace_close`",
                    "X043 4 `lifecycle` has no field `snapshot`",
                ],
            ),
            (
                "ref: a\nprovider: local",
                &["X044 2 it is not clear which of several things is meant"],
            ),
        ],
    );
}

#[test]
fn a_mount_point_has_one_plain_form() {
    for (written, plain) in [
        ("/", Some("/")),
        ("/here/", Some("/here")),
        ("//a/./b", Some("/a/b")),
        ("work", None),
        ("/a/..", None),
    ] {
        assert_eq!(mount_point(written).as_deref(), plain, "{written}");
    }
}
