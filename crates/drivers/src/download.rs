//! Download: fetches a document from a URL that a person typed.

use std::time::Duration;

use haft_model::host::is_own;
use haft_model::{Code, Stop};
use haft_sandbox::AddressGuard;

use crate::web;

/// Timeout of the whole download.
const LONGEST: Duration = Duration::from_secs(60);

/// Fetches at most `most` bytes from a URL.
///
/// A person who types an address of their own network means it, so that address is open; redirects
/// lead to public addresses only.
pub async fn download(url: &str, most: usize) -> Result<Vec<u8>, Stop> {
    match tokio::time::timeout(LONGEST, fetched(url, most)).await {
        Ok(ended) => ended,
        Err(_) => {
            let words = format!("`{url}` did not answer within {} seconds", LONGEST.as_secs());
            Err(Stop::new(Code::DependencyUnavailable, words))
        }
    }
}

async fn fetched(url: &str, most: usize) -> Result<Vec<u8>, Stop> {
    let refused = |why: String| Stop::new(Code::DependencyUnavailable, why);
    let named = AddressGuard::named(url)
        .map_err(|forbidden| Stop::new(Code::InputValue, forbidden.to_string()))?;
    let guard = match is_own(named.host()) {
        true => AddressGuard::public().allowing(named.host(), named.port()),
        false => AddressGuard::public(),
    };
    web::download(&guard, url, most)
        .await
        .map_err(|why| refused(format!("`{url}` could not be fetched: {why}")))
}
