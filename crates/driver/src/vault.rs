//! Secret access: the vault port, and the secrets that one attempt may open.

use std::sync::Arc;

use haft_model::{Actor, Code, DriverId, EffectState, Plan, Secret, Stop, ToolKey};

use crate::{BoxFuture, Failure, Link};

/// Secret store. INVARIANT: it checks access before it looks a secret up.
pub trait Vault: Send + Sync {
    /// Opens one secret for a request.
    fn open<'a>(
        &'a self,
        asked: SecretRequest<'a>,
    ) -> BoxFuture<'a, Result<OpenedSecret, Withheld>>;
}

/// Request for a secret, with everything that access depends on.
#[derive(Clone, Copy, Debug)]
pub struct SecretRequest<'a> {
    /// Slug, or the name that templates use.
    pub name: &'a str,
    /// Calling actor.
    pub actor: &'a Actor,
    /// Contract of the call.
    pub tool: &'a ToolKey,
    /// Plan of the call; a secret that neither the contract nor the call declares stays closed.
    pub plan: &'a Plan,
    /// Driver that runs the call.
    pub driver: &'a DriverId,
}

/// An opened secret.
#[derive(Clone, Debug)]
pub struct OpenedSecret {
    /// Slug of the secret.
    pub slug: String,
    /// Value of the secret.
    pub value: Secret,
}

/// Refusal of a secret.
#[derive(Clone, Debug)]
pub struct Withheld {
    /// Slug of the secret, or the requested name if it is unknown.
    pub slug: String,
    /// Reason of the refusal.
    pub stop: Stop,
}

/// Secrets that one attempt may open.
///
/// The ledger records each opening before the driver has the secret, and redaction removes the
/// secret from everything that the attempt returns.
#[derive(Clone)]
pub struct Safe<'a> {
    plan: &'a Plan,
    link: Link,
    vault: Option<Arc<dyn Vault>>,
}

impl<'a> Safe<'a> {
    pub(crate) fn new(plan: &'a Plan, link: Link, vault: Option<Arc<dyn Vault>>) -> Safe<'a> {
        Safe { plan, link, vault }
    }

    /// Opens one secret, by slug or by the name that templates use.
    pub async fn open(&self, name: &str) -> Result<Secret, Failure> {
        let outcome = match &self.vault {
            Some(vault) => vault.open(self.asked(name)).await,
            None => Err(nowhere(name)),
        };
        let (slug, outcome) = match outcome {
            Ok(OpenedSecret { slug, value }) => (slug, Ok(value)),
            Err(Withheld { slug, stop }) => (slug, Err(stop)),
        };
        self.link.wanted(slug, outcome).await
    }

    /// Adds a text derived from secrets to the redaction.
    pub async fn hide(&self, made: &Secret) {
        self.link.hide(made.clone()).await;
    }

    fn asked<'b>(&'b self, name: &'b str) -> SecretRequest<'b> {
        let plan = self.plan;
        SecretRequest {
            name,
            actor: &plan.actor,
            tool: &plan.tool,
            plan,
            driver: &plan.route.driver,
        }
    }
}

impl std::fmt::Debug for Safe<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Safe")
    }
}

fn nowhere(name: &str) -> Withheld {
    let words = format!("`{name}` cannot be opened: this host keeps no secrets");
    let stop = Stop::new(Code::CredentialMissing, words)
        .help("list the secret in a SECRETS.md, or hand the host a vault");
    Withheld { slug: name.to_owned(), stop }
}

/// Failure of an attempt without its secret.
pub(crate) fn closed(stop: Stop) -> Failure {
    Failure::new(stop, EffectState::NotSubmitted)
}
