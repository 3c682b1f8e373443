//! Session record: the `initialize` request from which a suspended session resumes.

use rmcp::model::InitializeRequestParams;
use rmcp::transport::streamable_http_server::SessionId;
use rmcp::transport::streamable_http_server::session::{
    SessionState, SessionStore, SessionStoreError,
};

use super::{CALLER, SharedLives, locked};

/// Largest `initialize` request that is kept, in bytes. A client with a larger one has to open
/// another session once it was idle.
const LARGEST_OPENING: usize = 2048;

/// The session records, as the library's session store.
pub(in crate::mcp) struct Records(pub(in crate::mcp) SharedLives);

/// The stored form of an `initialize` request; `None` where it is too large.
fn kept(opening: &InitializeRequestParams) -> Option<Box<[u8]>> {
    let bytes = serde_json::to_vec(opening).ok()?;
    (bytes.len() <= LARGEST_OPENING).then(|| bytes.into_boxed_slice())
}

type SessionFields<'a, T> =
    std::pin::Pin<Box<dyn Future<Output = Result<T, SessionStoreError>> + Send + 'a>>;

impl SessionStore for Records {
    fn load<'s, 'i, 'a>(&'s self, id: &'i str) -> SessionFields<'a, Option<SessionState>>
    where
        's: 'a,
        'i: 'a,
    {
        Box::pin(async move {
            let id = SessionId::from(id);
            let owner = CALLER.try_with(|caller| caller.owner.clone()).ok();
            let bytes = owner.and_then(|owner| locked(&self.0).record(&id, &owner));
            let opening = bytes.map(|bytes| serde_json::from_slice(&bytes)).transpose()?;
            Ok(opening.map(SessionState::new))
        })
    }

    fn store<'s, 'i, 'p, 'a>(
        &'s self,
        id: &'i str,
        state: &'p SessionState,
    ) -> SessionFields<'a, ()>
    where
        's: 'a,
        'i: 'a,
        'p: 'a,
    {
        locked(&self.0).keep(&SessionId::from(id), kept(&state.initialize_params));
        Box::pin(async { Ok(()) })
    }

    fn delete<'s, 'i, 'a>(&'s self, _id: &'i str) -> SessionFields<'a, ()>
    where
        's: 'a,
        'i: 'a,
    {
        // The session ended before, and its record with it.
        Box::pin(async { Ok(()) })
    }
}
