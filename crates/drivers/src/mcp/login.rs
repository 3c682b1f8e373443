//! OAuth login to a remote MCP server: discovers the authorization server, sends a person through
//! the authorization page, and returns a token that can be refreshed.
//!
//! Nothing is stored or shown here: the caller stores the [`McpLogin`] in a vault and hands the
//! token to the driver.

mod authorization_request;
mod guarded_client;

use std::time::Duration;

use haft_contract::driver::manifest::{DriverManifest, ServerLocation};
use haft_model::{Code, Secret, Stop, Timestamp};
use haft_sandbox::AddressGuard;
use rmcp::transport::auth::{
    AuthError, CredentialStore as _, InMemoryCredentialStore, OAuthClientConfig, StoredCredentials,
};
use serde_json::{Value, json};

use super::tools::one_line;
use crate::http::egress_allowlist;
use crate::login::{Callback, Step, Tell};
use crate::vault::{ServerLogin, Token};
use authorization_request::manager;

pub use authorization_request::{LoginRequest, PendingAuthorization, RegisteredClient};

/// Field of a registered client's secret in the stored login.
const CLIENT_SECRET: &str = "client_secret";

/// A login: the text for the vault, and the access token in it.
#[derive(Clone, Debug)]
pub struct McpLogin {
    /// The stored login: tokens, client id and granted scopes, as JSON.
    pub kept: Secret,
    /// The access token for requests.
    pub token: Secret,
}

/// Whether a driver's MCP server is remote, so that OAuth login applies.
pub fn is_elsewhere(manifest: &DriverManifest) -> bool {
    manifest.server().is_some_and(|server| server.url().is_some())
}

/// Opens the addresses of the local network that the driver's egress allowlist names, for a login.
pub fn opened(guard: AddressGuard, manifest: &DriverManifest) -> AddressGuard {
    let url = manifest.server().and_then(ServerLocation::url).unwrap_or_default();
    egress_allowlist::opened(guard, &manifest.network.egress, url)
}

/// The inputs of a login that come from an earlier one or from the manifest's secrets.
#[derive(Clone, Debug, Default)]
pub struct Before {
    /// The OAuth client secret, where the manifest names one.
    pub client_secret: Option<Secret>,
    /// The scopes of the previous login, and those that a call lacked.
    pub scopes: Vec<String>,
}

/// Logs a person in to a driver's server by the authorization code flow.
pub async fn log_in(
    manifest: &DriverManifest,
    before: Before,
    guard: &AddressGuard,
    clock: fn() -> Timestamp,
    tell: Tell<'_>,
    within: Duration,
) -> Result<Token, Stop> {
    let server = manifest.server();
    let url = server.and_then(ServerLocation::url).unwrap_or_default().to_owned();
    let login = server.and_then(ServerLocation::login).cloned().unwrap_or_default();
    let callback = Callback::open().await?;
    let wish = LoginRequest {
        url: url.clone(),
        redirect_uri: callback.address(),
        scopes: login.scopes,
        kept: before.scopes,
        client: RegisteredClient {
            id: login.client_id,
            secret: before.client_secret,
            document: login.client_metadata_url,
        },
    };
    let back = callback.address();
    let asked = PendingAuthorization::begin(wish, opened(guard.clone(), manifest)).await?;
    let page = asked.address().to_owned();
    let state = page.split(['?', '&']).find_map(|field| field.strip_prefix("state="));
    let Some(state) = state else {
        return Err(Stop::new(Code::Internal, "the login page has nothing to bring back"));
    };
    let callback = callback.expecting(state);
    tell(Step::Open { url: page.clone() });
    let query = callback.came_back(within).await?;
    asked.answered(&format!("{back}?{query}")).await?.token_of(&url, clock())
}

impl McpLogin {
    /// Converts the login to the token that a vault stores.
    pub(crate) fn token_of(&self, url: &str, now: Timestamp) -> Result<Token, Stop> {
        let kept: Value = serde_json::from_str(self.kept.expose()).unwrap_or_default();
        let given = kept.get("token_response").and_then(|answer| Token::given(answer, now));
        let given = given.ok_or_else(|| refused(AuthError::AuthorizationRequired))?;
        // The lifetime counts from when the token was issued, which may be a while ago.
        let received = kept.get("token_received_at").and_then(Value::as_i64);
        let seconds = kept.pointer("/token_response/expires_in").and_then(Value::as_i64);
        let until = received.zip(seconds).and_then(|(from, good)| from.checked_add(good));
        let until = until.and_then(|until| Timestamp::from_second(until).ok());
        let server = ServerLogin { url: url.to_owned(), kept: self.kept.clone() };
        Ok(Token { refresh: None, until: until.or(given.until), server: Some(server), ..given })
    }

    /// Refreshes a stored login where its token expired. `kept` may differ afterwards: the caller
    /// stores the new one.
    pub async fn renewed(url: &str, kept: &Secret, guard: AddressGuard) -> Result<McpLogin, Stop> {
        let unreadable = |_| {
            let words = "what is kept of the login cannot be read";
            Stop::new(Code::CredentialMissing, words).help("log in again")
        };
        let text: Value = serde_json::from_str(kept.expose()).map_err(unreadable)?;
        let secret = text.get(CLIENT_SECRET).and_then(Value::as_str).map(str::to_owned);
        let secret = secret.map(Secret::new);
        let stored: StoredCredentials = serde_json::from_value(text).map_err(unreadable)?;
        let client = stored.client_id.clone();
        let store = InMemoryCredentialStore::new();
        store.save(stored).await.map_err(refused)?;
        let (mut manager, _) = manager(url, guard, &store).await?;
        // The authorization server may have changed; a new one gets nothing of this login.
        if !manager.initialize_from_store().await.map_err(refused)? {
            return Err(refused(AuthError::AuthorizationRequired));
        }
        if let Some(secret) = &secret {
            let config = OAuthClientConfig::new(client, url).with_client_secret(secret.expose());
            manager.configure_client(config).map_err(refused)?;
        }
        manager.get_access_token().await.map_err(refused)?;
        taken(&store, secret.as_ref()).await
    }
}

impl Token {
    /// The granted scopes of a login to an MCP server, as far as it states them.
    pub fn scopes(&self) -> Vec<String> {
        let kept = self.server.as_ref().map(|login| login.kept.expose());
        let kept: Value = kept.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let scopes = kept.get("granted_scopes").and_then(Value::as_array).into_iter().flatten();
        scopes.filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

/// Serializes the stored credentials and picks out the access token.
async fn taken(store: &InMemoryCredentialStore, secret: Option<&Secret>) -> Result<McpLogin, Stop> {
    let stored = store.load().await.map_err(refused)?;
    let mut text = serde_json::to_value(&stored).unwrap_or_default();
    if let (Some(secret), Some(fields)) = (secret, text.as_object_mut()) {
        fields.insert(CLIENT_SECRET.to_owned(), json!(secret.expose()));
    }
    let token = text.pointer("/token_response/access_token").and_then(|token| token.as_str());
    let token = token.ok_or_else(|| refused(AuthError::AuthorizationRequired))?;
    Ok(McpLogin { token: Secret::new(token.to_owned()), kept: Secret::new(text.to_string()) })
}

fn refused(fault: AuthError) -> Stop {
    match fault {
        AuthError::AuthorizationRequired
        | AuthError::TokenRefreshRejected(_)
        | AuthError::TokenExpired => {
            Stop::new(Code::CredentialMissing, "the login is over").help("log in again")
        }
        AuthError::NoAuthorizationSupport => {
            Stop::new(Code::SetupRequired, "the server does not say who gives out logins for it")
        }
        other => {
            let words = format!("the login failed: {other}");
            Stop::new(Code::CredentialMissing, one_line(&words))
        }
    }
}
