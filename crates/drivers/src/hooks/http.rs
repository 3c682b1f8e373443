//! Webhook: asks a URL with a signed POST and reads the answer from the response.

use std::sync::Arc;

use haft_driver::{BoxFuture, Hook, HookAnswer, HookInput};
use haft_model::{Secret, Signature, Timestamp};
use haft_sandbox::{AddressGuard, CheckedUrl};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response};

use super::{Post, posted, wire};
use crate::Keeper;

/// A hook that asks a URL.
pub struct HttpHook {
    post: Post,
    url: String,
    secret: Signer,
    clock: fn() -> Timestamp,
}

/// The signing secret of a workspace, by its slug; `None` if the hook names none. It is opened for
/// each question.
type Signer = Option<(Arc<Keeper>, String)>;

impl HttpHook {
    /// Builds a hook for a URL. The clock gives the timestamp that is signed with the question.
    pub fn new(post: Post, url: String, secret: Signer, clock: fn() -> Timestamp) -> HttpHook {
        HttpHook { post, url, secret, clock }
    }

    async fn asked(&self, heard: HookInput<'_>) -> Result<HookAnswer, String> {
        let secret =
            match &self.secret {
                Some((vault, slug)) => {
                    let opened = vault.signing(slug).await;
                    Some(opened.map_err(|stop| {
                        format!("its question cannot be signed: {}", stop.message)
                    })?)
                }
                None => None,
            };
        let url = AddressGuard::named(&self.url).map_err(|forbidden| forbidden.to_string())?;
        let body = wire::question(self.post.point, &heard);
        let asking = self.exchange(&url, body, secret.as_ref());
        let text = tokio::time::timeout(self.post.timeout, asking)
            .await
            .unwrap_or_else(|_| Err(self.post.late()))?;
        let answer = wire::answer(self.post.point, &text)?;
        Ok(self.post.weighed(answer))
    }

    async fn exchange(
        &self,
        url: &CheckedUrl,
        body: Vec<u8>,
        secret: Option<&Secret>,
    ) -> Result<Vec<u8>, String> {
        let now = (self.clock)().as_second().to_string();
        let plain = url.is_plain();
        // Loading the certificates reads files.
        let client = tokio::task::spawn_blocking(move || client(plain)).await;
        let client = client.ok().and_then(Result::ok).ok_or("the http client broke")?;
        let mut request = client.post(url.as_str()).header(CONTENT_TYPE, "application/json");
        if let Some(secret) = secret {
            let signed = [now.as_bytes(), b".", &body].concat();
            let signature = Signature::of(secret.expose().as_bytes(), &signed);
            request = request.header("Haft-Signature", format!("v1={}", signature.as_str()));
        }
        let answer = request.header("Haft-Timestamp", &now).body(body).send().await;
        let answer = answer.map_err(|fault| match fault.is_connect() {
            true => format!("`{}` cannot be reached", url.host()),
            false => format!("`{}` did not answer as a web server does", url.host()),
        })?;
        given(answer).await
    }
}

impl Hook for HttpHook {
    posted!();

    fn hear<'a>(&'a self, heard: HookInput<'a>) -> BoxFuture<'a, Result<HookAnswer, String>> {
        Box::pin(self.asked(heard))
    }
}

/// An HTTP client without proxy, redirects or retries.
fn client(plain: bool) -> Result<Client, reqwest::Error> {
    let builder = match plain {
        true => Client::builder().tls_certs_only([]),
        false => Client::builder(),
    };
    builder
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .pool_max_idle_per_host(0)
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// The body of a successful response.
async fn given(mut answer: Response) -> Result<Vec<u8>, String> {
    let status = answer.status();
    if status.is_redirection() {
        return Err(format!("it answered {status}, and a hook is not followed elsewhere"));
    }
    if !status.is_success() {
        return Err(format!("it answered {status}"));
    }
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|_| "its answer broke off")? {
        body.extend_from_slice(&piece);
        if body.len() > wire::LONGEST {
            return Err(format!("it said more than {} bytes", wire::LONGEST));
        }
    }
    Ok(body)
}
