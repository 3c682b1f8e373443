//! `AUTH.md` (AIP-50): how one logs in to a service.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::host::{host_of, is_loopback};
use crate::read::{owned, shared, text};
use crate::shape::{check, documents};
use crate::source::Node;
use crate::{Report, Source, rules};

/// How one logs in to one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthFile {
    /// The file it came from.
    pub file: Arc<str>,
    /// The service's id.
    pub id: Arc<str>,
    /// What the service is.
    pub description: Arc<str>,
    /// Where its API is.
    pub api_base: Arc<str>,
    /// What the login is for.
    pub audience: Option<String>,
    /// How one logs in.
    pub flow: Flow,
    /// Where the token is kept.
    pub token_store: TokenStore,
    /// Where secrets are handed over.
    pub install: Option<Handover>,
}

/// A way to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flow {
    /// A token that somebody made by hand.
    Token,
    /// A claim that is exchanged for a token.
    Service {
        /// Who asks.
        client: String,
        /// Who is likely to log in.
        login_hint: Option<String>,
    },
    /// A code that a person types in elsewhere.
    Device {
        /// Who asks.
        client: String,
        /// What is asked for.
        scope: Option<String>,
        /// What the device is called.
        label: Option<String>,
    },
}

/// Where a token is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenStore {
    /// The name in the keychain.
    pub keychain: String,
    /// The account; `{server}` stands for the address.
    pub account: Option<String>,
}

/// Where secrets are handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// The path that gives the sealing key.
    pub seal_key: String,
    /// The path that takes the sealed secret.
    pub secret_backed: String,
}

/// Who asks, where a manifest does not say.
const DEFAULT_CLIENT: &str = "agentproto-cli";

/// Reads an AUTH.md's frontmatter.
pub(crate) fn read(source: &Source, node: &Node, report: &mut Report) -> Option<Arc<AuthFile>> {
    check(node, &documents::auth::AUTH, "U001", report);
    encrypted(node, report);
    from_node(source.file(), node).map(Arc::new)
}

/// A token sent in the clear is everybody's.
fn encrypted(node: &Node, report: &mut Report) {
    let Some(url) = text(node, "apiBase").filter(|url| url.starts_with("http://")) else { return };
    if !host_of(url).is_some_and(is_loopback) {
        report
            .add(&rules::U040, node.place(&["apiBase"]), format!("`{url}` is not encrypted"))
            .help("use https; http is for loopback");
    }
}

fn from_node(file: &Arc<str>, node: &Node) -> Option<AuthFile> {
    let auth = node.get("auth")?;
    let store = auth.get("tokenStore")?;
    let handover = |node: &Node| {
        Some(Handover {
            seal_key: owned(node, "sealKey")?,
            secret_backed: owned(node, "secretBacked")?,
        })
    };
    Some(AuthFile {
        file: file.clone(),
        id: shared(node, "id")?,
        description: shared(node, "description")?,
        api_base: shared(node, "apiBase")?,
        audience: owned(node, "audience"),
        flow: flow(auth)?,
        token_store: TokenStore {
            keychain: owned(store, "keychain")?,
            account: owned(store, "account"),
        },
        install: node.get("install").and_then(handover),
    })
}

fn flow(node: &Node) -> Option<Flow> {
    let client = || owned(node, "clientId").unwrap_or_else(|| DEFAULT_CLIENT.to_owned());
    match text(node, "flow")? {
        "pat" => Some(Flow::Token),
        "service-auth" => {
            Some(Flow::Service { client: client(), login_hint: owned(node, "loginHint") })
        }
        "device-code" => Some(Flow::Device {
            client: client(),
            scope: owned(node, "scope"),
            label: owned(node, "deviceLabel"),
        }),
        _ => None,
    }
}
