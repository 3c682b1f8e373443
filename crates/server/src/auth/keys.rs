//! JWKS cache: the keys of an authorization server, found by its metadata and refreshed when a
//! token names an unknown one.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;
use tokio::sync::Mutex;

use super::oauth::Fetch;

/// Rate limit of key fetches, whatever tokens say.
const PAUSE: Duration = Duration::from_secs(60);

/// How long fetched keys count as fresh.
const FRESH: Duration = Duration::from_secs(10 * 60);

/// The keys of one issuer.
pub(super) struct Keys {
    issuer: String,
    fetch: Fetch,
    held: RwLock<CachedKeys>,
    /// When keys were fetched last, and the error.
    asked: Mutex<Option<(Instant, Option<String>)>>,
}

#[derive(Clone, Default)]
struct CachedKeys {
    keys: Arc<[Key]>,
    since: Option<Instant>,
}

struct Key {
    id: Option<String>,
    algorithm: Option<String>,
    key: DecodingKey,
}

impl Keys {
    pub(super) fn new(issuer: String, fetch: Fetch) -> Keys {
        Keys { issuer, fetch, held: RwLock::default(), asked: Mutex::default() }
    }

    /// The keys that may have signed a token with this header.
    pub(super) async fn find(
        self: &Arc<Keys>,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Vec<DecodingKey>, String> {
        let held = self.held();
        let found = fitting(&held.keys, id, algorithm);
        if found.is_empty() {
            self.look().await?;
            return Ok(fitting(&self.held().keys, id, algorithm));
        }
        if held.since.is_none_or(|since| since.elapsed() > FRESH) {
            // Known keys serve meanwhile; a key that the issuer withdrew is gone soon after.
            let keys = self.clone();
            tokio::spawn(async move { keys.look().await });
        }
        Ok(found)
    }

    fn held(&self) -> CachedKeys {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Fetches the keys, unless that was done a moment ago.
    async fn look(&self) -> Result<(), String> {
        let mut asked = self.asked.lock().await;
        if let Some((at, fault)) = &*asked
            && at.elapsed() < PAUSE
        {
            // With keys at hand, a key id that is not among them is unknown rather than an outage.
            let fault = fault.clone().filter(|_| self.held().keys.is_empty());
            return fault.map_or(Ok(()), Err);
        }
        let fetched = self.fetched().await;
        *asked = Some((Instant::now(), fetched.as_ref().err().cloned()));
        let held = CachedKeys { keys: fetched?, since: Some(Instant::now()) };
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = held;
        Ok(())
    }

    async fn fetched(&self) -> Result<Arc<[Key]>, String> {
        let mut fault = String::new();
        for place in described_at(&self.issuer) {
            match self.document(&place).await {
                Ok(document) => return self.described(&document).await,
                Err(cause) => fault = cause,
            }
        }
        Err(fault)
    }

    async fn described(&self, document: &Value) -> Result<Arc<[Key]>, String> {
        let text = |key: &str| document.get(key).and_then(Value::as_str);
        if text("issuer") != Some(&self.issuer) {
            return Err("its metadata is of another issuer".to_owned());
        }
        let place = text("jwks_uri").ok_or("its metadata names no `jwks_uri`")?;
        let (private, open) = (place.starts_with("https://"), self.issuer.starts_with("http://"));
        if !private && !open {
            return Err(format!("`{place}` is not encrypted"));
        }
        let set = self.document(place).await?;
        let keys = set.get("keys").and_then(Value::as_array).ok_or("`jwks_uri` holds no keys")?;
        Ok(keys.iter().filter_map(key).collect())
    }

    async fn document(&self, place: &str) -> Result<Value, String> {
        let bytes = (self.fetch)(place.to_owned()).await?;
        serde_json::from_slice(&bytes).map_err(|_| format!("`{place}` is no JSON"))
    }
}

/// Metadata URLs of an issuer: of RFC 8414, and of OpenID Connect.
fn described_at(issuer: &str) -> [String; 2] {
    let issuer = issuer.trim_end_matches('/');
    let host = issuer.find("://").map_or(0, |at| at + 3);
    let path = issuer.get(host..).and_then(|rest| rest.find('/')).map(|at| at + host);
    let (origin, path) = issuer.split_at(path.unwrap_or(issuer.len()));
    [
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{issuer}/.well-known/openid-configuration"),
    ]
}

/// A verification key; `None` for unknown kinds, and for shared secrets.
fn key(written: &Value) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(written.clone()).ok()?;
    let signs = jwk.common.public_key_use.as_ref();
    let signs = signs.is_none_or(|wanted| *wanted == PublicKeyUse::Signature);
    let secret = written.get("kty").and_then(Value::as_str) == Some("oct");
    let key = DecodingKey::from_jwk(&jwk).ok().filter(|_| signs && !secret)?;
    let algorithm = written.get("alg").and_then(Value::as_str).map(str::to_owned);
    Some(Key { id: jwk.common.key_id, algorithm, key })
}

/// The keys that may have signed a token with this header. A key without an id matches all.
fn fitting(keys: &[Key], id: Option<&str>, algorithm: Algorithm) -> Vec<DecodingKey> {
    let name = format!("{algorithm:?}");
    let fits = |key: &&Key| {
        (id.is_none() || key.id.as_deref() == id)
            && key.algorithm.as_ref().is_none_or(|own| *own == name)
            && key.key.family() == algorithm.family()
    };
    keys.iter().filter(fits).map(|key| key.key.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_describes_itself_in_two_places() {
        assert_eq!(
            described_at("https://login.example/realms/a/"),
            [
                "https://login.example/.well-known/oauth-authorization-server/realms/a",
                "https://login.example/realms/a/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            described_at("https://login.example"),
            [
                "https://login.example/.well-known/oauth-authorization-server",
                "https://login.example/.well-known/openid-configuration",
            ]
        );
    }
}
