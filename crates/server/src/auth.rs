//! Authentication: establishes the actor of a request, or refuses it.

mod hosts;
mod keys;
mod metadata;
mod oauth;
mod streams;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use haft_model::{Actor, Secret, Stop};

use crate::AppState;
use crate::rest::Problem;
pub(crate) use hosts::AllowedHosts;
use hosts::Foreign;
pub(crate) use metadata::router as metadata;
pub(crate) use oauth::Issuer;
pub use oauth::{Fetch, OAuth};

/// Whether proxies add this header. The family counts and not the single name: a proxy that adds
/// one of them stands between us and the caller, whatever else it leaves out.
fn is_forwarding(name: &str) -> bool {
    const NAMES: [&str; 6] =
        ["forwarded", "via", "cdn-loop", "x-proxyuser-ip", "x-arr-ssl", "x-amzn-trace-id"];
    const FAMILIES: [&str; 9] = [
        "x-forwarded",
        "cf-",
        "x-original-",
        "x-envoy-",
        "x-azure-",
        "x-vercel-",
        "fly-",
        "fastly-",
        "x-appengine-",
    ];
    NAMES.contains(&name)
        || FAMILIES.iter().any(|family| name.starts_with(family))
        || ["client-ip", "real-ip", "remote-ip"].iter().any(|said| name.contains(said))
}

/// Authenticates requests, and checks the hosts they are addressed to.
pub(crate) struct Doorkeeper {
    pub(crate) desk: Arc<AppState>,
    /// Host names under which the server answers.
    pub(crate) names: AllowedHosts,
    /// Allow anonymous: whether a request without a token is admitted, as the default actor.
    pub(crate) strangers: bool,
    /// Authorization server whose access tokens are accepted, beside our own tokens.
    pub(crate) issuer: Option<Arc<Issuer>>,
}

/// Why authentication refuses a request.
enum AuthRefusal {
    /// It has no credentials.
    Nothing,
    /// Its credentials are invalid.
    NotGood(&'static str),
    /// Its token is valid and grants no role here.
    Insufficient,
    /// The ledger or the issuer could not be asked.
    Unknown(Stop),
}

/// DNS rebinding and CSRF protection: refuses requests for other hosts or from other origins.
pub(crate) async fn check_names(
    State(keeper): State<Arc<Doorkeeper>>,
    request: Request,
    next: Next,
) -> Response {
    match keeper.names.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(Foreign { status, words }) => Problem::of_wire(status, words).into_response(),
    }
}

/// Middleware: adds the authenticated actor to a request, or refuses it.
pub(crate) async fn establish(
    State(keeper): State<Arc<Doorkeeper>>,
    mut request: Request,
    next: Next,
) -> Response {
    let shown = match keeper.shown(request.headers()).await {
        Ok(shown) => shown,
        Err(refusal) => return keeper.refused(refusal, request.headers()),
    };
    request.extensions_mut().insert(shown.actor.clone());
    let response = next.run(request).await;
    shown.seen_out(response, &keeper)
}

/// An authenticated actor, and the token that the request carried.
pub(crate) struct Credentials {
    pub(crate) actor: Arc<Actor>,
    token: Option<Secret>,
}

impl Credentials {
    /// The response, which ends when the credentials are revoked.
    pub(crate) fn seen_out(self, response: Response, keeper: &Arc<Doorkeeper>) -> Response {
        match self.token {
            Some(token) => streams::guarded(response, keeper.clone(), self.actor, token),
            None => response,
        }
    }
}

impl Doorkeeper {
    /// The credentials of a request, where it is addressed to us and authenticated; on `None` the
    /// routes answer with the refusal.
    pub(crate) async fn admitted(&self, uri: &Uri, headers: &HeaderMap) -> Option<Credentials> {
        self.names.check(uri, headers).ok()?;
        self.shown(headers).await.ok()
    }

    async fn shown(&self, headers: &HeaderMap) -> Result<Credentials, AuthRefusal> {
        let token = bearer(headers)?.map(|text| Secret::new(text.to_owned()));
        let actor = match &token {
            Some(token) => self.bearer(token.expose()).await?,
            None => self.stranger(headers)?,
        };
        Ok(Credentials { actor: Arc::new(actor), token })
    }

    /// The actor of a request without a token.
    fn stranger(&self, headers: &HeaderMap) -> Result<Actor, AuthRefusal> {
        // Behind a proxy every caller looks local.
        let direct = !headers.keys().any(|name| is_forwarding(name.as_str()));
        match self.strangers && direct {
            true => Ok(self.desk.world().people.stranger()),
            false => Err(AuthRefusal::Nothing),
        }
    }

    /// The actor of a bearer token.
    async fn bearer(&self, token: &str) -> Result<Actor, AuthRefusal> {
        let found = self.desk.runtime.bearer(token).await.map_err(AuthRefusal::Unknown)?;
        match (found, &self.issuer) {
            (Some(actor), _) => Ok(actor),
            (None, Some(issuer)) if !is_ours(token) => {
                issuer.bearer(token, &self.desk.world().people).await
            }
            (None, _) => Err(AuthRefusal::NotGood("this token is not in force")),
        }
    }

    fn refused(&self, refusal: AuthRefusal, headers: &HeaderMap) -> Response {
        let (status, words, error) = match refusal {
            AuthRefusal::Unknown(stop) => return Problem::from(stop).into_response(),
            AuthRefusal::Nothing => {
                let words = "show a token: `Authorization: Bearer TOKEN`";
                (StatusCode::UNAUTHORIZED, words, None)
            }
            AuthRefusal::NotGood(words) => (StatusCode::UNAUTHORIZED, words, Some("invalid_token")),
            AuthRefusal::Insufficient => {
                let words = "this token has no role here";
                (StatusCode::FORBIDDEN, words, Some("insufficient_scope"))
            }
        };
        let mut challenge = "Bearer realm=\"haft\"".to_owned();
        if let Some(error) = error {
            challenge.push_str(&format!(", error=\"{error}\", error_description=\"{words}\""));
        }
        if let Some(issuer) = &self.issuer {
            let place = metadata::Resource::of(issuer, headers).described_at;
            challenge.push_str(&format!(", resource_metadata=\"{place}\""));
            let scopes = issuer.scopes();
            if !scopes.is_empty() {
                challenge.push_str(&format!(", scope=\"{scopes}\""));
            }
        }
        let mut response = Problem::of_wire(status, words).into_response();
        if let Ok(value) = HeaderValue::try_from(challenge) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        response
    }
}

/// Whether a text has the form of a token that we issue.
fn is_ours(token: &str) -> bool {
    haft_ledger::token_hash(token).is_some()
}

/// The bearer token of a request. Several headers, or another scheme, are invalid.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, AuthRefusal> {
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (shown.next(), shown.next()) else {
        return match headers.contains_key(header::AUTHORIZATION) {
            true => Err(AuthRefusal::NotGood("one Authorization header is enough")),
            false => Ok(None),
        };
    };
    let text = value.to_str().ok().and_then(|text| text.split_once(' '));
    match text {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        Some(_) | None => Err(AuthRefusal::NotGood("only bearer tokens are taken")),
    }
}
