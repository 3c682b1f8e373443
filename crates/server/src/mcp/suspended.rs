//! Suspended calls: calls that wait for their clients to resume them with answers.
//!
//! INVARIANT: a resume token is sealed, valid once, and only for the caller, tool and arguments of
//! the call that waits here.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use haft_model::{Actor, Digest};
use rmcp::ErrorData;
use rmcp::model::{RequestStateCodec, SealOptions, ServerResult};
use serde_json::{Value, json};

use super::asking;
use super::conversation::Conversation;

/// How long a client may take to resume.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// Calls that wait for their clients to resume them.
pub(crate) struct SuspendedCalls {
    seal: RequestStateCodec,
    held: Mutex<HashMap<String, (Instant, Conversation)>>,
    count: AtomicU64,
}

impl SuspendedCalls {
    /// An empty table. A resume token is valid for as long as this process lives, as the calls are.
    pub(crate) fn new() -> io::Result<SuspendedCalls> {
        let key = haft_seal::generate()?;
        let seal = RequestStateCodec::try_new(key).map_err(io::Error::other)?;
        Ok(SuspendedCalls { seal, held: Mutex::default(), count: AtomicU64::new(0) })
    }

    /// Suspends a call until its client resumes it; returns the result that asks the client.
    pub(super) fn keep(&self, conversation: Conversation, bound: &SuspensionKey) -> ServerResult {
        let asked = conversation.unanswered().filter(|asked| !asked.is_empty()).cloned();
        let name = self.count.fetch_add(1, Ordering::Relaxed).to_string();
        let mut held = self.held();
        // A client that did not resume in time is not waited for; its call ends without an answer.
        held.retain(|_, (since, _)| since.elapsed() < PATIENCE);
        held.insert(name.clone(), (Instant::now(), conversation));
        drop(held);
        let options = SealOptions::new().associated_data(bound.0.as_bytes()).ttl(PATIENCE);
        let state = self.seal.seal_with(name.as_bytes(), &options);
        asking::input_required(asked, &state)
    }

    /// The call that a client resumes.
    pub(super) fn take(
        &self,
        state: &str,
        bound: &SuspensionKey,
    ) -> Result<Conversation, ErrorData> {
        let refused = |why: &str| ErrorData::invalid_params(format!("requestState {why}"), None);
        let opened = self.seal.open_with(state, bound.0.as_bytes());
        let name = opened.map_err(|_| refused("is not ours, not yours, or ran out"))?;
        let name = String::from_utf8_lossy(&name).into_owned();
        let found = self.held().remove(&name);
        found.map(|(_, held)| held).ok_or_else(|| refused("was used before, or ran out"))
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, (Instant, Conversation)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a resume token is bound to: one caller, one method, and its parameters.
pub(super) struct SuspensionKey(String);

impl SuspensionKey {
    pub(super) fn new(actor: &Actor, method: &str, about: Value) -> SuspensionKey {
        let about = json!([actor.id, actor.tenant, method, about]);
        SuspensionKey(Digest::of(&about).as_str().to_owned())
    }
}
