//! Login flow: `AUTH.md` (AIP-50), the flow and the token store of a service.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::host::{host_of, is_loopback};
use crate::read::{owned, shared, text};
use crate::shape::{check, documents};
use crate::source::Node;
use crate::{Report, Source, rules};

/// The login flow of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthFile {
    /// The file it came from.
    pub file: Arc<str>,
    /// The service's id.
    pub id: Arc<str>,
    /// The description of the service.
    pub description: Arc<str>,
    /// The base URL of the service's API.
    pub api_base: Arc<str>,
    /// The audience that the token is for.
    pub audience: Option<String>,
    /// The login flow.
    pub flow: Flow,
    /// The keychain entry that stores the token.
    pub token_store: TokenStore,
    /// The endpoints that take sealed secrets.
    pub install: Option<Handover>,
}

/// A login flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flow {
    /// A token that a person creates by hand.
    Token,
    /// A claim that the client exchanges for a token.
    Service {
        /// The client id.
        client: String,
        /// The account that the login page suggests.
        login_hint: Option<String>,
    },
    /// Device authorization: a person types a code in on another device.
    Device {
        /// The client id.
        client: String,
        /// The scope that the client requests.
        scope: Option<String>,
        /// The label under which the service lists the device.
        label: Option<String>,
    },
}

/// The keychain entry that stores a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenStore {
    /// The name in the keychain.
    pub keychain: String,
    /// The account in the keychain; `{server}` stands for the address.
    pub account: Option<String>,
}

/// The endpoints that take sealed secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// The path that gives the sealing key.
    pub seal_key: String,
    /// The path that takes the sealed secret.
    pub secret_backed: String,
}

/// The client id of a manifest that names none.
const DEFAULT_CLIENT: &str = "agentproto-cli";

/// Reads an AUTH.md's frontmatter.
pub(crate) fn read(source: &Source, node: &Node, report: &mut Report) -> Option<Arc<AuthFile>> {
    check(node, &documents::auth::AUTH, "U001", report);
    encrypted(node, report);
    from_node(source.file(), node).map(Arc::new)
}

/// Reports an unencrypted API address: every hop on the way can read the token.
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
