//! Who is in which session, and how they want to be spoken to.
#![expect(deprecated, reason = "clients of 2025 still use levels")]

use std::collections::HashMap;
use std::time::Instant;

use haft_driver::Cancel;
use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, ClientNotification, ClientRequest, LoggingLevel,
    RequestId,
};
use rmcp::transport::streamable_http_server::SessionId;

/// Who is in which session.
#[derive(Default)]
pub(super) struct Lives(HashMap<SessionId, Life>);

pub(super) struct Life {
    waiting: usize,
    since: Instant,
    /// None before the client has opened the session.
    habits: Option<Habits>,
    /// Whether the client said that it is ready.
    ready: bool,
    /// The calls that the library does not know of.
    calls: HashMap<RequestId, Cancel>,
}

/// How a client wants to be spoken to.
#[derive(Clone)]
pub(in crate::mcp) struct Habits {
    /// Whether it can be asked for anything while it waits.
    pub(in crate::mcp) can_be_asked: bool,
    /// From which level on it wants to hear remarks, where it said so.
    pub(in crate::mcp) level: Option<LoggingLevel>,
}

impl Habits {
    fn of(told: &ClientCapabilities) -> Habits {
        let can_be_asked =
            told.elicitation.is_some() || told.sampling.is_some() || told.roots.is_some();
        Habits { can_be_asked, level: None }
    }
}

impl Lives {
    /// A client said something that the library answers.
    pub(super) fn heard(&mut self, id: &SessionId, message: &ClientJsonRpcMessage) {
        let life = self.touched(id);
        match message {
            ClientJsonRpcMessage::Request(request) => match &request.request {
                ClientRequest::InitializeRequest(begins) => {
                    life.habits = Some(Habits::of(&begins.params.capabilities));
                }
                ClientRequest::SetLevelRequest(set) => {
                    if let Some(habits) = &mut life.habits {
                        habits.level = Some(set.params.level);
                    }
                }
                _ => {}
            },
            ClientJsonRpcMessage::Notification(told) => match &told.notification {
                ClientNotification::InitializedNotification(_) => life.ready = true,
                ClientNotification::CancelledNotification(told) => {
                    let request = told.params.request_id.as_ref();
                    if let Some(cancel) = request.and_then(|request| life.calls.get(request)) {
                        cancel.cancel();
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// How the client of a session wants to be spoken to, once it is ready.
    pub(super) fn habits(&self, id: &SessionId) -> Option<&Habits> {
        self.0.get(id).filter(|life| life.ready)?.habits.as_ref()
    }

    /// A call that the library does not know of begins.
    pub(super) fn calls(&mut self, id: &SessionId, request: &RequestId, cancel: Cancel) {
        let life = self.joined(id);
        life.calls.insert(request.clone(), cancel);
    }

    pub(super) fn answered(&mut self, id: &SessionId, request: &RequestId) {
        if let Some(life) = self.0.get_mut(id) {
            life.calls.remove(request);
        }
        self.went(id);
    }

    pub(super) fn touched(&mut self, id: &SessionId) -> &mut Life {
        let now = Instant::now();
        let fresh =
            || Life { waiting: 0, since: now, habits: None, ready: false, calls: HashMap::new() };
        let life = self.0.entry(id.clone()).or_insert_with(fresh);
        life.since = now;
        life
    }

    pub(super) fn joined(&mut self, id: &SessionId) -> &mut Life {
        let life = self.touched(id);
        life.waiting += 1;
        life
    }

    pub(super) fn went(&mut self, id: &SessionId) {
        // One that was ended meanwhile does not come back.
        if let Some(life) = self.0.get_mut(id) {
            life.waiting = life.waiting.saturating_sub(1);
            life.since = Instant::now();
        }
    }

    pub(super) fn ended(&mut self, id: &SessionId) {
        self.0.remove(id);
    }

    /// Takes out those in which nobody has waited since then.
    pub(super) fn left_before(&mut self, then: Option<Instant>) -> Vec<SessionId> {
        let Some(then) = then else { return Vec::new() };
        let left = |life: &Life| life.waiting == 0 && life.since < then;
        self.0.extract_if(|_, life| left(life)).map(|(id, _)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::mcp::sessions::KEPT;

    #[test]
    fn a_session_lasts_while_somebody_waits_in_it() {
        let mut lives = Lives::default();
        let [waits, idle, gone] = ["waits", "idle", "gone"].map(SessionId::from);
        lives.joined(&waits);
        lives.touched(&idle);
        lives.joined(&gone);
        lives.ended(&gone);
        lives.went(&gone);
        let later = Some(Instant::now() + Duration::from_secs(1));
        assert_eq!(lives.left_before(Instant::now().checked_sub(KEPT)), []);
        assert_eq!(lives.left_before(later), [idle]);
        lives.went(&waits);
        assert_eq!(lives.left_before(later), [waits]);
        assert!(lives.0.is_empty());
    }
    #[test]
    fn a_call_is_found_by_its_request_until_it_is_answered() -> serde_json::Result<()> {
        let mut lives = Lives::default();
        let (session, request) = (SessionId::from("s"), RequestId::Number(1));
        let says = |method: &str, params: serde_json::Value| {
            let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
            if !method.starts_with("notifications/") {
                message["id"] = json!(0);
            }
            serde_json::from_value::<ClientJsonRpcMessage>(message)
        };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        lives.heard(&session, &says("initialize", hello)?);
        assert!(lives.habits(&session).is_none(), "before the client is ready");
        lives.heard(&session, &says("notifications/initialized", json!({}))?);
        assert!(lives.habits(&session).is_some_and(|habits| !habits.can_be_asked));
        let cancel = Cancel::new();
        lives.calls(&session, &request, cancel.clone());
        lives.heard(&session, &says("notifications/cancelled", json!({"requestId": 2}))?);
        assert!(!cancel.is_cancelled());
        lives.heard(&session, &says("notifications/cancelled", json!({"requestId": 1}))?);
        assert!(cancel.is_cancelled());
        lives.answered(&session, &request);
        assert!(
            lives.0.get(&session).is_some_and(|life| life.calls.is_empty() && life.waiting == 0)
        );
        Ok(())
    }
}
