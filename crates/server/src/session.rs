//! The session that a request says it is a part of.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use haft_model::Digest;

/// The header that names it.
const SESSION: &str = "haft-session";

/// The longest name that is kept as it is.
const LONGEST: usize = 128;

/// The scope of a session, however it was named.
pub(crate) fn scope(name: &str) -> String {
    let plain = name.len() <= LONGEST && name.bytes().all(|byte| byte.is_ascii_graphic());
    match plain {
        true => format!("session:{name}"),
        false => format!("session:{}", Digest::of(&name)),
    }
}

/// The scope of a session of a transport. Who knows the id of one may speak in it, so that it is written
/// down nowhere.
pub(crate) fn transport_scope(id: &str) -> String {
    format!("session:{}", Digest::of_bytes(id.as_bytes()))
}

/// The session of a request over REST, where it names one.
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
