//! Request session: the surface scope that a request names.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use haft_model::Digest;

/// Header that names the session.
const SESSION: &str = "haft-session";

/// Longest name that is used as it is, in bytes; a longer one is hashed.
const LONGEST: usize = 128;

/// The scope of a named session.
pub(crate) fn scope(name: &str) -> String {
    let plain = name.len() <= LONGEST && name.bytes().all(|byte| byte.is_ascii_graphic());
    match plain {
        true => format!("session:{name}"),
        false => format!("session:{}", Digest::of(&name)),
    }
}

/// The scope of a transport session. Its id is a credential, so the scope holds only its hash.
pub(crate) fn transport_scope(id: &str) -> String {
    format!("session:{}", Digest::of_bytes(id.as_bytes()))
}

/// The session of a REST request, where it names one.
pub(crate) struct Session(pub(crate) Option<String>);

impl Session {
    pub(crate) fn of(headers: &HeaderMap) -> Session {
        let name = headers.get(SESSION).filter(|name| !name.is_empty());
        Session(name.map(|name| scope(&String::from_utf8_lossy(name.as_bytes()))))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Session {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Session, Infallible> {
        Ok(Session::of(&parts.headers))
    }
}
