//! Access tokens of an authorization server: JWTs that are made out for us.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use haft_driver::BoxFuture;
use haft_model::{Actor, Code, Role, Stop};
use haft_runtime::People;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::Value;

use super::AuthRefusal;
use super::keys::Keys;

/// Gets a document of the authorization server.
pub type Fetch = Arc<dyn Fn(String) -> BoxFuture<'static, Result<Vec<u8>, String>> + Send + Sync>;

/// Whose access tokens are taken, and what they mean here.
#[derive(Clone)]
pub struct OAuth {
    /// The authorization server.
    pub issuer: String,
    /// What a token has to be made out for.
    pub audience: String,
    /// The roles here of each scope or role in a token.
    pub roles: BTreeMap<String, BTreeSet<Role>>,
    /// Gets a document of the authorization server.
    pub fetch: Fetch,
}

/// How far clocks may differ, in seconds.
const LEEWAY: u64 = 30;

/// What a signature may be made by. With a secret that both sides know, whoever checks could also sign.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// Checks the tokens of one authorization server.
pub(crate) struct Issuer {
    pub(super) settings: OAuth,
    keys: Arc<Keys>,
}

/// Whether a token says that it is one by which something is accessed; one that does not say may be. A
/// token for something else, such as an `id_token` of a kind of its own, is no key to this door.
fn is_access_token(kind: Option<&str>) -> bool {
    let kind = kind.map(str::to_ascii_lowercase);
    let kind = kind.as_deref().map(|kind| kind.strip_prefix("application/").unwrap_or(kind));
    matches!(kind, None | Some("jwt" | "at+jwt"))
}

/// What a token says of whoever shows it.
#[derive(Deserialize)]
struct Claims {
    #[serde(default)]
    iss: Value,
    #[serde(default)]
    sub: String,
    #[serde(default)]
    scope: Value,
    #[serde(default)]
    scp: Value,
    #[serde(default)]
    roles: Value,
    #[serde(default)]
    tenant: Value,
}

impl Issuer {
    pub(crate) fn new(settings: OAuth) -> Issuer {
        let keys = Keys::new(settings.issuer.clone(), settings.fetch.clone());
        Issuer { settings, keys: Arc::new(keys) }
    }

    /// Whoever shows a token.
    pub(super) async fn bearer(&self, token: &str, people: &People) -> Result<Actor, AuthRefusal> {
        let header = decode_header(token).map_err(|_| AuthRefusal::NotGood("this is no token"))?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(AuthRefusal::NotGood("tokens are signed with a key of the issuer's own"));
        }
        // What has to be understood and is not makes the whole token mean something else (RFC 7515).
        if header.crit.is_some() {
            return Err(AuthRefusal::NotGood("this token has a `crit` that is not understood"));
        }
        if !is_access_token(header.typ.as_deref()) {
            return Err(AuthRefusal::NotGood(
                "this token is of another `typ` than `at+jwt` or `JWT`",
            ));
        }
        let keys = self.keys.find(header.kid.as_deref(), header.alg).await.map_err(|cause| {
            let words = format!("the keys of `{}` cannot be had: {cause}", self.settings.issuer);
            AuthRefusal::Unknown(Stop::new(Code::DependencyUnavailable, words))
        })?;
        let validation = self.validation(header.alg);
        let mut refusal = AuthRefusal::NotGood("no key of the issuer signed this token");
        for key in keys {
            match decode::<Claims>(token, &key, &validation) {
                Ok(data) => return self.actor(data.claims, people),
                Err(fault) => match fault.kind() {
                    ErrorKind::InvalidSignature => {}
                    kind => refusal = AuthRefusal::NotGood(why(kind)),
                },
            }
        }
        Err(refusal)
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_audience(&[&self.settings.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.validate_nbf = true;
        validation.leeway = LEEWAY;
        validation
    }

    fn actor(&self, claims: Claims, people: &People) -> Result<Actor, AuthRefusal> {
        // The library takes a list in which the issuer is one of several.
        if claims.iss.as_str() != Some(&self.settings.issuer) {
            return Err(AuthRefusal::NotGood("this token is from somebody else"));
        }
        if !is_plain(&claims.sub) {
            return Err(AuthRefusal::NotGood(
                "the `sub` of this token is no name that can be used",
            ));
        }
        let names = [&claims.scope, &claims.scp, &claims.roles].into_iter().flat_map(words);
        let roles: BTreeSet<Role> =
            names.filter_map(|name| self.settings.roles.get(name)).flatten().copied().collect();
        if roles.is_empty() {
            return Err(AuthRefusal::Insufficient);
        }
        // Whoever may call as an agent is one, whoever gave it the token: an agent answers nothing.
        let kind = if roles.contains(&Role::Agent) { "agent" } else { "user" };
        let mut actor = people.actor(&format!("{kind}:{}", claims.sub));
        actor.roles = roles;
        match claims.tenant {
            Value::Null => {}
            Value::String(tenant) if is_plain(&tenant) => actor.tenant = tenant.into(),
            _ => return Err(AuthRefusal::NotGood("the `tenant` of this token is no name")),
        }
        Ok(actor)
    }

    /// The scopes that a token needs to call; any one of them will do.
    pub(super) fn scopes(&self) -> String {
        let calls = |roles: &BTreeSet<Role>| roles.contains(&Role::Agent);
        let any = self.settings.roles.values().any(calls);
        let wanted = self.settings.roles.iter().filter(|(_, roles)| !any || calls(roles));
        let names = wanted.map(|(name, _)| name.as_str()).filter(|name| is_scope(name));
        names.collect::<Vec<_>>().join(" ")
    }
}

/// Whether a name can be an actor's or a tenant's. What looks like the scheme of another is none.
fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.len() <= 200
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._@|:+=~-".contains(&byte))
}

/// Whether a name can stand in a list of scopes, as RFC 6749 has them.
pub(super) fn is_scope(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

/// The words of a claim: a text that spaces part, or a list.
fn words(claim: &Value) -> Vec<&str> {
    match claim {
        Value::String(text) => text.split_whitespace().collect(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn why(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ExpiredSignature => "this token ran out",
        ErrorKind::ImmatureSignature => "this token is not good yet",
        ErrorKind::InvalidAudience => "this token is made out for somebody else",
        ErrorKind::InvalidIssuer => "this token is from somebody else",
        ErrorKind::MissingRequiredClaim(_) => "this token lacks `exp`, `iss`, `aud` or `sub`",
        _ => "this token cannot be read",
    }
}
