//! OAuth access tokens: verifies JWTs that an authorization server issued for this audience.

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

/// Fetches a document of the authorization server.
pub type Fetch = Arc<dyn Fn(String) -> BoxFuture<'static, Result<Vec<u8>, String>> + Send + Sync>;

/// OAuth settings: the trusted issuer, and the roles that its tokens grant.
#[derive(Clone)]
pub struct OAuth {
    /// URL of the authorization server.
    pub issuer: String,
    /// Audience that a token must be issued for.
    pub audience: String,
    /// Roles that each scope or role of a token grants here.
    pub roles: BTreeMap<String, BTreeSet<Role>>,
    /// Fetches a document of the authorization server.
    pub fetch: Fetch,
}

/// Clock skew allowed, in seconds.
const LEEWAY: u64 = 30;

/// Accepted signature algorithms. All are asymmetric: with a shared secret the verifier could also
/// sign.
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

/// Verifies the tokens of one authorization server.
pub(crate) struct Issuer {
    pub(super) settings: OAuth,
    keys: Arc<Keys>,
}

/// Whether a token's `typ` allows an access token; one without a `typ` may be. A token for another
/// purpose, such as an `id_token` with its own `typ`, is refused.
fn is_access_token(kind: Option<&str>) -> bool {
    let kind = kind.map(str::to_ascii_lowercase);
    let kind = kind.as_deref().map(|kind| kind.strip_prefix("application/").unwrap_or(kind));
    matches!(kind, None | Some("jwt" | "at+jwt"))
}

/// The claims of a token.
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

    /// The actor of an access token.
    pub(super) async fn bearer(&self, token: &str, people: &People) -> Result<Actor, AuthRefusal> {
        let header = decode_header(token).map_err(|_| AuthRefusal::NotGood("this is no token"))?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(AuthRefusal::NotGood("tokens are signed with a key of the issuer's own"));
        }
        // An unknown critical header changes the meaning of the whole token (RFC 7515).
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
        // The library accepts a list in which the issuer is one of several.
        if claims.iss.as_str() != Some(&self.settings.issuer) {
            return Err(AuthRefusal::NotGood("this token is from another issuer"));
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
        // A token with the agent role yields an agent, for every subject: an agent answers no
        // questions.
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

    /// The scopes that a token needs to call; any one of them is enough.
    pub(super) fn scopes(&self) -> String {
        let calls = |roles: &BTreeSet<Role>| roles.contains(&Role::Agent);
        let any = self.settings.roles.values().any(calls);
        let wanted = self.settings.roles.iter().filter(|(_, roles)| !any || calls(roles));
        let names = wanted.map(|(name, _)| name.as_str()).filter(|name| is_scope(name));
        names.collect::<Vec<_>>().join(" ")
    }
}

/// Whether a name may be an actor's or a tenant's. One that looks like another scheme may not.
fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.len() <= 200
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._@|:+=~-".contains(&byte))
}

/// Whether a name is a valid scope of RFC 6749.
pub(super) fn is_scope(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

/// The values of a claim: a space-separated text, or a list.
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
        ErrorKind::InvalidAudience => "this token is for another audience",
        ErrorKind::InvalidIssuer => "this token is from another issuer",
        ErrorKind::MissingRequiredClaim(_) => "this token lacks `exp`, `iss`, `aud` or `sub`",
        _ => "this token cannot be read",
    }
}
