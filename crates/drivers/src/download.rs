//! A document from an address that a person typed.

use std::sync::Arc;
use std::time::Duration;

use haft_model::host::{is_internal, name_of};
use haft_model::{Code, Stop};
use haft_sandbox::{AddressGuard, CheckedUrl, Forbidden};

use crate::web::{self, MOST_REDIRECTS, Outgoing, Sending, Submitted, Unanswered, Way, look_up};

/// How long it may take in all.
const LONGEST: Duration = Duration::from_secs(60);

/// Fetches what lies at an address, at most so many bytes of it.
///
/// Whoever types an address of their own network means it, so that is open; where an answer points
/// elsewhere, only public addresses are.
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
    let named = AddressGuard::named(url).map_err(|forbidden| refused(&forbidden))?;
    let own = !named.is_name() || is_internal(name_of(named.host()));
    let guard = match own {
        true => AddressGuard::public().allowing(named.host(), named.port()),
        false => AddressGuard::public(),
    };
    let mut next = guard.check_url(url).map_err(|forbidden| refused(&forbidden))?;
    let sending = Arc::new(Sending::silent());
    let way =
        Way { guard: &guard, lookup: look_up, sending: &sending, submitted: Submitted::OnWrite };
    for _ in 0..=MOST_REDIRECTS {
        let answer = way.send(Outgoing::get(next.clone())).await;
        let mut answer = answer.map_err(|fault| unanswered(fault, &next))?;
        if let Some(place) = web::elsewhere(&answer) {
            next = guard.check_next(&next, &place).map_err(|forbidden| refused(&forbidden))?;
            continue;
        }
        if !answer.status().is_success() {
            let words = format!("`{}` answered {}", next.host(), answer.status());
            return Err(Stop::new(Code::DependencyUnavailable, words));
        }
        let body = web::body(&mut answer, most).await.map_err(|fault| unanswered(fault, &next))?;
        if body.cut {
            let words = format!("`{url}` has more than {most} bytes");
            return Err(Stop::new(Code::ResultTooLarge, words));
        }
        return Ok(body.bytes);
    }
    let words = format!("`{url}` points elsewhere more than {MOST_REDIRECTS} times");
    Err(Stop::new(Code::DependencyUnavailable, words))
}

fn refused(forbidden: &Forbidden) -> Stop {
    Stop::new(Code::InputValue, forbidden.to_string())
}

fn unanswered(fault: Unanswered, url: &CheckedUrl) -> Stop {
    match fault {
        Unanswered::Forbidden(forbidden) => refused(&forbidden),
        Unanswered::Stopped(stop) => stop,
        Unanswered::Unknown
        | Unanswered::Unreachable
        | Unanswered::Broken
        | Unanswered::Unrecorded
        | Unanswered::Unready => {
            let words = format!("`{}` cannot be reached, or does not answer", url.host());
            Stop::new(Code::DependencyUnavailable, words)
        }
    }
}
