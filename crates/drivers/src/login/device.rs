//! Device flow (RFC 8628): a person types a code in elsewhere, and the driver polls the server. The
//! service itself names its endpoints, and no redirect is followed.

use std::time::Duration;

use haft_model::{Stop, Timestamp};
use haft_sandbox::AddressGuard;
use serde_json::Value;
use tokio::time::Instant;

use super::{Reason, Step, Tell, failed};
use crate::vault::Token;
use crate::web::form::{self, TokenResponse};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Longest lifetime of a code in seconds, whatever the server says.
const LONGEST: u64 = 30 * 60;

/// Most consecutive failures while polling.
const MOST_FAILURES: u32 = 3;

/// The service to log in to.
#[derive(Clone, Debug)]
pub struct Service {
    /// Base URL of its API.
    pub api_base: String,
    /// The audience of the token.
    pub audience: Option<String>,
}

/// A device flow login.
#[derive(Clone, Debug)]
pub struct Device {
    /// The OAuth client id.
    pub client: String,
    /// The scopes to request, separated by spaces.
    pub scope: Option<String>,
    /// Length of one second of the server's intervals; tests shorten it.
    pub second: Duration,
}

/// The endpoints of the authorization server.
struct Endpoints {
    device: String,
    token: String,
}

impl Device {
    /// Logs in: shows the person the code, and waits for the token.
    pub async fn log_in(
        &self,
        service: &Service,
        guard: &AddressGuard,
        clock: fn() -> Timestamp,
        tell: Tell<'_>,
    ) -> Result<Token, Stop> {
        let endpoints = discover(service, guard).await?;
        let mut fields = vec![("client_id", self.client.as_str())];
        fields.extend(self.scope.as_deref().map(|scope| ("scope", scope)));
        fields.extend(service.audience.as_deref().map(|audience| ("audience", audience)));
        let begun = form::post(guard, &endpoints.device, &fields).await?;
        let text = |key: &str| begun.body.get(key).and_then(Value::as_str).map(str::to_owned);
        let number = |key: &str| begun.body.get(key).and_then(Value::as_u64);
        let (Some(device), Some(code), Some(url)) =
            (text("device_code"), text("user_code"), text("verification_uri"))
        else {
            let words =
                format!("the login could not begin: the server answered {}", begun.in_words());
            return Err(failed(Reason::Upstream, words));
        };
        let seconds = number("expires_in").unwrap_or(300).min(LONGEST);
        let url = text("verification_uri_complete").unwrap_or(url);
        tell(Step::Code { url, code, seconds });
        let waiting = Waiting {
            device: &device,
            until: Instant::now() + self.second * u32::try_from(seconds).unwrap_or(u32::MAX),
            interval: number("interval").unwrap_or(5).min(60),
        };
        let token = self.answered(&endpoints, guard, waiting).await?;
        let token = Token::given(&token.body, clock())
            .ok_or_else(|| failed(Reason::Upstream, "the server gave no token"))?;
        Ok(Token { endpoint: Some(endpoints.token), client: Some(self.client.clone()), ..token })
    }

    /// Polls until the server decides, no more often than it allows.
    async fn answered(
        &self,
        endpoints: &Endpoints,
        guard: &AddressGuard,
        mut waiting: Waiting<'_>,
    ) -> Result<TokenResponse, Stop> {
        let mut failures = 0;
        loop {
            let pause = self.second * u32::try_from(waiting.interval).unwrap_or(60);
            if Instant::now() + pause >= waiting.until {
                return Err(failed(Reason::Expired, "the code expired before it was entered"));
            }
            tokio::time::sleep(pause).await;
            let fields = [
                ("grant_type", GRANT),
                ("device_code", waiting.device),
                ("client_id", &self.client),
            ];
            let said = match form::post(guard, &endpoints.token, &fields).await {
                Ok(said) => said,
                Err(_) if failures < MOST_FAILURES => {
                    failures += 1;
                    waiting.interval = (waiting.interval * 2).clamp(1, 60);
                    continue;
                }
                Err(stop) => return Err(stop),
            };
            failures = 0;
            match said.error() {
                None if said.is_success() => return Ok(said),
                Some("authorization_pending") => {}
                Some("slow_down") => waiting.interval += 5,
                Some("expired_token") => {
                    let words = "the code expired before it was entered";
                    return Err(failed(Reason::Expired, words));
                }
                Some("access_denied") => {
                    return Err(failed(Reason::Denied, "the login was refused at the other end"));
                }
                Some(_) | None => {
                    let words = format!("the server answered {}", said.in_words());
                    return Err(failed(Reason::Upstream, words));
                }
            }
        }
    }
}

/// A pending device authorization.
struct Waiting<'a> {
    device: &'a str,
    until: Instant,
    interval: u64,
}

/// Discovers the endpoints through the service's protected resource metadata, else from its
/// `agentproto-host.json`.
async fn discover(service: &Service, guard: &AddressGuard) -> Result<Endpoints, Stop> {
    let base = service.api_base.trim_end_matches('/');
    let lost = |words: String| {
        failed(Reason::Discovery, format!("{words}; the login endpoints of `{base}` are unknown"))
    };
    let resource = document(guard, &format!("{base}/.well-known/oauth-protected-resource")).await;
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let found = match resource {
        Ok(resource) => {
            let said = text(&resource, "resource");
            if said.as_deref().is_some_and(|said| said.trim_end_matches('/') != base) {
                return Err(lost("the service describes another one".to_owned()));
            }
            let issuer = resource.pointer("/authorization_servers/0").and_then(Value::as_str);
            let issuer = issuer.ok_or_else(|| lost("the service names no server".to_owned()))?;
            let issuer = issuer.trim_end_matches('/');
            let place = format!("{issuer}/.well-known/oauth-authorization-server");
            let found = document(guard, &place).await.map_err(lost)?;
            let said = text(&found, "issuer");
            if said.is_some_and(|said| said.trim_end_matches('/') != issuer) {
                return Err(lost("the server of logins is another one".to_owned()));
            }
            found
        }
        Err(_) => {
            let place = format!("{base}/.well-known/agentproto-host.json");
            document(guard, &place).await.map_err(lost)?
        }
    };
    match (text(&found, "device_authorization_endpoint"), text(&found, "token_endpoint")) {
        (Some(device), Some(token)) => Ok(Endpoints { device, token }),
        _ => Err(lost("the server of logins knows no codes".to_owned())),
    }
}

/// Fetches a JSON document; a redirect counts as a failure.
async fn document(guard: &AddressGuard, url: &str) -> Result<Value, String> {
    let said = form::get(guard, url).await.map_err(|stop| stop.message)?;
    match said.is_success() && said.body.is_object() {
        true => Ok(said.body),
        false => Err(format!("`{url}` answered {}", said.in_words())),
    }
}
