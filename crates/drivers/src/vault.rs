//! Secret vault of a workspace: resolves a secret's name, checks access, and opens its value.
//!
//! INVARIANT: the value is looked up only after the contract lists the secret and an access binding
//! grants it. An opened value is not cached for the next call.

mod access;
mod backend;
mod changing;
mod encrypted_store;
mod inventory;
mod keyring;
mod private;
mod token;

pub use encrypted_store::{Holder, KeyPlace, StoreTransaction, Strongbox};
pub use inventory::{ListedSecret, Per, SecretVariable};
pub use token::{ServerLogin, Token};

use haft_driver::{BoxFuture, OpenedSecret, SecretRequest, Vault, Withheld};
use haft_model::{Code, Secret, SecretKind, Stop, Timestamp};
use haft_sandbox::AddressGuard;
use serde_json::Value;

use crate::failure::blocking;
use backend::{Home, Raw};
use inventory::ResolvedSecret;

/// Minimum length of a secret in bytes; shorter values occur too often for redaction.
pub const SHORTEST_SECRET: usize = 4;

/// Opens the secrets that a workspace lists.
pub struct Keeper {
    /// The secrets of the workspace's SECRETS.md files.
    pub inventory: Vec<ListedSecret>,
    /// The encrypted store of the workspace.
    pub strongbox: Strongbox,
    /// Reads an environment variable of the Haft process.
    pub variable: fn(&str) -> Option<String>,
    /// The address guard for token refresh.
    pub guard: AddressGuard,
    /// The clock for token expiry.
    pub clock: fn() -> Timestamp,
}

impl Vault for Keeper {
    fn open<'a>(
        &'a self,
        asked: SecretRequest<'a>,
    ) -> BoxFuture<'a, Result<OpenedSecret, Withheld>> {
        Box::pin(self.opened(asked))
    }
}

impl Keeper {
    async fn opened(&self, asked: SecretRequest<'_>) -> Result<OpenedSecret, Withheld> {
        let found = inventory::find(&self.inventory, asked.name)
            .map_err(|stop| Withheld { slug: asked.name.to_owned(), stop })?;
        let slug = || found.listed.slug.clone();
        let closed = |stop| Withheld { slug: slug(), stop };
        // INVARIANT: no value is looked up before access is granted.
        access::check(&self.inventory, &found, &asked).map_err(closed)?;
        let value = self.value(&found, asked.actor.id.as_str()).await.map_err(closed)?;
        Ok(OpenedSecret { slug: slug(), value })
    }

    /// The listed secret that a name resolves to.
    pub fn listed(&self, name: &str) -> Result<&ListedSecret, Stop> {
        Ok(inventory::find(&self.inventory, name)?.listed)
    }

    /// Whether a secret has a value for an actor, without an access check.
    pub async fn resolves(&self, name: &str, who: &str) -> Result<(), Stop> {
        let found = inventory::find(&self.inventory, name)?;
        self.raw(found.listed, who).await.map(drop)
    }

    /// Like `resolves`, but blocks on the disk; a value in a keyring counts as present.
    pub fn resolves_at_once(&self, name: &str, who: &str) -> Result<(), Stop> {
        let found = inventory::find(&self.inventory, name)?;
        backend::has_at_once(found.listed, who, &self.strongbox, self.variable)
    }

    /// The signing key of the workspace itself: an opaque secret that settings name and that is
    /// shared by all actors.
    pub async fn signing(&self, slug: &str) -> Result<Secret, Stop> {
        let found = inventory::find(&self.inventory, slug)?;
        let refused = |what: &str| {
            let words = format!("the secret `{slug}` {what}, and cannot sign");
            Err(Stop::new(Code::CredentialMissing, words))
        };
        match (found.listed.kind, found.listed.per) {
            (SecretKind::Opaque, Per::Workspace) => self.value(&found, "").await,
            (SecretKind::Opaque, Per::Actor) => refused("is each actor's own"),
            (SecretKind::OAuth | SecretKind::KeyPair | SecretKind::Json, _) => {
                refused("is not one text")
            }
        }
    }

    async fn value(&self, found: &ResolvedSecret<'_>, who: &str) -> Result<Secret, Stop> {
        let raw = self.raw(found.listed, who).await?;
        let value = match found.listed.kind {
            SecretKind::Opaque => raw.value,
            SecretKind::OAuth => self.access_token(&found.listed.slug, raw).await?,
            SecretKind::KeyPair | SecretKind::Json => part(found, raw.value)?,
        };
        match value.expose().len() < SHORTEST_SECRET {
            true => Err(too_short(&found.listed.slug)),
            false => Ok(value),
        }
    }

    async fn raw(&self, listed: &ListedSecret, who: &str) -> Result<Raw, Stop> {
        backend::look_up(listed, who, &self.strongbox, self.variable).await
    }

    /// The access token of a login, refreshed shortly before it expires.
    async fn access_token(&self, slug: &str, raw: Raw) -> Result<Secret, Stop> {
        let Some(token) = Token::parse(&raw.value) else { return Ok(raw.value) };
        match raw.home {
            Home::Elsewhere => Ok(token.access),
            home if token.is_stale((self.clock)()) => self.renewed(slug, home, token).await,
            Home::Strongbox(_) | Home::Keyring(_) => Ok(token.access),
        }
    }

    /// Refreshes a token and stores it. Single-flight across processes: concurrent callers wait for
    /// the lock and use the token that the first one got.
    async fn renewed(&self, slug: &str, home: Home, seen: Token) -> Result<Secret, Stop> {
        let strongbox = self.strongbox.clone();
        let lock = blocking(move || strongbox.lock_out()).await??;
        let now_there = self.there(slug, home.clone()).await?;
        let token = now_there.as_ref().and_then(Token::parse).unwrap_or(seen);
        if !token.is_stale((self.clock)()) {
            return Ok(token.access);
        }
        let fresh = match token.renew(&self.guard, (self.clock)(), slug).await {
            Ok(fresh) => fresh,
            Err(_) if !token.is_over((self.clock)()) => return Ok(token.access),
            Err(stop) => return Err(stop),
        };
        self.put(slug, home, fresh.written()).await?;
        drop(lock);
        Ok(fresh.access)
    }
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Keeper")
    }
}

/// The field of a structured secret that the name selects; the whole value where it selects none.
fn part(found: &ResolvedSecret<'_>, whole: Secret) -> Result<Secret, Stop> {
    let Some(field) = found.field else { return Ok(whole) };
    let parsed: Option<Value> = serde_json::from_str(whole.expose()).ok();
    let text = match parsed.as_ref().and_then(|parsed| parsed.get(field)) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(_) | None => None,
    };
    text.map(Secret::new).ok_or_else(|| {
        let slug = &found.listed.slug;
        let words = format!("the value of the secret `{slug}` has no `{field}`");
        let help = format!("store a JSON object with `{field}` in it: `haft secrets set {slug}`");
        Stop::new(Code::CredentialMissing, words).help(help)
    })
}

fn too_short(slug: &str) -> Stop {
    let words = format!(
        "the value of the secret `{slug}` is shorter than {SHORTEST_SECRET} bytes, \
         so that it could not be kept out of what is shown"
    );
    Stop::new(Code::CredentialMissing, words).help(format!("`haft secrets set {slug}`"))
}
