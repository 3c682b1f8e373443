//! HTTP POST to a URL that the operator configured, such as a span collector.

use std::sync::Arc;
use std::time::Duration;

use haft_model::Timestamp;
use haft_sandbox::AddressGuard;
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

use crate::http::retry_after::wished;
use crate::web::{ConnectRoute, Outgoing, Sending, SubmissionPoint, look_up};

/// Most bytes of a response that are read.
const MOST_ANSWER: usize = 64 * 1024;

/// The response to a POST.
pub struct PostResponse {
    /// The HTTP status.
    pub status: u16,
    /// `Retry-After` of the response, in seconds.
    pub retry_after: Option<u64>,
    /// The body, up to the size limit.
    pub body: Vec<u8>,
}

/// Posts bytes to a URL, which is open because the operator named it. A redirect is returned, not
/// followed: no other host receives the bytes. No fault repeats a header.
pub async fn post(
    url: &str,
    headers: &[(String, String)],
    body: Vec<u8>,
    patience: Duration,
) -> Result<PostResponse, String> {
    let late = |_| format!("there was no answer within {} ms", patience.as_millis());
    tokio::time::timeout(patience, posted(url, headers, body)).await.map_err(late)?
}

async fn posted(
    url: &str,
    headers: &[(String, String)],
    body: Vec<u8>,
) -> Result<PostResponse, String> {
    let url = AddressGuard::named(url).map_err(|forbidden| forbidden.to_string())?;
    let guard = AddressGuard::public().allowing(url.host(), url.port());
    let host = url.host().to_owned();
    let request =
        Outgoing { method: Method::POST, url, headers: written(headers)?, body: Some(body) };
    let sending = Arc::new(Sending::silent());
    let way = ConnectRoute {
        guard: &guard,
        lookup: look_up,
        sending: &sending,
        submitted: SubmissionPoint::OnWrite,
    };
    let mut answer = way.send(&request).await.map_err(|fault| fault.told(&host))?;
    let retry_after = answer.head.headers().get(RETRY_AFTER);
    let retry_after = retry_after.and_then(|after| wished(after.to_str().ok()?, Timestamp::now()));
    let retry_after = retry_after.map(|milliseconds| milliseconds.div_ceil(1000));
    let status = answer.status().as_u16();
    let body = answer.body(MOST_ANSWER).await.map_err(|fault| fault.told(&host))?;
    Ok(PostResponse { status, retry_after, body: body.bytes })
}

fn written(headers: &[(String, String)]) -> Result<HeaderMap, String> {
    let each = headers.iter().map(|(name, value)| {
        let wrong = || format!("the header `{name}` cannot be sent");
        let key = HeaderName::try_from(name).map_err(|_| wrong())?;
        let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((key, value))
    });
    each.collect()
}
