//! Inventories of secrets: what is read, and what is refused.

use serde_json::{Value, json};

use crate::trial::{check, good};
use crate::{Exposure, Grantee, ParsedManifest, SecretAudit, SecretEntry, SecretKind, SecretsFile};

const FILE: &str = ".secrets/SECRETS.md";

#[test]
fn an_inventory_is_read_whole() {
    let manifest = good(
        FILE,
        r"
secrets:
  - slug: shop/pay-login
    name: Payments
    description: Opens the payment service.
    kind: oauth
    access:
      reveal: [{ role: owner }, { userId: ana }]
      bind: [{ tool: payment.charge }, { workflow: refund }, { cap: cap://pay }]
      rotate: [{ role: owner }]
    audit: { retention: P7Y, pii: true, classification: [internal] }
    tags: [money]
    metadata: { bindings: { env: PAY_LOGIN } }
    exposures:
      - { kind: env, name: PAY_LOGIN, field: accessToken }
      - { kind: file, path: ~/.pay }
      - { kind: egress-substitute, placeholderName: PAY, allowedByDefault: false, intendedProviders: [pay] }
  - slug: plain
    name: Plain
    description: One text.
    access: { bind: [{ role: agent }] }",
    );
    let ParsedManifest::Secrets(file) = manifest else { panic!("{manifest:?}") };
    let role = |role: &str| Grantee::Role(role.into());
    let expected = SecretsFile {
        file: FILE.into(),
        secrets: vec![
            SecretEntry {
                slug: "shop/pay-login".into(),
                name: "Payments".into(),
                description: "Opens the payment service.".into(),
                kind: SecretKind::OAuth,
                backend: None,
                reveal: vec![role("owner"), Grantee::User("ana".into())],
                bind: vec![
                    Grantee::Tool("payment.charge".into()),
                    Grantee::Workflow("refund".into()),
                    Grantee::Capability("cap://pay".into()),
                ],
                rotate: vec![role("owner")],
                audit: SecretAudit {
                    retention: Some("P7Y".into()),
                    pii: true,
                    classification: vec!["internal".into()],
                },
                tags: vec!["money".into()],
                exposures: vec![
                    Exposure::Env { name: "PAY_LOGIN".into(), field: "accessToken".into() },
                    Exposure::File { path: "~/.pay".into(), field: None, mode: 0o600 },
                    Exposure::EgressSubstitute {
                        placeholder: "PAY".into(),
                        allowed_by_default: false,
                        intended_providers: vec!["pay".into()],
                    },
                ],
                metadata: json!({ "bindings": { "env": "PAY_LOGIN" } }),
            },
            SecretEntry {
                slug: "plain".into(),
                name: "Plain".into(),
                description: "One text.".into(),
                kind: SecretKind::Opaque,
                backend: None,
                reveal: vec![],
                bind: vec![role("agent")],
                rotate: vec![],
                audit: SecretAudit::default(),
                tags: vec![],
                exposures: vec![],
                metadata: Value::Null,
            },
        ],
    };
    assert_eq!(*file, expected);
}

/// An entry that is fine but for what a case adds.
fn entry(rest: &str) -> String {
    format!("secrets:\n- slug: one\n  name: One\n  description: It.\n{rest}")
}

const USED: &str = "  access: { bind: [{ role: agent }] }";

#[test]
fn inline_secret_value_is_refused_and_never_echoed() {
    let top = entry(&format!("{USED}\n  value: hunter2\n  token: hunter2"));
    let nested = entry(&format!(
        "{USED}\n  metadata:\n    acme: [{{ plaintext: hunter2 }}]\n  exposures:\n  - {{ kind: pipe, data: hunter2 }}"
    ));
    check(
        FILE,
        &[
            (
                &top,
                &[
                    "S040 7 `value` does not belong in a secret",
                    "S040 8 `token` does not belong in a secret",
                ],
            ),
            (
                &nested,
                &[
                    "S040 8 `plaintext` does not belong in a secret",
                    "S045 10 unknown kind `pipe`, so the exposure is ignored",
                    "S040 10 `data` does not belong in a secret",
                ],
            ),
        ],
    );
}

#[test]
fn an_inventory_breaks_the_rules_of_its_fields() {
    let fields = entry(&format!(
        "{USED}\n  kind: text\n  audit: {{ retention: 7 years }}\n  exposures:\n  - {{ kind: env, name: lower }}\n  - {{ kind: file, path: a, mode: 512 }}\n  owner: ana"
    ));
    check(
        FILE,
        &[
            (
                "secrets: []\nvault: x",
                &[
                    "S001 2 `secrets` needs at least 1 entry",
                    "S030 3 SECRETS.md has no field `vault`",
                ],
            ),
            (
                "secrets: [{ slug: a/b/c }]",
                &[
                    "S003 2 `name` is missing from a secret",
                    "S004 2 `description` is missing from a secret",
                    "S002 2 `slug`: `a/b/c` is not the slug of a secret",
                    "S046 2 no access entry grants `a/b/c`",
                ],
            ),
            (
                &fields,
                &[
                    "S005 7 `kind` cannot be `text`",
                    "S008 8 `retention`: `7 years` is not a retention",
                    "S011 10 `field` is missing from an `env` exposure",
                    "S011 10 `name`: `lower` is not the name of an environment variable",
                    "S011 11 `mode` is 512; it must be from 0 to 511",
                    "S001 12 a secret has no field `owner`",
                ],
            ),
        ],
    );
}

#[test]
fn an_inventory_breaks_the_rules_across_its_fields() {
    let access = entry(
        "  access:\n    reveal:\n    - { role: a, userId: b }\n    - {}\n    - { cap: pay }\n    bind:\n    - { robot: r2 }\n    - { role: a, until: tomorrow }",
    );
    let twice = "secrets:\n- { slug: a--b, name: A, description: A., access: { bind: [{ tool: t }] } }\n- { slug: a--b, name: A, description: A., access: { reveal: [{ tool: t }] }, backend: \"keychain://x\" }";
    let unreachable = entry("  access: { rotate: [{ role: a }], bind: [{ robot: r2 }] }");
    check(
        FILE,
        &[
            (
                &access,
                &[
                    "S044 8 an access entry names one thing, not 2",
                    "S044 9 an access entry names one thing, not 0",
                    "S007 10 `cap`: `pay` is not a capability (at least 7 characters)",
                    "S043 12 unknown key `robot`, so the entry is ignored",
                    "S043 13 unknown key `until`, so the entry is ignored",
                ],
            ),
            (
                twice,
                &[
                    "S042 3 `a--b` has two dashes in a row",
                    "S042 4 `a--b` has two dashes in a row",
                    "S041 4 `a--b` is listed twice",
                    "S047 4 the manifest tells its readers which vault is used",
                ],
            ),
            (
                &unreachable,
                &[
                    "S046 3 no access entry grants `one`",
                    "S043 6 unknown key `robot`, so the entry is ignored",
                ],
            ),
        ],
    );
}
