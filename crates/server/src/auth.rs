//! Who a request is from.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use haft_model::Actor;

use crate::Desk;

/// Puts whoever sent a request beside it, or refuses it.
pub(crate) async fn establish(
    State(desk): State<Arc<Desk>>,
    mut request: Request,
    next: Next,
) -> Response {
    match who(&desk, request.headers()) {
        Some(actor) => {
            request.extensions_mut().insert(Arc::new(actor));
            next.run(request).await
        }
        None => {
            let realm = [(header::WWW_AUTHENTICATE, "Bearer")];
            (StatusCode::UNAUTHORIZED, realm).into_response()
        }
    }
}

/// Whoever sent a request with these headers; nobody where it shows something that nobody has.
fn who(desk: &Desk, headers: &HeaderMap) -> Option<Actor> {
    match headers.get(header::AUTHORIZATION) {
        None => Some(desk.world().people.stranger()),
        Some(_) => None,
    }
}
