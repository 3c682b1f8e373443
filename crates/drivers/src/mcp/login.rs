//! Logging in to a server elsewhere, by OAuth: who gives out logins is found out from the server, a
//! person agrees in a browser, and what comes back is one secret that renews itself.
//!
//! Nothing is stored or shown here: whoever logs somebody in keeps the [`Login`] in a vault, and gives
//! a driver the token of it.

use std::sync::Arc;
use std::time::Duration;

use haft_model::host::is_own;
use haft_model::{Code, Secret, Stop, Timestamp};
use haft_sandbox::AddressGuard;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
    CredentialStore as _, InMemoryCredentialStore, OAuthHttpClient, OAuthHttpClientError,
    OAuthHttpClientFuture, OAuthHttpRequest, StoredCredentials,
};

use serde_json::Value;

use super::tools::one_line;
use crate::http::reach;
use crate::login::{Callback, Step, Tell};
use crate::vault::{ServerLogin, Token};

use crate::web::{Lookup, Outgoing, Sending, Submitted, Way, look_up};

/// The largest answer of whoever gives out logins.
const MOST_BYTES: usize = 1 << 20;

/// What a login is asked for with.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// The server.
    pub url: String,
    /// Where a person is sent back to.
    pub redirect_uri: String,
    /// What it is to reach; what the server proposes where it is empty.
    pub scopes: Vec<String>,
    /// What we are known by, where somebody registered us.
    pub client_id: Option<String>,
    /// Where a document lies that says who we are, for those who read one.
    pub client_metadata_url: Option<String>,
}

/// A login that a person has to agree to.
pub struct Asked {
    session: AuthorizationSession,
    store: InMemoryCredentialStore,
}

/// A login: one text for a vault, and the token in it.
#[derive(Clone, Debug)]
pub struct Login {
    /// Everything that is needed to use and to renew it.
    pub kept: Secret,
    /// The token for requests.
    pub token: Secret,
}

impl Asked {
    /// Finds out who gives out logins for a server, introduces us there, and asks. The guard says
    /// which addresses may be reached; those of one's own network only where it opens them.
    pub async fn begin(wish: Wish, guard: AddressGuard) -> Result<Asked, Stop> {
        let store = InMemoryCredentialStore::new();
        let mut manager = manager(&wish.url, guard, &store).await.map_err(refused)?;
        let found = manager.resolve_metadata().await.map_err(refused)?;
        if !found.source.is_discovered() {
            let words = format!("`{}` does not say who gives out logins for it", wish.url);
            return Err(Stop::new(Code::SetupRequired, words).help("ask its operator for a token"));
        }
        manager.set_metadata(found.metadata);
        let mut request = AuthorizationRequest::new(wish.redirect_uri)
            .with_client_name("Haft")
            .with_application_type("native")
            .with_scopes(wish.scopes);
        if let Some(id) = wish.client_id {
            request = request.with_preregistered_client(id);
        }
        if let Some(place) = wish.client_metadata_url {
            request = request.with_client_metadata_url(place);
        }
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, fault)| refused(fault))?;
        Ok(Asked { session, store })
    }

    /// The address at which a person agrees.
    pub fn address(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Takes the whole address to which the person was sent back. It has to be an answer to this very
    /// question, by whoever was asked.
    pub async fn answered(self, sent_back_to: &str) -> Result<Login, Stop> {
        self.session.handle_callback_url(sent_back_to).await.map_err(refused)?;
        taken(&self.store).await
    }
}

/// Whether a driver talks with an MCP server elsewhere, where one may log in by a page.
pub fn is_elsewhere(manifest: &Value) -> bool {
    manifest.pointer("/server/kind").and_then(Value::as_str) == Some("remote")
}

/// The addresses that a login to the server of a driver may reach beside those of the guard: those of
/// one's own network that the driver names.
pub fn opened(guard: AddressGuard, manifest: &Value) -> AddressGuard {
    let url = manifest.pointer("/server/url").and_then(Value::as_str).unwrap_or_default();
    let egress: Vec<String> = texts(manifest.pointer("/network/egress"));
    reach::opened(guard, &egress, url)
}

/// Logs somebody in to the server of a driver: they open a page, agree, and are sent back. What comes
/// of it is for a vault.
pub async fn log_in(
    manifest: &Value,
    guard: &AddressGuard,
    clock: fn() -> Timestamp,
    tell: Tell<'_>,
    within: Duration,
) -> Result<Token, Stop> {
    let text = |place: &str| manifest.pointer(place).and_then(Value::as_str).map(str::to_owned);
    let url = text("/server/url").unwrap_or_default();
    let callback = Callback::open().await?;
    let wish = Wish {
        url: url.clone(),
        redirect_uri: callback.address(),
        scopes: texts(manifest.pointer("/server/auth/scopes")),
        client_id: text("/server/auth/client_id"),
        client_metadata_url: None,
    };
    let back = callback.address();
    let asked = Asked::begin(wish, opened(guard.clone(), manifest)).await?;
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

fn texts(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

impl Login {
    /// The same as a vault keeps it.
    pub(crate) fn token_of(&self, url: &str, now: Timestamp) -> Result<Token, Stop> {
        let kept: Value = serde_json::from_str(self.kept.expose()).unwrap_or_default();
        let given = kept.get("token_response").and_then(|answer| Token::given(answer, now));
        let given = given.ok_or_else(|| refused(AuthError::AuthorizationRequired))?;
        // It counts from when it was given out, which may be a while ago.
        let received = kept.get("token_received_at").and_then(Value::as_i64);
        let seconds = kept.pointer("/token_response/expires_in").and_then(Value::as_i64);
        let until = received.zip(seconds).and_then(|(from, good)| from.checked_add(good));
        let until = until.and_then(|until| Timestamp::from_second(until).ok());
        let server = ServerLogin { url: url.to_owned(), kept: self.kept.clone() };
        Ok(Token { refresh: None, until: until.or(given.until), server: Some(server), ..given })
    }

    /// A login that was kept, with a token that is good for a while. `kept` may be another afterwards:
    /// whoever keeps it, keeps that.
    pub async fn renewed(url: &str, kept: &Secret, guard: AddressGuard) -> Result<Login, Stop> {
        let stored: StoredCredentials = serde_json::from_str(kept.expose()).map_err(|_| {
            let words = "what is kept of the login cannot be read";
            Stop::new(Code::CredentialMissing, words).help("log in again")
        })?;
        let store = InMemoryCredentialStore::new();
        store.save(stored).await.map_err(refused)?;
        let mut manager = manager(url, guard, &store).await.map_err(refused)?;
        if !manager.initialize_from_store().await.map_err(refused)? {
            return Err(refused(AuthError::AuthorizationRequired));
        }
        manager.get_access_token().await.map_err(refused)?;
        taken(&store).await
    }
}

async fn manager(
    url: &str,
    guard: AddressGuard,
    store: &InMemoryCredentialStore,
) -> Result<AuthorizationManager, AuthError> {
    let client = Arc::new(Guarded { guard, lookup: look_up });
    let mut manager = AuthorizationManager::new_with_oauth_http_client(url, client).await?;
    manager.set_credential_store(store.clone());
    Ok(manager)
}

/// What a store holds, as one text and the token in it.
async fn taken(store: &InMemoryCredentialStore) -> Result<Login, Stop> {
    let stored = store.load().await.map_err(refused)?;
    let text = serde_json::to_value(&stored).unwrap_or_default();
    let token = text.pointer("/token_response/access_token").and_then(|token| token.as_str());
    let token = token.ok_or_else(|| refused(AuthError::AuthorizationRequired))?;
    Ok(Login { token: Secret::new(token.to_owned()), kept: Secret::new(text.to_string()) })
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

/// Requests of a login, by the rules of every other request of ours.
struct Guarded {
    guard: AddressGuard,
    lookup: Lookup,
}

impl OAuthHttpClient for Guarded {
    fn execute(&self, asked: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let (parts, body) = asked.request.into_parts();
            let url = self.guard.check_url(&parts.uri.to_string())?;
            if url.is_plain() && !is_own(url.host()) {
                return Err(format!("`{}` is not encrypted", url.host()).into());
            }
            let (method, headers) = (parts.method, parts.headers);
            let body = (!body.is_empty()).then_some(body);
            let request = Outgoing { method, url, headers, body };
            let sending = Arc::new(Sending::silent());
            let way = Way {
                guard: &self.guard,
                lookup: self.lookup,
                sending: &sending,
                submitted: Submitted::OnWrite,
            };
            let unanswered =
                |_| OAuthHttpClientError::from("whoever gives out logins cannot be reached");
            let mut answer = way.send(&request).await.map_err(unanswered)?;
            let read = answer.body(MOST_BYTES).await.map_err(unanswered)?;
            if read.cut {
                return Err("the answer of whoever gives out logins is too large".into());
            }
            let mut response = http::Response::new(read.bytes);
            *response.status_mut() = answer.status();
            *response.headers_mut() = answer.head.headers().clone();
            Ok(response)
        })
    }
}
