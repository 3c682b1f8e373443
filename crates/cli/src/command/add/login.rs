//! Login during an import: prompts for the client secret, and stores the token.

use anyhow::{Result, bail};
use haft::StoreChoice;
use haft_import::mcp::OAuth;
use haft_import::{Import, SecretKind};
use haft_model::{Secret, Stop};

use super::mcp::ProbedServer;
use crate::{Context, command, output, prompt, who};

/// The credentials of a login.
#[derive(Default)]
pub(super) struct Got {
    /// The access token with its refresh token.
    pub(super) token: Option<Secret>,
    /// The OAuth client secret, for the authorization server.
    pub(super) client_secret: Option<Secret>,
}

/// Asks for the secret of a client, where there is one.
pub(super) fn client_secret(oauth: &OAuth) -> Result<Option<Secret>> {
    if !oauth.client_secret {
        return Ok(None);
    }
    match prompt::ask_hidden("secret of the client: ")? {
        Some(secret) => Ok(Some(secret)),
        None => bail!("nothing was typed; leave `--client-secret` out where there is none"),
    }
}

/// Stores the credentials: the login is the person's own, as `haft login` has it.
pub(super) async fn keep(context: &Context, import: &Import, asked: ProbedServer) -> Result<()> {
    let Got { token, client_secret } = asked.got;
    if token.is_none() && client_secret.is_none() {
        return Ok(());
    }
    let host = command::open(context, StoreChoice::Settings)?;
    let person = who::person(context, &host);
    let failed = |stop: Stop| anyhow::anyhow!("the login could not be kept: {}", stop.message);
    for secret in &import.secrets {
        match (secret.kind, &token, &client_secret) {
            (SecretKind::OAuth, Some(token), _) => {
                let kept = Some((secret.slug.clone(), token.clone()));
                let (driver, whose) = (&import.name, Some(&person.id));
                host.keep_login(driver, &person, whose, kept).await.map_err(failed)?;
                output::remark(format!("logged {} in to {driver}", person.id));
            }
            (SecretKind::Opaque, _, Some(proof)) => {
                let kept = host.keep_secret(&person, &secret.slug, None, proof.clone()).await;
                kept.map_err(failed)?;
            }
            (SecretKind::OAuth | SecretKind::Opaque, _, _) => {}
        }
    }
    Ok(())
}
