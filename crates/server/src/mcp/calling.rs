//! `tools/call`: from a client's request to its result; a conversation carries what lies between.

use std::sync::Arc;

use haft_catalog::Viewer;
use haft_model::{Actor, Call, Envelope};
use haft_runtime::{Background, CallOptions};
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ServerResult};
use serde_json::{Value, json};

use super::answer::OutputPromise;
use super::conversation::{Conversation, ConversationEnd};
use super::deferred::{found, refused};
use super::dispatch::Dispatcher;
use super::listing::Listing;
use super::requester::Requester;
use super::suspended::SuspensionKey;
use super::{answer, flaws, inquiries};
use crate::AppState;
use crate::deferred::{self, DeferredCall, Own};

/// The immediate outcome of a request.
enum CallStart {
    /// One of our own tools answered it without a call.
    Answered(Box<CallToolResponse>),
    Called(RunningCall),
}

/// A running call.
struct RunningCall {
    conversation: Conversation,
    closing: Closing,
}

/// What it takes to finish it.
struct Closing {
    /// What the client resumes it with, where it can be asked anything.
    bound: Option<SuspensionKey>,
    promises: bool,
    actor: Arc<Actor>,
    background: Background,
}

impl Closing {
    /// The result of a call that ended, or waits for approval.
    async fn answer(
        &self,
        desk: &AppState,
        envelope: &Envelope,
    ) -> Result<CallToolResponse, ErrorData> {
        if answer::waits(envelope) && self.background == Background::Leave {
            let created = Box::pin(desk.created(envelope, &self.actor)).await?;
            return Ok(created.into());
        }
        let world = self.promises.then(|| desk.world());
        let entry = world.as_ref().and_then(|world| world.snapshot.find(&envelope.tool_id));
        answer::of(envelope, OutputPromise::made(self.promises, entry))
    }

    /// The result of a call that continues without its client.
    async fn left(
        &self,
        desk: &Arc<AppState>,
        envelope: &Envelope,
        conversation: Conversation,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.background == Background::Leave {
            inquiries::follow(desk, envelope.invocation_id.clone(), conversation);
        }
        self.answer(desk, envelope).await
    }
}

impl Dispatcher {
    /// `tools/call`.
    pub(super) async fn call_tool(
        &self,
        request: CallToolRequestParams,
        by: &Requester,
    ) -> Result<ServerResult, ErrorData> {
        let listing = by.listing(&self.desk, &request.name);
        let (conversation, closing) = match self.desk.begin_call(request, by, listing).await? {
            CallStart::Answered(answer) => return Ok((*answer).into()),
            CallStart::Called(RunningCall { conversation, closing }) => (conversation, closing),
        };
        match self.desk.converse(conversation, closing.bound.as_ref(), by).await? {
            ConversationEnd::Asks(asks) => Ok(*asks),
            ConversationEnd::Done(envelope) => {
                Ok(closing.answer(&self.desk, &envelope).await?.into())
            }
            ConversationEnd::Left(left) => {
                let (envelope, conversation) = *left;
                let left = Box::pin(closing.left(&self.desk, &envelope, conversation)).await?;
                Ok(left.into())
            }
        }
    }
}

impl AppState {
    /// Makes the call of a request, on a list that has its tool.
    async fn begin_call(
        &self,
        mut request: CallToolRequestParams,
        by: &Requester,
        listing: &Listing,
    ) -> Result<CallStart, ErrorData> {
        let (actor, session, mut flaw) = (by.actor.clone(), by.scope(), by.flaw.clone());
        let (abilities, background) = (by.abilities(), by.background());
        let is_asked = !abilities.kinds.is_empty() || request.request_state.is_some();
        let bound = is_asked.then(|| {
            let about = json!([request.name, request.arguments]);
            SuspensionKey::new(&actor, "tools/call", about)
        });
        let mut tier = None;
        match listing.own(&request.name) {
            None => {}
            Some(own @ Own::Call(most)) => {
                match deferred::read::<DeferredCall>(own, request.arguments.unwrap_or_default()) {
                    Ok(meant) => {
                        request.name = meant.name.into();
                        request.arguments = Some(meant.arguments);
                        flaw = flaw.map(|flaw| flaw.seen_from("/arguments"));
                        tier = Some(most);
                    }
                    Err(wrong) => return Ok(CallStart::Answered(Box::new(refused(&wrong).into()))),
                }
            }
            Some(_) if let Some(flaw) = &flaw => {
                let refusal = refused(&flaw.stop().into());
                return Ok(CallStart::Answered(Box::new(refusal.into())));
            }
            Some(own) => {
                let arguments = request.arguments.unwrap_or_default();
                let viewer = Viewer { actor: &actor, within: session.as_slice() };
                let found = Box::pin(found(self, own, arguments, &viewer)).await;
                return Ok(CallStart::Answered(Box::new(found.into())));
            }
        }
        let conversation = match (&request.request_state, &bound) {
            (Some(state), Some(bound)) => {
                // The call keeps waiting, and the client may retry with valid answers.
                flaws::refuse(flaw)?;
                let mut conversation = self.suspended.take(state, bound)?;
                conversation.answer(request.input_responses.unwrap_or_default());
                conversation
            }
            _ => {
                let input = Value::Object(request.arguments.unwrap_or_default());
                let call = by.call(listing.tool(&request.name), input);
                let call = Call { flaw, ..call };
                let manner =
                    CallOptions { background, surface: session, tier, ..CallOptions::default() };
                Conversation::begin(self, call, abilities, manner)
            }
        };
        let promises = listing.promises(&request.name);
        let closing = Closing { bound, promises, actor, background };
        Ok(CallStart::Called(RunningCall { conversation, closing }))
    }
}
