//! Secrets: where they are kept, and how one attempt gets at them.

use std::sync::Arc;

use haft_model::{Actor, Code, DriverId, EffectState, Plan, Secret, Stop, ToolKey};

use crate::{BoxFuture, Failure, Link};

/// Where secrets are kept. Whether somebody may have one is settled before anything is looked up.
pub trait Vault: Send + Sync {
    /// One secret, for whoever asked.
    fn open<'a>(
        &'a self,
        asked: SecretRequest<'a>,
    ) -> BoxFuture<'a, Result<OpenedSecret, Withheld>>;
}

/// Who wants which secret, and for what.
#[derive(Clone, Copy, Debug)]
pub struct SecretRequest<'a> {
    /// Its slug, or the name that templates have for it.
    pub name: &'a str,
    /// Who called.
    pub actor: &'a Actor,
    /// The contract that is served.
    pub tool: &'a ToolKey,
    /// What that contract and its call declare; a secret beside them stays closed.
    pub plan: &'a Plan,
    /// The driver that serves it.
    pub driver: &'a DriverId,
}

/// A secret that was opened.
#[derive(Clone, Debug)]
pub struct OpenedSecret {
    /// Which.
    pub slug: String,
    /// Its value.
    pub value: Secret,
}

/// A secret that stays closed.
#[derive(Clone, Debug)]
pub struct Withheld {
    /// Which, as far as it is known.
    pub slug: String,
    /// Why.
    pub stop: Stop,
}

/// The secrets that one attempt may open.
///
/// What was opened is on record before the driver has it, and is taken out of everything that comes
/// back from the attempt.
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

    /// One secret, by its slug or by the name that templates have for it.
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

    /// Takes a text that was made of secrets out of everything as well.
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

/// The failure of an attempt that got no secret.
pub(crate) fn closed(stop: Stop) -> Failure {
    Failure::new(stop, EffectState::NotSubmitted)
}
