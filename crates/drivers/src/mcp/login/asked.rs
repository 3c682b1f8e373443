//! A login that somebody is asked for: who gives it out, who we are there, and how far it reaches.

use std::sync::Arc;

use haft_model::{Code, Secret, Stop};
use haft_sandbox::AddressGuard;
use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationRequest, AuthorizationSession, InMemoryCredentialStore,
};
use serde_json::Value;

use super::guarded::AllowlistedClient;
use super::{McpLogin, refused, taken};

/// What we are called where we introduce ourselves.
const NAME: &str = "Haft";

/// What a login is asked for with.
#[derive(Clone, Debug, Default)]
pub struct LoginRequest {
    /// The server.
    pub url: String,
    /// Where a person is sent back to.
    pub redirect_uri: String,
    /// What it is to reach; what the server proposes where it is empty.
    pub scopes: Vec<String>,
    /// What it is to reach beside that: what it reached before, and what a call lacked.
    pub kept: Vec<String>,
    /// Who we are to whoever gives out logins.
    pub client: RegisteredClient,
}

/// Who we are to whoever gives out logins, where that was settled before.
#[derive(Clone, Debug, Default)]
pub struct RegisteredClient {
    /// What we are known by, where somebody registered us.
    pub id: Option<String>,
    /// What proves it, where something does.
    pub secret: Option<Secret>,
    /// Where a document lies that says who we are, for those who read one.
    pub document: Option<String>,
}

/// A login that a person has to agree to.
pub struct PendingAuthorization {
    session: AuthorizationSession,
    store: InMemoryCredentialStore,
    secret: Option<Secret>,
}

impl PendingAuthorization {
    /// Finds out who gives out logins for a server, introduces us there, and asks. The guard says
    /// which addresses may be reached; those of one's own network only where it opens them.
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

    /// The address at which a person agrees.
    pub fn address(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Takes the whole address to which the person was sent back. It has to be an answer to this very
    /// question, by whoever was asked.
    pub async fn answered(self, sent_back_to: &str) -> Result<McpLogin, Stop> {
        self.session.handle_callback_url(sent_back_to).await.map_err(refused)?;
        taken(&self.store, self.secret.as_ref()).await
    }
}

/// Somebody who knows who gives out logins for a server, and whether documents are read there.
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

/// How far a login is to reach: as far as the driver says or the server proposes, and never less far
/// than it did before.
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

/// Registers us. What we registered as is kept with the login, because it renews it too.
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
