//! Request secrets: collects the secrets that an operation names, and opens them for one attempt.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_contract::driver::manifest::BasicLogin;
use haft_driver::{Failure, Safe};
use haft_model::{Code, Secret, Stop};
use haft_notation::{Expression, Template};
use reqwest::header::HeaderValue;
use serde_json::{Value, json};

use super::operation::Operation;
use crate::failure::{running, unsent};

/// Placeholder of a secret while a request is only validated.
const STAND_IN: &str = "secret";

/// The secrets of one request.
pub(super) enum Secrets {
    /// Placeholders, for validation without opening a secret.
    StandIns,
    /// The opened secrets by name, and the encoded credentials for basic authentication.
    Opened(BTreeMap<String, Secret>, Option<Secret>),
}

impl Secrets {
    /// Opens the secrets of an operation.
    pub(super) async fn open(safe: &Safe<'_>, operation: &Operation) -> Result<Secrets, Failure> {
        let mut opened = BTreeMap::new();
        for name in &operation.secrets {
            opened.insert(name.clone(), safe.open(name).await?);
        }
        let login = match &operation.basic {
            Some(basic) => Some(credentials(basic, &opened)?),
            None => None,
        };
        if let Some(login) = &login {
            safe.hide(login).await;
        }
        Ok(Secrets::Opened(opened, login))
    }

    /// The `secrets` object of the template context.
    pub(super) fn scope(&self, operation: &Operation) -> Value {
        let value = |name: &String| match self {
            Secrets::StandIns => json!(STAND_IN),
            Secrets::Opened(opened, _) => json!(opened.get(name).map(Secret::expose)),
        };
        operation.secrets.iter().map(|name| (name.clone(), value(name))).collect()
    }

    /// The `Authorization` header for basic authentication.
    pub(super) fn login(&self) -> Option<HeaderValue> {
        let Secrets::Opened(_, Some(login)) = self else { return None };
        let value = HeaderValue::from_str(&format!("Basic {}", login.expose())).ok();
        value.map(sensitive)
    }
}

/// Marks a header value as sensitive, so that the HTTP client does not show it.
pub(super) fn sensitive(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

/// Whether a template contains a secret.
pub(super) fn are_in(template: &Template) -> bool {
    template.expressions().any(is_secret)
}

fn is_secret(expression: &Expression) -> bool {
    expression.root() == "secrets"
}

/// The base64 credentials after `Basic`.
fn credentials(login: &BasicLogin, opened: &BTreeMap<String, Secret>) -> Result<Secret, Failure> {
    let value = |name: &str| opened.get(name).map_or("", Secret::expose);
    let user = value(&login.user);
    if user.contains(':') {
        let words = format!("`{}` holds a colon, which no user name can have", login.user);
        return Err(unsent(running(Code::CredentialMissing, words)));
    }
    Ok(Secret::new(STANDARD.encode(format!("{user}:{}", value(&login.password)))))
}

/// The names of an operation's secrets; a driver that declares a login must use one.
pub(super) fn wanted(
    operation: &Operation,
    driver: &str,
    has_login: bool,
) -> Result<BTreeSet<String>, Stop> {
    let mut names = BTreeSet::new();
    for expression in operation.expressions().iter().filter(|used| is_secret(used)) {
        let [_, name] = &expression.path[..] else {
            let written = expression.path.join(".");
            let words = format!("driver `{driver}`: `{written}` names no secret");
            return Err(Stop::new(Code::SetupRequired, words).help("write `${secrets.NAME}`"));
        };
        names.insert(name.clone());
    }
    if let Some(BasicLogin { user, password }) = &operation.basic {
        names.extend([user.clone(), password.clone()]);
    }
    match has_login && names.is_empty() {
        true => Err(left_out(driver)),
        false => Ok(names),
    }
}

/// The refusal of a request that would omit the login that its driver declares.
fn left_out(driver: &str) -> Stop {
    let words = format!("driver `{driver}` declares a login, and this request carries none of it");
    Stop::new(Code::CredentialMissing, words)
        .help("write `${secrets.NAME}` where it belongs, or say `metadata.haft.basic`")
}
