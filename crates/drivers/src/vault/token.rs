//! OAuth token: access token, refresh token and expiry of a login, and how it is refreshed.

use std::time::Duration;

use haft_model::{Code, Secret, Span, Stop, Timestamp};
use haft_sandbox::AddressGuard;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::mcp;
use crate::web::form;

/// Refresh this many seconds before expiry, because clocks differ and requests take time.
const EARLY: i64 = 60;

/// Timeout of a refresh.
const PATIENCE: Duration = Duration::from_secs(10);

/// The tokens of a login. It implements no `Debug`, so that it is not shown by accident.
#[derive(Clone)]
pub struct Token {
    /// The access token for requests.
    pub access: Secret,
    /// The refresh token, where the server issued one.
    pub refresh: Option<Secret>,
    /// When the access token expires; `None` where that is unknown.
    pub until: Option<Timestamp>,
    /// The token endpoint for the refresh.
    pub endpoint: Option<String>,
    /// The OAuth client id.
    pub client: Option<String>,
    /// The MCP login that it belongs to, which refreshes it instead of `refresh`.
    pub server: Option<ServerLogin>,
}

/// A login to an MCP server.
#[derive(Clone)]
pub struct ServerLogin {
    /// The URL of the server.
    pub url: String,
    /// The stored login, with all that a refresh needs.
    pub kept: Secret,
}

#[derive(Serialize)]
struct Writing<'a> {
    access_token: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_endpoint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_login: Option<&'a str>,
}

#[derive(Deserialize)]
struct Reading {
    access_token: String,
    refresh_token: Option<String>,
    expires_at: Option<Timestamp>,
    token_endpoint: Option<String>,
    client_id: Option<String>,
    server: Option<String>,
    server_login: Option<String>,
}

impl Token {
    /// Parses a stored login; `None` where the value is a bare token.
    pub fn parse(kept: &Secret) -> Option<Token> {
        let read: Reading = serde_json::from_str(kept.expose()).ok()?;
        Some(Token {
            access: Secret::new(read.access_token),
            refresh: read.refresh_token.map(Secret::new),
            until: read.expires_at,
            endpoint: read.token_endpoint,
            client: read.client_id,
            server: read
                .server
                .zip(read.server_login)
                .map(|(url, kept)| ServerLogin { url, kept: Secret::new(kept) }),
        })
    }

    /// Parses the token response of a server, received at `now`.
    pub(crate) fn given(answer: &Value, now: Timestamp) -> Option<Token> {
        let text = |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
        let seconds = answer.get("expires_in").and_then(Value::as_i64).filter(|given| *given > 0);
        let later = |seconds: i64| now.checked_add(Span::new().try_seconds(seconds).ok()?).ok();
        Some(Token {
            access: Secret::new(text("access_token")?),
            refresh: text("refresh_token").map(Secret::new),
            until: seconds.and_then(later),
            endpoint: None,
            client: None,
            server: None,
        })
    }

    /// Serializes the login for storage.
    pub fn written(&self) -> Secret {
        let writing = Writing {
            access_token: self.access.expose(),
            refresh_token: self.refresh.as_ref().map(Secret::expose),
            expires_at: self.until,
            token_endpoint: self.endpoint.as_deref(),
            client_id: self.client.as_deref(),
            server: self.server.as_ref().map(|login| login.url.as_str()),
            server_login: self.server.as_ref().map(|login| login.kept.expose()),
        };
        Secret::new(serde_json::to_string(&writing).unwrap_or_default())
    }

    /// Whether it has expired or is about to.
    pub(super) fn is_stale(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until.as_second() - EARLY <= now.as_second())
    }

    /// Whether it has expired.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// Refreshes the token.
    pub(super) async fn renew(
        &self,
        guard: &AddressGuard,
        now: Timestamp,
        slug: &str,
    ) -> Result<Token, Stop> {
        let over = |why: &str| {
            let words = format!("the login of the secret `{slug}` has run out: {why}");
            Stop::new(Code::CredentialMissing, words).help("log in again with `haft login`")
        };
        if let Some(ServerLogin { url, kept }) = &self.server {
            let asking = mcp::McpLogin::renewed(url, kept, guard.clone());
            let login =
                tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| Err(late()));
            return login?.token_of(url, now).map_err(|stop| over(&stop.message));
        }
        let (Some(refresh), Some(endpoint)) = (&self.refresh, &self.endpoint) else {
            return Err(over("nothing renews it"));
        };
        let mut fields = vec![("grant_type", "refresh_token"), ("refresh_token", refresh.expose())];
        fields.extend(self.client.as_deref().map(|client| ("client_id", client)));
        let asking = form::post(guard, endpoint, &fields);
        let answer =
            tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| Err(late()))?;
        if !answer.is_success() {
            return Err(over(&format!("its server answered {}", answer.in_words())));
        }
        let fresh =
            Token::given(&answer.body, now).ok_or_else(|| over("its server gave no token"))?;
        Ok(Token {
            // A response without a refresh token keeps the old one valid.
            refresh: fresh.refresh.clone().or_else(|| self.refresh.clone()),
            endpoint: self.endpoint.clone(),
            client: self.client.clone(),
            ..fresh
        })
    }
}

fn late() -> Stop {
    Stop::new(Code::DependencyUnavailable, "renewing a login took too long")
}
