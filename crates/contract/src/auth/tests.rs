//! Logins: what is read, and what is refused.

use crate::trial::{check, good};
use crate::{AuthFile, Flow, Handover, ParsedManifest, TokenStore};

fn read(file: &str, frontmatter: &str) -> AuthFile {
    let manifest = good(file, frontmatter);
    let ParsedManifest::Auth(auth) = manifest else { panic!("{manifest:?}") };
    (*auth).clone()
}

fn login(file: &str, flow: Flow) -> AuthFile {
    AuthFile {
        file: file.into(),
        id: "acme.api".into(),
        description: "Acme.".into(),
        api_base: "https://api.acme.example".into(),
        audience: None,
        flow,
        token_store: TokenStore { keychain: "acme".into(), account: None },
        install: None,
    }
}

const HEAD: &str = "id: acme.api\ndescription: Acme.\napiBase: https://api.acme.example";

#[test]
fn a_login_is_read_whole() {
    let device = read(
        "AUTH.md",
        &format!(
            "{HEAD}\naudience: api\nauth: {{ flow: device-code, clientId: haft, scope: all, deviceLabel: desk, tokenStore: {{ keychain: acme, account: \"{{server}}\" }} }}\ninstall: {{ sealKey: /seal, secretBacked: /install }}"
        ),
    );
    let flow = Flow::Device {
        client: "haft".into(),
        scope: Some("all".into()),
        label: Some("desk".into()),
    };
    let expected = AuthFile {
        audience: Some("api".into()),
        token_store: TokenStore { keychain: "acme".into(), account: Some("{server}".into()) },
        install: Some(Handover { seal_key: "/seal".into(), secret_backed: "/install".into() }),
        ..login("AUTH.md", flow)
    };
    assert_eq!(device, expected);
}

#[test]
fn every_auth_flow_parses_with_default_client() {
    for (written, flow) in [
        ("pat", Flow::Token),
        ("service-auth", Flow::Service { client: "agentproto-cli".into(), login_hint: None }),
        ("device-code", Flow::Device { client: "agentproto-cli".into(), scope: None, label: None }),
    ] {
        let auth = format!("{HEAD}\nauth: {{ flow: {written}, tokenStore: {{ keychain: acme }} }}");
        assert_eq!(read("acme/auth.md", &auth), login("acme/auth.md", flow));
    }
}

#[test]
fn a_login_breaks_its_rules() {
    let store = "tokenStore: { keychain: acme }";
    let reserved = format!("{HEAD}\nauth: {{ flow: id-jag, {store} }}");
    let stranger = format!("{HEAD}\nauth: {{ flow: pat, clientId: x, {store} }}\nname: Acme");
    let clear = format!(
        "id: a\ndescription: Acme.\napiBase: http://api.acme.example/\nauth: {{ flow: pat, {store} }}\ninstall: {{ sealKey: /seal }}"
    );
    check(
        "AUTH.md",
        &[
            (&reserved, &["U005 5 `flow` cannot be `id-jag`"]),
            (
                &stranger,
                &[
                    "U005 5 `auth` by token has no field `clientId`",
                    "U030 6 AUTH.md has no field `name`",
                ],
            ),
            (
                &clear,
                &[
                    "U001 2 `id`: `a` is not the id of a service (2 to 80 characters)",
                    "U003 4 `apiBase`: `http://api.acme.example/` ends in a slash",
                    "U040 4 `http://api.acme.example/` is not encrypted",
                    "U006 6 `secretBacked` is missing from `install`",
                ],
            ),
            (
                "id: acme",
                &[
                    "U002 2 `description` is missing from AUTH.md",
                    "U003 2 `apiBase` is missing from AUTH.md",
                    "U005 2 `auth` is missing from AUTH.md",
                ],
            ),
        ],
    );
}
