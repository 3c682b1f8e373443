//! Download: fetches a whole document and follows redirects through the address guard.

use std::sync::Arc;

use haft_sandbox::AddressGuard;

use super::{ConnectRoute, MOST_REDIRECTS, Outgoing, Sending, SubmissionPoint, look_up};

/// Downloads a URL, up to `most` bytes; the error is a message.
pub(crate) async fn download(
    guard: &AddressGuard,
    url: &str,
    most: usize,
) -> Result<Vec<u8>, String> {
    let sending = Arc::new(Sending::silent());
    let way = ConnectRoute {
        guard,
        lookup: look_up,
        sending: &sending,
        submitted: SubmissionPoint::OnWrite,
    };
    let mut next = guard.check_url(url).map_err(|forbidden| forbidden.to_string())?;
    for _ in 0..=MOST_REDIRECTS {
        let answer = way.send(&Outgoing::get(next.clone())).await;
        let mut answer = answer.map_err(|fault| fault.told(next.host()))?;
        if let Some(place) = answer.elsewhere() {
            let checked = guard.check_next(&next, &place);
            next = checked.map_err(|forbidden| forbidden.to_string())?;
            continue;
        }
        if !answer.status().is_success() {
            return Err(format!("`{}` answered with {}", next.host(), answer.status()));
        }
        let body = answer.body(most).await.map_err(|fault| fault.told(next.host()))?;
        return match body.cut {
            true => Err(format!("it has more than {most} bytes")),
            false => Ok(body.bytes),
        };
    }
    Err(format!("it points elsewhere more than {MOST_REDIRECTS} times"))
}
