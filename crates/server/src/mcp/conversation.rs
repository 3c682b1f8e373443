//! One call of a client, from its first request to its last answer.
//!
//! The call runs beside the requests. A client of 2026-07-28 that is asked something gets the question
//! as the answer to its request and comes back with another one; the call waits meanwhile. To older
//! clients the question is a request of ours.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::request::Parts;
use haft_driver::{Abilities, BoxFuture, Caller, Cancel, Inquiry, InquiryKind, Remark};
use haft_model::{
    Actor, Call, Code, Envelope, Question, Reported, Stop, TRACEPARENT, TRACESTATE, Tier, Trace,
};
use haft_runtime::{Leave, Manner, Patience, Prompt, Receipt, Reply};
use rmcp::model::{Extensions, InputRequests, InputRequiredResult};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::asking::{self, Form};
use super::handler::Wire;
use super::suspended::Bound;
use crate::rest;

/// How many pieces of news wait to be sent; a client that is slower loses progress and nothing else.
const MOST_NEWS: usize = 64;

/// What a client of ours is known by at the backend.
const KEY: &str = "dev.haft/idempotency-key";

/// What names the session of a request that has none in its transport.
pub(super) const SESSION: &str = "dev.haft/session";

type Answers = Result<BTreeMap<String, Value>, Stop>;

/// What happens to a call.
pub(super) enum News {
    Asked { asked: BTreeMap<String, Inquiry>, reply: oneshot::Sender<Answers> },
    Progress(Box<Reported>),
    Remark(Remark),
    Done(Box<Envelope>),
}

/// One call of a client.
pub(crate) struct Conversation {
    news: mpsc::Receiver<News>,
    /// What was asked last, and whoever waits for the answers.
    waiting: Option<(InputRequests, oneshot::Sender<Answers>)>,
    /// Calls the call off when nobody is interested any more.
    interest: Interest,
}

/// What was heard of a call.
pub(super) enum Heard {
    /// It ended.
    Done(Box<Envelope>),
    /// Its client has to ask somebody and come back.
    Asks(Box<InputRequiredResult>),
}

/// Somebody's interest in a call; lost without being let go, the call is called off.
pub(super) struct Interest(Option<Cancel>);

impl Interest {
    fn satisfied(&mut self) {
        self.0 = None;
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        if let Some(cancel) = &self.0 {
            cancel.cancel();
        }
    }
}

impl Conversation {
    /// Makes the call.
    pub(super) fn begin(
        wire: &Wire,
        call: Call,
        tier: Option<Tier>,
        context: &RequestContext<RoleServer>,
    ) -> Conversation {
        let (sender, news) = mpsc::channel(MOST_NEWS);
        let cancel = Cancel::new();
        let line = Arc::new(Line {
            abilities: asking::abilities(
                context.client_capabilities(),
                wire.wants_remarks(context),
            ),
            actor: call.actor.clone(),
            sender,
            furthest: Mutex::new(0),
        });
        let runtime = wire.desk.runtime.clone();
        let wish = cancel.clone();
        let surface = session(&context.extensions, context.meta.get(SESSION));
        // A call is large, and moved once.
        tokio::spawn(Box::pin(async move {
            let at_hand = line.can_ask_a_person();
            let told = line.sender.clone();
            let leave: Leave = Arc::new(move |envelope| {
                // A client that is too slow to hear it waits for the end instead.
                let _ = told.try_send(News::Done(Box::new(envelope)));
            });
            let manner = Manner {
                leave: Some(leave),
                patience: if at_hand { Patience::Wait } else { Patience::Leave },
                prompt: at_hand.then_some(&*line as &dyn Prompt),
                caller: Some(line.clone()),
                cancel: wish,
                receipt: Receipt::Acknowledged,
                surface,
                tier,
                ..Manner::default()
            };
            let envelope = runtime.call(call, manner).await;
            let id = envelope.invocation_id.clone();
            // An answer that nobody took is there for whoever makes the same call again.
            if line.sender.send(News::Done(Box::new(envelope))).await.is_ok() {
                runtime.hand_over(&id);
            }
        }));
        Conversation { news, waiting: None, interest: Interest(Some(cancel)) }
    }

    /// Hands over what the client answered. What it left out is asked again.
    pub(super) fn answer(&mut self, mut given: BTreeMap<String, Value>) {
        let Some((requests, reply)) = self.waiting.take() else { return };
        given.retain(|name, _| requests.contains_key(name));
        if requests.keys().all(|name| given.contains_key(name)) {
            let _ = reply.send(Ok(given));
        } else {
            self.waiting = Some((requests, reply));
        }
    }
}

impl Wire {
    /// Hears a call out until it ends, or until its client has to come back with answers.
    pub(super) async fn converse(
        &self,
        mut conversation: Conversation,
        bound: &Bound,
        context: &RequestContext<RoleServer>,
    ) -> Result<Heard, ErrorData> {
        let modern = super::is_modern(context);
        loop {
            if let Some((requests, _)) = &conversation.waiting {
                let requests = requests.clone();
                let state = self.desk.suspended.keep(conversation, bound);
                return Ok(Heard::Asks(Box::new(asking::required(requests, state))));
            }
            let news = tokio::select! {
                news = conversation.news.recv() => news,
                // The interest is lost with the conversation.
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the call was called off", None));
                }
            };
            // What is rarely said takes no room in the futures of all calls.
            match news {
                None => return Err(ErrorData::internal_error("the call was lost", None)),
                Some(News::Progress(reported)) => {
                    Box::pin(asking::progress(context, &reported)).await;
                }
                Some(News::Remark(remark)) => Box::pin(self.remark(context, remark)).await,
                Some(News::Asked { asked, reply }) if modern => {
                    conversation.waiting = Some((asking::requests(asked), reply));
                }
                Some(News::Asked { asked, reply }) => {
                    let _ = reply.send(Box::pin(asking::ask(context, asked)).await);
                }
                Some(News::Done(envelope)) => {
                    conversation.interest.satisfied();
                    return Ok(Heard::Done(envelope));
                }
            }
        }
    }
}

/// The session of a request, as a scope: the one that it names, or that of its transport.
pub(super) fn session(extensions: &Extensions, said: Option<&Value>) -> Option<String> {
    let said = said.and_then(Value::as_str).filter(|said| !said.is_empty());
    let headers = || extensions.get::<Parts>()?.headers.get("mcp-session-id")?.to_str().ok();
    said.or_else(headers).map(crate::session::scope)
}

/// The call that a request means.
pub(super) fn call(
    actor: &Arc<Actor>,
    tool: String,
    input: Value,
    context: &RequestContext<RoleServer>,
) -> Call {
    let key = context.meta.get(KEY).and_then(Value::as_str);
    let mut native = vec![json!({
        "source": "mcp",
        "jsonrpc_request_id": context.id,
        "id": context.id.to_string(),
    })];
    native.extend(traced(context).map(|trace| trace.reference()));
    Call {
        actor: actor.clone(),
        channel: "mcp",
        key: key.map(str::to_owned),
        native,
        ..Call::new(Actor::clone(actor), tool, input)
    }
}

/// The trace that a request is a part of: the one that its message names, or that of its transport.
fn traced(context: &RequestContext<RoleServer>) -> Option<Trace> {
    let said = |name| context.meta.get(name).and_then(Value::as_str);
    let trace = said(TRACEPARENT).and_then(Trace::parse);
    let trace = trace.map(|trace| trace.with_state(said(TRACESTATE)));
    trace.or_else(|| rest::traced(&context.extensions.get::<Parts>()?.headers))
}

/// The client, as drivers and questions see it.
struct Line {
    abilities: Abilities,
    actor: Arc<Actor>,
    sender: mpsc::Sender<News>,
    /// The last report of progress that was sent.
    furthest: Mutex<u64>,
}

impl Line {
    /// Whether a person sits at the client who may answer for themselves. Behind the identity of an
    /// agent nobody knows who presses the button.
    fn can_ask_a_person(&self) -> bool {
        self.actor.may_answer() && self.abilities.kinds.contains(&InquiryKind::Form)
    }

    async fn inquire(&self, asked: BTreeMap<String, Inquiry>) -> Answers {
        let gone = || Stop::new(Code::ApprovalRequired, "the caller is gone");
        let (reply, answered) = oneshot::channel();
        self.sender.send(News::Asked { asked, reply }).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

impl Caller for Line {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn ask(&self, asked: BTreeMap<String, Inquiry>) -> BoxFuture<'_, Answers> {
        Box::pin(self.inquire(asked))
    }

    fn progress(&self, reported: &Reported) {
        let mut furthest = self.furthest.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.sequence > *furthest {
            *furthest = reported.sequence;
            let _ = self.sender.try_send(News::Progress(Box::new(reported.clone())));
        }
    }

    fn remark(&self, remark: Remark) {
        let _ = self.sender.try_send(News::Remark(remark));
    }
}

impl Prompt for Line {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Reply>> {
        Box::pin(async move {
            let form = Form::of(question);
            let answers = self.inquire(form.inquiry()).await.ok()?;
            form.reply(answers, Actor::clone(&self.actor))
        })
    }
}
