//! Tool discovery: asks an MCP server for its `tools/list` before there is a driver for it.

use std::path::Path;
use std::time::Duration;

use haft_contract::DriverManifest;
use haft_contract::driver::manifest::{KindFields, RemoteLogin, ServerLocation};
use haft_drivers::{Tell, Token, WorkingFolder, mcp};
use haft_model::{Code, LoginFailure, Secret, Stop, Timestamp};
use haft_sandbox::{AddressGuard, Launcher, Walls};
use serde_json::Value;

/// Timeout for a server to start and to list its tools.
const LONGEST: Duration = Duration::from_secs(30);

/// Timeout for a person at the page of a login.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// The most logins in a row, where the server wants another one each time.
const MOST_LOGINS: usize = 3;

/// A server that is asked for its tools, before there is a driver for it.
pub struct Stranger<'a> {
    /// The folder that a program sees to read.
    pub root: &'a Path,
    /// A driver of kind mcp as far as it says where the server is.
    pub manifest: DriverManifest,
    /// The OAuth client secret, where the manifest names a registered client.
    pub client_secret: Option<Secret>,
}

impl Stranger<'_> {
    /// Asks for the tools. A program runs confined.
    pub async fn tools(&self) -> Result<Value, Stop> {
        let mut manifest = self.manifest.clone();
        // The client's credentials are for the authorization server; the MCP server sees a token or
        // nothing.
        if let Some(auth) = login(&mut manifest) {
            auth.take_if(|auth| auth.bearer.is_none());
        }
        mcp::list(manifest, self.place(), LONGEST).await
    }

    /// Like `tools`, for a server that may want a login: `tell` shows a person which page to open,
    /// and the caller gets the token to store.
    pub async fn tools_with_login(
        &mut self,
        tell: Tell<'_>,
    ) -> Result<(Value, Option<Secret>), Stop> {
        let mut token: Option<Token> = None;
        for _ in 0..MOST_LOGINS {
            let stop = match self.tools().await {
                Ok(answer) => return Ok((answer, token.map(|token| token.written()))),
                Err(stop) => stop,
            };
            let Some(scopes) = lacking(&stop, token.as_ref()) else { return Err(stop) };
            let before = mcp::Before { client_secret: self.client_secret.clone(), scopes };
            let guard = self.place().guard;
            let given = mcp::log_in(&self.manifest, before, &guard, Timestamp::now, tell, PATIENCE);
            let given = given.await?;
            if let Some(auth) = login(&mut self.manifest) {
                let bearer = Some(given.access.expose().to_owned());
                auth.get_or_insert_default().bearer = bearer;
            }
            token = Some(given);
        }
        self.tools().await.map(|answer| (answer, token.map(|token| token.written())))
    }

    fn place(&self) -> WorkingFolder {
        WorkingFolder {
            root: self.root.to_owned(),
            hidden: vec![".haft".into()],
            programs: Vec::new(),
            walls: Walls::here(Launcher::own()),
            guard: AddressGuard::public(),
            variable: |name| std::env::var(name).ok(),
            secrets: Default::default(),
        }
    }
}

/// The scopes that a login needs to help; `None` where no login would. A person who has every scope
/// that the server asks for gains nothing from another login.
fn lacking(stop: &Stop, token: Option<&Token>) -> Option<Vec<String>> {
    let held = token.map(Token::scopes).unwrap_or_default();
    match stop.cause.login() {
        Some(LoginFailure::Expired) if stop.code == Code::CredentialMissing => Some(held),
        Some(LoginFailure::Insufficient) => {
            let asked = stop.cause.scopes().iter();
            let lacked: Vec<String> =
                asked.filter(|scope| !held.contains(scope)).cloned().collect();
            (!lacked.is_empty()).then(|| [held, lacked].concat())
        }
        Some(_) | None => None,
    }
}

/// The login of a remote server.
fn login(manifest: &mut DriverManifest) -> Option<&mut Option<RemoteLogin>> {
    let KindFields::Mcp(fields) = &mut manifest.kind else { return None };
    match &mut fields.server {
        ServerLocation::Remote { auth, .. } => Some(auth),
        ServerLocation::Binary { .. }
        | ServerLocation::Npm { .. }
        | ServerLocation::Docker { .. } => None,
    }
}
