//! The device flow (RFC 8628): a person types a code in elsewhere, and the server is asked until they
//! have. Where to ask is found out from the service itself, and nothing is followed elsewhere.

use std::time::Duration;

use haft_model::{Stop, Timestamp};
use haft_sandbox::AddressGuard;
use serde_json::Value;
use tokio::time::Instant;

use super::{Reason, Step, Tell, failed};
use crate::vault::Token;
use crate::web::form::{self, TokenResponse};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// How long a code may be good for, whatever the server says.
const LONGEST: u64 = 30 * 60;

/// How often in a row the server may fail to answer while it is asked.
const MOST_FAILURES: u32 = 3;

/// The service that one logs in to.
#[derive(Clone, Debug)]
pub struct Service {
    /// Where its API is.
    pub api_base: String,
    /// What the login is for.
    pub audience: Option<String>,
}

/// A login by a code that a person types in elsewhere.
#[derive(Clone, Debug)]
pub struct Device {
    /// Who asks.
    pub client: String,
    /// What is asked for.
    pub scope: Option<String>,
    /// How long a second of the server is; a test may be in a hurry.
    pub second: Duration,
}

/// Where one asks.
struct Endpoints {
    device: String,
    token: String,
}

impl Device {
    /// Logs in: tells the person what to do, and waits until they have.
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

    /// Asks until there is an answer, no more often than the server wants.
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
                return Err(failed(Reason::Expired, "nobody typed the code in while it was good"));
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
                    let words = "nobody typed the code in while it was good";
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

/// What is waited for.
struct Waiting<'a> {
    device: &'a str,
    until: Instant,
    interval: u64,
}

/// Where one asks, as the service says: by the server of logins that it names, or by itself.
async fn discover(service: &Service, guard: &AddressGuard) -> Result<Endpoints, Stop> {
    let base = service.api_base.trim_end_matches('/');
    let lost = |words: String| {
        failed(Reason::Discovery, format!("{words}; nobody knows where to log in at `{base}`"))
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

/// A document that is there as it is: a redirect is none.
async fn document(guard: &AddressGuard, url: &str) -> Result<Value, String> {
    let said = form::get(guard, url).await.map_err(|stop| stop.message)?;
    match said.is_success() && said.body.is_object() {
        true => Ok(said.body),
        false => Err(format!("`{url}` answered {}", said.in_words())),
    }
}
