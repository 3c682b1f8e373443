//! OAuth resource server tests: access tokens of an authorization server that the test runs.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use haft_testkit::{Act, Backend, Folder, Keys, Then};
use serde_json::{Value, json};

use crate::stage::run;
use crate::wire::{Answer, Server};

const AUDIENCE: &str = "https://tools.example/mcp";

/// An authorization server, and a workspace that takes its tokens.
struct Login {
    backend: Backend,
    elliptic: EcdsaKeyPair,
    edwards: Ed25519KeyPair,
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Login {
    fn new() -> Login {
        Login {
            backend: Backend::new(Keys::Ignored),
            elliptic: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap(),
            edwards: Ed25519KeyPair::generate().unwrap(),
        }
    }

    fn issuer(&self) -> String {
        format!("http://{}", self.backend.host())
    }

    /// Answers the next question for the keys, as often as it is asked for them in a row.
    fn publishes(&self, keys: &Value) {
        let answer = |body: Value| Act::refuses(Then::json(200, &body.to_string()));
        let issuer = self.issuer();
        let described = json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")});
        self.backend.will_at("/.well-known/oauth-authorization-server", answer(described));
        self.backend.will_at("/keys", answer(json!({ "keys": keys })));
    }

    /// Both keys, a secret and a key of an unknown kind.
    fn keys(&self) -> Value {
        let point = self.elliptic.public_key().as_ref();
        json!([
            {"kty": "XX", "kid": "later"},
            {"kty": "oct", "kid": "secret", "k": encoded(b"secret")},
            {"kty": "EC", "kid": "one", "use": "sig", "alg": "ES256", "crv": "P-256",
             "x": encoded(&point[1..33]), "y": encoded(&point[33..65])},
            {"kty": "OKP", "kid": "two", "crv": "Ed25519",
             "x": encoded(self.edwards.public_key().as_ref())},
        ])
    }

    fn workspace(&self) -> Folder {
        Folder::new().file(
            "haft.toml",
            format!(
                "[workspace]\nname = \"shop\"\n[server.oauth]\nissuer = \"{}\"\naudience = \"{AUDIENCE}\"\n\
                 roles = {{ \"tools:call\" = [\"agent\"], \"tools:approve\" = [\"approver\"] }}\n",
                self.issuer()
            ),
        )
    }

    fn claims(&self) -> Value {
        json!({"iss": self.issuer(), "aud": [AUDIENCE, "other"], "sub": "ana",
               "exp": now() + 600, "nbf": now() - 5, "scope": "openid tools:call"})
    }

    /// A token with a header and claims, signed with the elliptic key.
    fn signed(&self, header: &Value, claims: &Value) -> String {
        let text = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
        let signature = self.elliptic.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
        format!("{text}.{}", encoded(signature))
    }

    fn token(&self, claims: &Value) -> String {
        self.signed(&json!({"alg": "ES256", "kid": "one", "typ": "at+jwt"}), claims)
    }
}

fn now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_secs()
}

fn with(mut claims: Value, name: &str, value: Value) -> Value {
    match value {
        Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
        value => claims[name] = value,
    }
    claims
}

fn shown(server: &Server, token: &str) -> Answer {
    let body = json!({"tool": "time.now"}).to_string();
    server.ask("POST", "/v1/call", &[("Authorization", &format!("Bearer {token}"))], Some(&body))
}

/// Who the last call was by, once that is on record.
fn caller(folder: &Folder) -> (String, String) {
    let ran = run(folder, "runs --json");
    let runs: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let text = |key: &str| runs[0][key].as_str().unwrap_or_default().to_owned();
    (text("actor"), text("tenant"))
}

#[test]
fn a_client_is_told_where_to_get_a_token() {
    let login = Login::new();
    let folder = login.workspace();
    let server = Server::of(&folder);
    let place = "https://tools.example/.well-known/oauth-protected-resource/mcp";
    let expected =
        format!("Bearer realm=\"haft\", resource_metadata=\"{place}\", scope=\"tools:call\"");
    for path in ["/mcp", "/v1/catalog", "/nowhere"] {
        let answer = server.get(path);
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some(&*expected)));
    }
    for path in ["", "/mcp"] {
        let answer = server.get(&format!("/.well-known/oauth-protected-resource{path}"));
        assert_eq!(
            (answer.status, answer.json()),
            (
                200,
                json!({
                    "resource": AUDIENCE,
                    "authorization_servers": [login.issuer()],
                    "scopes_supported": ["tools:approve", "tools:call"],
                    "bearer_methods_supported": ["header"],
                    "resource_name": "Haft",
                })
            )
        );
    }
    assert_eq!(login.backend.heard().len(), 0, "nothing is asked for before there is a token");
}

#[test]
fn valid_oauth_token_identifies_the_caller() {
    let login = Login::new();
    let folder = login.workspace();
    login.publishes(&login.keys());
    let server = Server::of(&folder);
    assert_eq!(shown(&server, &login.token(&login.claims())).status, 200);
    let claims = with(login.claims(), "tenant", json!("north"));
    let claims = with(with(claims, "scope", Value::Null), "roles", json!(["tools:call"]));
    let text =
        format!("{}.{}", encoded(json!({"alg": "EdDSA"}).to_string()), encoded(claims.to_string()));
    let token = format!("{text}.{}", encoded(login.edwards.sign(text.as_bytes())));
    assert_eq!(shown(&server, &token).status, 200, "another key, without its name");
    let by =
        crate::serve::eventually(|| Some(caller(&folder)).filter(|(_, tenant)| tenant == "north"));
    assert_eq!(by, ("agent:ana".to_owned(), "north".to_owned()));
    assert_eq!(login.backend.heard().len(), 2, "the keys are asked for once");
}

#[test]
fn agent_scoped_token_cannot_answer_approvals() {
    let login = Login::new();
    let folder = login.workspace().file("a.txt", "");
    login.publishes(&login.keys());
    let server = Server::of(&folder);
    let token = |scope: &str| {
        format!("Bearer {}", login.token(&with(login.claims(), "scope", json!(scope))))
    };
    let body = json!({"tool": "fs.write", "input": {"path": "a.txt", "content": "x"}}).to_string();
    let agent = token("tools:call");
    let asked =
        server.ask("POST", "/v1/call?wait=false", &[("Authorization", &agent)], Some(&body));
    let question = asked.json()["approval_id"].as_str().unwrap().to_owned();
    let answer = |token: &str| {
        let body = json!({"decision": "approve"}).to_string();
        let path = format!("/v1/approvals/{question}");
        server.ask("POST", &path, &[("Authorization", token)], Some(&body)).status
    };
    assert_eq!(answer(&token("tools:call tools:approve")), 403);
    assert_eq!(answer(&token("tools:approve")), 200);
}

#[test]
fn oauth_token_with_wrong_claims_is_refused() {
    let login = Login::new();
    let folder = login.workspace();
    login.publishes(&login.keys());
    let server = Server::of(&folder);
    let claims = || login.claims();
    for (what, claims, words) in [
        ("over", with(claims(), "exp", json!(now() - 60)), "this token ran out"),
        ("early", with(claims(), "nbf", json!(now() + 600)), "this token is not good yet"),
        (
            "another's",
            with(claims(), "aud", json!("https://other.example")),
            "this token is for another audience",
        ),
        (
            "a part",
            with(claims(), "aud", json!("https://tools.example/")),
            "this token is for another audience",
        ),
        (
            "from another",
            with(claims(), "iss", json!("https://evil.example")),
            "this token is from another issuer",
        ),
        (
            "endless",
            with(claims(), "exp", Value::Null),
            "this token lacks `exp`, `iss`, `aud` or `sub`",
        ),
        (
            "for anybody",
            with(claims(), "aud", Value::Null),
            "this token lacks `exp`, `iss`, `aud` or `sub`",
        ),
        (
            "from nobody",
            with(claims(), "iss", Value::Null),
            "this token lacks `exp`, `iss`, `aud` or `sub`",
        ),
        (
            "of nobody",
            with(claims(), "sub", Value::Null),
            "this token lacks `exp`, `iss`, `aud` or `sub`",
        ),
        (
            "of a scheme",
            with(claims(), "sub", json!("//ana")),
            "the `sub` of this token is no name that can be used",
        ),
        (
            "of all tenants",
            with(claims(), "tenant", json!(["a"])),
            "the `tenant` of this token is no name",
        ),
    ] {
        let answer = shown(&server, &login.token(&claims));
        assert_eq!((answer.status, &answer.json()["detail"]), (401, &json!(words)), "{what}");
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(challenge.contains("error=\"invalid_token\""), "{what}: {challenge}");
    }
    let refused = shown(&server, &login.token(&with(claims(), "scope", json!("openid"))));
    let challenge = refused.header("www-authenticate").unwrap();
    assert_eq!(refused.status, 403);
    assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
    assert!(challenge.ends_with("scope=\"tools:call\""), "{challenge}");
}

#[test]
fn oauth_token_not_signed_by_issuer_is_refused() {
    let login = Login::new();
    let folder = login.workspace();
    login.publishes(&login.keys());
    let server = Server::of(&folder);
    let good = login.token(&login.claims());
    assert_eq!(shown(&server, &good).status, 200);
    let (text, signature) = good.rsplit_once('.').unwrap();
    let stranger = Login::new();
    let headers = |alg: &str, kid: &str| json!({"alg": alg, "kid": kid});
    let hs256 = |kid: &str| {
        let text = format!(
            "{}.{}",
            encoded(headers("HS256", kid).to_string()),
            encoded(login.claims().to_string())
        );
        let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, b"secret");
        format!("{text}.{}", encoded(aws_lc_rs::hmac::sign(&key, text.as_bytes())))
    };
    let changed = with(login.claims(), "sub", json!("bo"));
    for (what, token) in [
        ("another's key", stranger.signed(&headers("ES256", "one"), &login.claims())),
        (
            "no algorithm",
            format!(
                "{}.{}.",
                encoded(headers("none", "one").to_string()),
                encoded(login.claims().to_string())
            ),
        ),
        ("no signature", format!("{text}.")),
        ("a secret", hs256("secret")),
        ("a public key as a secret", hs256("one")),
        ("a key that there is not", login.signed(&headers("ES256", "three"), &login.claims())),
        ("a key of another kind", login.signed(&headers("ES256", "two"), &login.claims())),
        (
            "another algorithm than the key's",
            login.signed(&headers("ES384", "one"), &login.claims()),
        ),
        (
            "other claims",
            format!(
                "{}.{}.{signature}",
                text.split_once('.').unwrap().0,
                encoded(changed.to_string())
            ),
        ),
        (
            "a key that it brings along",
            login
                .signed(&json!({"alg": "ES256", "jwk": stranger.keys()[2]}), &changed)
                .replace('.', ".x"),
        ),
        ("two dots", format!("{good}.x")),
    ] {
        assert_eq!(shown(&server, &token).status, 401, "{what}");
    }
}

#[test]
fn token_of_another_form_opens_nothing() {
    let login = Login::new();
    let folder = login.workspace();
    login.publishes(&login.keys());
    let server = Server::of(&folder);
    let head = |more: Value| {
        let mut head = json!({"alg": "ES256", "kid": "one", "typ": "at+jwt"});
        for (name, value) in more.as_object().unwrap() {
            head[name] = value.clone();
        }
        head
    };
    for kind in ["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt", "application/jwt"] {
        let token = login.signed(&head(json!({"typ": kind})), &login.claims());
        assert_eq!(shown(&server, &token).status, 200, "{kind}");
    }
    let issuer = login.issuer();
    for (what, header, claims) in [
        ("a crit", json!({"crit": ["exp"]}), json!({})),
        (
            "an unknown crit",
            json!({"crit": ["http://example.com/x"], "http://example.com/x": 1}),
            json!({}),
        ),
        ("an empty crit", json!({"crit": []}), json!({})),
        ("a crit that is a text", json!({"crit": "b64"}), json!({})),
        ("an unencoded payload", json!({"crit": ["b64"], "b64": false}), json!({})),
        ("a logout token", json!({"typ": "logout+jwt"}), json!({})),
        ("a proof", json!({"typ": "dpop+jwt"}), json!({})),
        ("an empty typ", json!({"typ": ""}), json!({})),
        ("a typ that is a list", json!({"typ": ["at+jwt"]}), json!({})),
        ("an issuer among others", json!({}), json!({"iss": [issuer, "https://evil.example"]})),
        ("a list of one issuer", json!({}), json!({"iss": [issuer]})),
        ("an issuer in an object", json!({}), json!({"iss": {"iss": issuer}})),
        ("a subject that is a list", json!({}), json!({"sub": ["ana"]})),
        ("a subject that is a number", json!({}), json!({"sub": 1})),
        ("an end that is a text", json!({}), json!({"exp": "9999999999"})),
        ("an audience that is a number", json!({}), json!({"aud": 1})),
    ] {
        let mut body = login.claims();
        for (name, value) in claims.as_object().unwrap() {
            body[name] = value.clone();
        }
        let token = login.signed(&head(header), &body);
        assert_eq!(shown(&server, &token).status, 401, "{what}");
    }
    let twice = format!(
        "{}.{}",
        encoded(r#"{"alg":"ES256","kid":"one","typ":"dpop+jwt","typ":"at+jwt"}"#),
        encoded(login.claims().to_string())
    );
    let signature = login.elliptic.sign(&SystemRandom::new(), twice.as_bytes()).unwrap();
    assert_eq!(shown(&server, &format!("{twice}.{}", encoded(signature))).status, 401, "typ twice");
    for text in ["", ".", "..", "...", "a.b.c", "e30.e30.", "\u{e9}"] {
        assert_eq!(shown(&server, text).status, 401, "{text}");
    }
}

#[test]
fn issuer_keys_are_fetched_at_most_once_per_minute() {
    let login = Login::new();
    let folder = login.workspace();
    login.publishes(&json!([]));
    let server = Server::of(&folder);
    for kid in ["a", "b", "one", "c"] {
        let token = login.signed(&json!({"alg": "ES256", "kid": kid}), &login.claims());
        assert_eq!(shown(&server, &token).status, 401, "{kid}");
    }
    assert_eq!(login.backend.heard().len(), 2, "keys are asked for once a minute at most");
}

#[test]
fn unreachable_issuer_refuses_callers_and_tells_the_reason() {
    let login = Login::new();
    let folder = login.workspace();
    for path in ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"] {
        login.backend.will_at(path, Act::refuses(Then::status(500)));
    }
    let server = Server::of(&folder);
    let answer = shown(&server, &login.token(&login.claims()));
    let detail = answer.json()["detail"].as_str().unwrap_or_default().to_owned();
    assert_eq!(answer.status, 503, "{detail}");
    assert!(
        detail.starts_with(&format!("the keys of `{}` cannot be had", login.issuer())),
        "{detail}"
    );
    assert_eq!(shown(&server, &login.token(&login.claims())).status, 503);
    assert_eq!(login.backend.heard().len(), 2);
}
