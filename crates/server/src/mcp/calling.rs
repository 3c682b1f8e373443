//! `tools/call`, from what a client says to what it is told; what lies between is a conversation.

use std::sync::Arc;

use haft_catalog::Viewer;
use haft_driver::Abilities;
use haft_model::{Actor, Envelope};
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::{Value, json};

use super::conversation::Conversation;
use super::deferred::{found, refused};
use super::heading::Heading;
use super::listing::Listing;
use super::suspended::Bound;
use super::{answer, tasks};
use crate::Desk;
use crate::deferred::{self, Meant, Own};

/// Whoever calls a tool, and how.
pub(super) struct Client<'r> {
    pub(super) heading: Heading<'r>,
    pub(super) actor: Arc<Actor>,
    pub(super) abilities: Abilities,
    /// Whether it knows tasks.
    pub(super) tasks: bool,
}

/// What came of the request at once.
pub(super) enum Begun {
    /// It was about our own tools, which are not called.
    Answered(Box<CallToolResponse>),
    Called(Called),
}

/// A call that is under way.
pub(super) struct Called {
    pub(super) conversation: Conversation,
    pub(super) closing: Closing,
}

/// What it takes to end it.
pub(super) struct Closing {
    /// What the client may come back with, where it can be asked anything.
    pub(super) bound: Option<Bound>,
    promises: bool,
    tasks: bool,
}

impl Closing {
    /// The answer to a call that ended.
    pub(super) fn answer(&self, envelope: &Envelope) -> Result<CallToolResponse, ErrorData> {
        if answer::waits(envelope) && self.tasks {
            return Ok(tasks::created(envelope).into());
        }
        answer::of(envelope, self.promises)
    }
}

impl Desk {
    /// Makes the call that a request wants, on a list that has its tool.
    pub(super) async fn begin_call(
        &self,
        mut request: CallToolRequestParams,
        client: Client<'_>,
        listing: &Listing,
    ) -> Result<Begun, ErrorData> {
        let Client { heading, actor, abilities, tasks } = client;
        let session = heading.session();
        let is_asked = !abilities.kinds.is_empty() || request.request_state.is_some();
        let bound = is_asked.then(|| {
            let about = json!([request.name, request.arguments]);
            Bound::new(&actor, "tools/call", about)
        });
        let mut tier = None;
        match listing.own(&request.name) {
            None => {}
            Some(own @ Own::Call(most)) => {
                match deferred::read::<Meant>(own, request.arguments.unwrap_or_default()) {
                    Ok(meant) => {
                        request.name = meant.name.into();
                        request.arguments = Some(meant.arguments);
                        tier = Some(most);
                    }
                    Err(wrong) => return Ok(Begun::Answered(Box::new(refused(&wrong).into()))),
                }
            }
            Some(own) => {
                let arguments = request.arguments.unwrap_or_default();
                let viewer = Viewer { actor: &actor, within: session.as_slice() };
                let found = Box::pin(found(self, own, arguments, &viewer)).await;
                return Ok(Begun::Answered(Box::new(found.into())));
            }
        }
        let conversation = match (&request.request_state, &bound) {
            (Some(state), Some(bound)) => {
                let mut conversation = self.suspended.take(state, bound)?;
                conversation.answer(request.input_responses.unwrap_or_default());
                conversation
            }
            _ => {
                let input = Value::Object(request.arguments.unwrap_or_default());
                let call = heading.call(&actor, listing.tool(&request.name), input);
                Conversation::begin(self, call, tier, abilities, session)
            }
        };
        let closing = Closing { bound, promises: listing.promises(&request.name), tasks };
        Ok(Begun::Called(Called { conversation, closing }))
    }
}
