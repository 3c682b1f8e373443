//! OAuth authorization request: discovers the authorization server, selects or registers a client,
//! and chooses the scopes.

use std::sync::Arc;

use haft_model::{Code, Secret, Stop};
use haft_sandbox::AddressGuard;
use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationRequest, AuthorizationSession, InMemoryCredentialStore,
};
use serde_json::Value;

use super::guarded_client::AllowlistedClient;
use super::{McpLogin, refused, taken};

/// The client name for dynamic registration.
const NAME: &str = "Haft";

/// The parameters of a login.
#[derive(Clone, Debug, Default)]
pub struct LoginRequest {
    /// The URL of the MCP server.
    pub url: String,
    /// The redirect URI of the callback.
    pub redirect_uri: String,
    /// The requested scopes; empty for those that the server proposes.
    pub scopes: Vec<String>,
    /// Further scopes: those of the previous login, and those that a call lacked.
    pub kept: Vec<String>,
    /// The OAuth client to use.
    pub client: RegisteredClient,
}

/// The OAuth client, where it was registered beforehand.
#[derive(Clone, Debug, Default)]
pub struct RegisteredClient {
    /// The client id; `None` for dynamic registration or a metadata document.
    pub id: Option<String>,
    /// The client secret of a confidential client.
    pub secret: Option<Secret>,
    /// The URL of a client id metadata document, for authorization servers that support it.
    pub document: Option<String>,
}

/// An authorization that a person has to grant.
pub struct PendingAuthorization {
    session: AuthorizationSession,
    store: InMemoryCredentialStore,
    secret: Option<Secret>,
}

impl PendingAuthorization {
    /// Discovers the authorization server, registers the client where needed, and starts the
    /// authorization. The guard limits the addresses; those of the local network only where it
    /// opens them.
    pub async fn begin(
        wish: LoginRequest,
        guard: AddressGuard,
    ) -> Result<PendingAuthorization, Stop> {
        let store = InMemoryCredentialStore::new();
        let (mut manager, reads) = manager(&wish.url, guard, &store).await?;
        let scopes = reaching(&manager, &wish).await;
        let request = AuthorizationRequest::new(&wish.redirect_uri)
            .with_client_name(NAME)
            .with_application_type("native")
            .with_initial_scope_selection()
            .with_scopes(scopes.clone());
        let client = match &wish.client {
            known if known.id.is_some() || (known.document.is_some() && reads) => known.clone(),
            _ => registered(&mut manager, &wish, &scopes).await?,
        };
        let request = match (&client.id, &client.secret, client.document) {
            (Some(id), Some(secret), _) => {
                request.with_preregistered_client(id).with_client_secret(secret.expose())
            }
            (Some(id), None, _) => request.with_preregistered_client(id),
            (None, _, Some(place)) => request.with_client_metadata_url(place),
            (None, _, None) => request,
        };
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, fault)| refused(fault))?;
        Ok(PendingAuthorization { session, store, secret: client.secret })
    }

    /// The URL of the authorization page.
    pub fn address(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Exchanges the code of the callback URL for a token. It must answer this very request, and
    /// come from the authorization server that was asked.
    pub async fn answered(self, sent_back_to: &str) -> Result<McpLogin, Stop> {
        self.session.handle_callback_url(sent_back_to).await.map_err(refused)?;
        taken(&self.store, self.secret.as_ref()).await
    }
}

/// Discovers the authorization server; the flag says whether it reads client metadata documents.
pub(super) async fn manager(
    url: &str,
    guard: AddressGuard,
    store: &InMemoryCredentialStore,
) -> Result<(AuthorizationManager, bool), Stop> {
    let client = AllowlistedClient::of(url, guard);
    let challenge = client.knock(url).await;
    let made = AuthorizationManager::new_with_oauth_http_client(url, Arc::new(client)).await;
    let mut manager = made.map_err(refused)?;
    manager.set_credential_store(store.clone());
    let found = manager.resolve_metadata_from_challenge(challenge.as_deref()).await;
    let found = found.map_err(refused)?;
    if !found.source.is_discovered() {
        let words = format!("`{url}` does not say who gives out logins for it");
        return Err(Stop::new(Code::SetupRequired, words).help("ask its operator for a token"));
    }
    let reads = found.metadata.additional_fields.get("client_id_metadata_document_supported");
    let reads = reads.and_then(Value::as_bool) == Some(true);
    manager.set_metadata(found.metadata);
    Ok((manager, reads))
}

/// Selects the scopes: the driver's or the server's proposal, plus those of the previous login.
async fn reaching(manager: &AuthorizationManager, wish: &LoginRequest) -> Vec<String> {
    let mut scopes = wish.scopes.clone();
    if scopes.is_empty() {
        scopes = manager.select_initial_scopes(&[]).await;
    }
    for scope in &wish.kept {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    scopes
}

/// Dynamic client registration. The stored login keeps the client, because a refresh needs it.
async fn registered(
    manager: &mut AuthorizationManager,
    wish: &LoginRequest,
    scopes: &[String],
) -> Result<RegisteredClient, Stop> {
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let client = manager.register_client(NAME, &wish.redirect_uri, &scopes).await;
    let client = client.map_err(|fault| {
        let help = "have it registered there, and name it under `server.auth.client_id`";
        refused(fault).help(help)
    })?;
    let secret = client.client_secret.map(Secret::new);
    Ok(RegisteredClient { id: Some(client.client_id), secret, document: None })
}
