//! Conformance client: adds the suite's server as `haft add mcp` does and calls its tools as
//! `haft call` does, for a person who approves everything.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use haft::{Attending, Host, HostOptions, LoadOptions, Step, StoreChoice, Stranger, Workspace};
use haft_contract::DriverManifest;
use haft_driver::BoxFuture;
use haft_import::mcp::{self, McpOptions, OAuth, ServerSource};
use haft_import::{Import, SecretKind};
use haft_model::{Actor, Call, DriverKind, Envelope, LoginFailure, Question, Secret};
use haft_runtime::{CallOptions, Prompt, Reply};
use serde_json::Value;

use crate::browser;
use crate::form::Person;
use crate::sample;

/// What the driver is called.
const DRIVER: &str = "suite";

/// The client metadata document that the suite names. Neither side fetches it.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// How often a call is made again after a login.
const MOST_LOGINS: usize = 3;

type Failed = Box<dyn Error>;

/// Adds the server at an address and calls what the suite wants called.
pub(crate) async fn run(url: &str) -> Result<(), Failed> {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let text = |name: &str| context.get(name).and_then(Value::as_str).map(str::to_owned);
    let secret = text("client_secret").map(Secret::new);
    let login = OAuth {
        client_id: text("client_id"),
        client_secret: secret.is_some(),
        document: Some(DOCUMENT.to_owned()),
    };
    let mut server = ServerSource::Remote {
        url: url.to_owned(),
        headers: Default::default(),
        sse: false,
        login: Some(login),
    };
    let folder = tempfile::tempdir()?;
    let manifest = mcp::asked(&server).ok_or("the address holds a secret")?;
    let manifest = DriverManifest::from_json(DriverKind::Mcp, &manifest);
    let manifest = manifest.map_err(|stop| stop.message)?;
    let mut stranger = Stranger { root: folder.path(), manifest, client_secret: secret.clone() };
    let (list, token) = stranger.tools_with_login(&tell).await.map_err(|stop| stop.message)?;
    if let (ServerSource::Remote { login, .. }, None) = (&mut server, &token) {
        *login = None;
    }
    let id = Some(DRIVER.to_owned());
    let options = McpOptions { id, keep_names: true, ..McpOptions::default() };
    let import = match mcp::import(&list, &server, &options) {
        Ok(import) => import,
        // A list without anything that could be called is an answer as well.
        Err(haft_import::Error::Empty(_)) => return Ok(()),
        Err(fault) => return Err(fault.into()),
    };
    let session = Session::open(folder.path(), &import, token, secret).await?;
    for (name, input) in sample::calls(&list, &context, &session.host) {
        session.call(&name, input).await?;
    }
    Ok(())
}

/// The workspace, and the person who works in it.
struct Session {
    host: Host,
    owner: Actor,
}

impl Session {
    async fn open(
        folder: &Path,
        import: &Import,
        token: Option<Secret>,
        client_secret: Option<Secret>,
    ) -> Result<Session, Failed> {
        fs::write(folder.join("haft.toml"), "[workspace]\nname = \"suite\"\n")?;
        for file in &import.files {
            let path = folder.join(&file.path);
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(path, &file.text)?;
        }
        // The suite stands in for the person who ran `haft add`.
        Workspace::load(folder, LoadOptions::default())?.accept(None)?;
        let secrets_key = Some(folder.join("secrets.key"));
        let store = StoreChoice::Memory;
        let host =
            Host::open(folder, HostOptions { store, secrets_key, ..HostOptions::default() })?;
        let owner = host.owner("suite");
        for secret in &import.secrets {
            let kept = match (secret.kind, &token, &client_secret) {
                (SecretKind::OAuth, Some(token), _) => {
                    let kept = Some((secret.slug.clone(), token.clone()));
                    host.keep_login(DRIVER, &owner, Some(&owner.id), kept).await
                }
                (SecretKind::Opaque, _, Some(proof)) => {
                    let kept = host.keep_secret(&owner, &secret.slug, None, proof.clone());
                    kept.await.map(drop)
                }
                (SecretKind::OAuth | SecretKind::Opaque, _, _) => Ok(()),
            };
            kept.map_err(|stop| stop.message)?;
        }
        Ok(Session { host, owner })
    }

    /// Calls a tool. Where the server wants a login, or one that reaches further, the person logs in
    /// and the call is made again.
    async fn call(&self, name: &str, input: Value) -> Result<(), Failed> {
        for _ in 0..MOST_LOGINS {
            let ended = self.called(name, input.clone()).await;
            let Some(error) = ended.error else { return Ok(()) };
            let login = error.cause.login();
            if !matches!(login, Some(LoginFailure::Expired | LoginFailure::Insufficient)) {
                return Err(format!("{name}: {}", error.message).into());
            }
            let person = Attending { tell: &tell, ask: &|_| Ok(None), attend: None };
            let (owner, whose) = (&self.owner, Some(&self.owner.id));
            let logged_in = self.host.log_in(DRIVER, owner, whose, Some(person)).await;
            logged_in.map_err(|stop| stop.message)?;
        }
        Err(format!("{name}: the server wants another login each time").into())
    }

    async fn called(&self, name: &str, input: Value) -> Envelope {
        let call = Call::new(self.owner.clone(), name, input);
        let agrees = Agrees(self.owner.clone());
        let manner = CallOptions {
            prompt: Some(&agrees),
            caller: Some(Arc::new(Person::default())),
            ..CallOptions::default()
        };
        self.host.runtime().call(call, manner).await
    }
}

/// An approver who approves every call.
struct Agrees(Actor);

impl Prompt for Agrees {
    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<Reply>> {
        let reply = Reply {
            by: self.0.clone(),
            approves: true,
            reason: None,
            edited_input: None,
            content: None,
            always: false,
            channel: "terminal".to_owned(),
        };
        Box::pin(async move { Some(reply) })
    }
}

/// What a person is told to do, they do.
fn tell(step: Step) {
    if let Step::Open { url } = step {
        std::thread::spawn(move || browser::visit(&url));
    }
}
