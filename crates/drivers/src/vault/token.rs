//! The tokens of a login: what is sent, what renews it, and until when it is good.

use std::time::Duration;

use haft_model::{Code, Secret, Span, Stop, Timestamp};
use haft_sandbox::AddressGuard;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::mcp;
use crate::web::form;

/// So long before its end a token is renewed, since clocks differ and requests take time.
const EARLY: i64 = 60;

/// How long renewing may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a login leaves behind. It has no text form that could be shown by accident.
#[derive(Clone)]
pub struct Token {
    /// What is sent with requests.
    pub access: Secret,
    /// What renews it.
    pub refresh: Option<Secret>,
    /// Until when it is good, where that is known.
    pub until: Option<Timestamp>,
    /// Where it is renewed.
    pub endpoint: Option<String>,
    /// Who asked for it.
    pub client: Option<String>,
    /// The login to an MCP server that it is of, which renews it in its own way.
    pub server: Option<ServerLogin>,
}

/// A login to an MCP server.
#[derive(Clone)]
pub struct ServerLogin {
    /// The server.
    pub url: String,
    /// Everything that renews it.
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
    /// The tokens that were kept; none where the value is a token by itself.
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

    /// The tokens that a server answered with, at this moment.
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

    /// The tokens as they are kept.
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

    /// Whether it is over, or about to be.
    pub(super) fn is_stale(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until.as_second() - EARLY <= now.as_second())
    }

    /// Whether it is over.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// Asks for a new one.
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
            // A server that gives no new one means the old one to be used on.
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
