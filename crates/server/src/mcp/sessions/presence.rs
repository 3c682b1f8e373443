//! Session presence: guards for requests in a session, and reservations for new sessions.

use rmcp::transport::streamable_http_server::SessionId;

use super::lives::{Full, Owner};
use super::{SharedLives, locked};
use crate::listen::SessionLimits;

/// A request in a session; while it lives the session is not idle.
pub(in crate::mcp) struct Presence {
    id: SessionId,
    lives: SharedLives,
}

impl Presence {
    pub(in crate::mcp) fn new(lives: &SharedLives, id: &SessionId) -> Presence {
        locked(lives).joined(id);
        Presence { id: id.clone(), lives: lives.clone() }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        locked(&self.lives).went(&self.id);
    }
}

/// A reservation for a session that is about to be opened.
pub(super) struct SessionReservation {
    owner: Owner,
    lives: SharedLives,
}

impl SessionReservation {
    /// A reservation, and the sessions that were evicted for it.
    pub(super) fn new(
        lives: &SharedLives,
        owner: &Owner,
        limits: &SessionLimits,
    ) -> Result<(SessionReservation, Vec<SessionId>), Full> {
        let left = locked(lives).admit(owner, limits)?;
        Ok((SessionReservation { owner: owner.clone(), lives: lives.clone() }, left))
    }
}

impl Drop for SessionReservation {
    fn drop(&mut self) {
        locked(&self.lives).place_given_back(&self.owner);
    }
}
