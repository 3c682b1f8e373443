//! Conversation: one call of a client, from its first request to its final result.
//!
//! The call runs beside the requests. A client of 2026-07-28 that is asked something gets the
//! question as the result of its request and resumes with another request; the call waits
//! meanwhile. Older clients get the question as a server request.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_driver::{Abilities, BoxFuture, Caller, Cancel, Inquiry, InquiryKind, Remark};
use haft_model::{Actor, Call, Code, Envelope, Question, Reported, Stop};
use haft_runtime::{CallOptions, Leave, Patience, Prompt, Receipt, Reply};
use rmcp::ErrorData;
use rmcp::model::ServerResult;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::asking::{self, ApprovalForm, InputRequests};
use super::client_session::ClientSession;
use super::requester::{Lifecycle, Requester};
use super::response_deadline::ResponseDeadline;
use super::suspended::SuspensionKey;
use crate::AppState;

/// Most buffered events; a slower client loses progress and log messages, and nothing else.
const MOST_NEWS: usize = 64;

pub(super) type Answers = Result<BTreeMap<String, Value>, Stop>;

/// An event of a call.
pub(super) enum CallEvent {
    Asked {
        asked: BTreeMap<String, Inquiry>,
        reply: oneshot::Sender<Answers>,
    },
    Progress(Box<Reported>),
    Remark(Remark),
    /// It continues without the client, which comes back for the result.
    Left(Box<Envelope>),
    /// It ended, perhaps after its client left.
    Done {
        envelope: Box<Envelope>,
        left: bool,
    },
}

/// One call of a client.
pub(crate) struct Conversation {
    /// The call itself, polled by the reader of its events.
    running: Running,
    news: mpsc::Receiver<CallEvent>,
    /// The last elicitation, and the sender for its answers.
    waiting: Option<(InputRequests, oneshot::Sender<Answers>)>,
    /// Cancels the call when its client is gone.
    interest: Interest,
}

/// How a conversation ended.
pub(super) enum ConversationEnd {
    /// The call ended.
    Done(Box<Envelope>),
    /// The call continues without its client.
    Left(Box<(Envelope, Conversation)>),
    /// The client has to ask its user and resume.
    Asks(Box<ServerResult>),
}

/// Cancellation guard: cancels the call when dropped without being satisfied.
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

/// A running call. It takes no task of its own while its client waits only for its end; otherwise
/// it is spawned.
struct Running(Option<BoxFuture<'static, ()>>);

impl Running {
    fn alone(&mut self) {
        // Without a Tokio runtime this process is about to end, and recovery settles the call.
        if let (Some(call), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(call);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.alone();
    }
}

impl Conversation {
    /// Starts the call; the options say all but how its client gets its events.
    pub(super) fn begin(
        desk: &AppState,
        call: Call,
        abilities: Abilities,
        manner: CallOptions<'static>,
    ) -> Conversation {
        let (sender, news) = mpsc::channel(MOST_NEWS);
        let cancel = Cancel::new();
        let actor = call.actor.clone();
        let line = Arc::new(ClientChannel { abilities, actor, sender, furthest: Mutex::new(0) });
        let runtime = desk.runtime.clone();
        let wish = cancel.clone();
        let running = Box::pin(async move {
            let at_hand = line.can_ask_a_person();
            let (told, left) = (line.sender.clone(), Arc::new(AtomicBool::new(false)));
            let gone = left.clone();
            let leave: Leave = Arc::new(move |envelope| {
                // A client that is too slow to receive it waits for the end instead.
                let heard = told.try_send(CallEvent::Left(Box::new(envelope))).is_ok();
                gone.store(heard, Ordering::Relaxed);
            });
            let manner = CallOptions {
                leave: Some(leave),
                patience: if at_hand { Patience::Wait } else { Patience::Leave },
                prompt: at_hand.then_some(&*line as &dyn Prompt),
                caller: Some(line.clone()),
                cancel: wish,
                receipt: Receipt::Acknowledged,
                ..manner
            };
            let envelope = runtime.call(call, manner).await;
            let left = left.load(Ordering::Relaxed);
            // An undelivered result keeps its lease, for the client that calls again.
            let _ = line.sender.send(CallEvent::Done { envelope: Box::new(envelope), left }).await;
        });
        let interest = Interest(Some(cancel));
        Conversation { running: Running(Some(running)), news, waiting: None, interest }
    }

    /// The next event of the call.
    pub(super) async fn next(&mut self) -> Option<CallEvent> {
        let news = poll_fn(|context| {
            if let Some(call) = &mut self.running.0
                && call.as_mut().poll(context).is_ready()
            {
                self.running.0 = None;
            }
            self.news.poll_recv(context)
        })
        .await;
        match &news {
            Some(CallEvent::Done { .. }) => self.interest.satisfied(),
            Some(CallEvent::Left(_)) => {
                self.interest.satisfied();
                self.running.alone();
            }
            // Sending an event takes as long as its client does, and the call does not wait for
            // that.
            Some(CallEvent::Asked { .. } | CallEvent::Progress(_) | CallEvent::Remark(_)) => {
                self.running.alone()
            }
            None => {}
        }
        news
    }

    /// Waits for the client's answers.
    pub(super) fn wait_for(&mut self, asked: InputRequests, reply: oneshot::Sender<Answers>) {
        self.waiting = Some((asked, reply));
    }

    /// The inquiries that the client has yet to answer.
    pub(super) fn unanswered(&self) -> Option<&InputRequests> {
        self.waiting.as_ref().map(|(requests, _)| requests)
    }

    /// Passes on the client's answers. Missing ones are asked again.
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

impl AppState {
    /// Runs a conversation until the call ends, or until its client has to resume it with answers.
    pub(super) async fn converse(
        &self,
        mut conversation: Conversation,
        bound: Option<&SuspensionKey>,
        by: &Requester,
    ) -> Result<ConversationEnd, ErrorData> {
        let mut deadline = ResponseDeadline::new(by.clock());
        loop {
            if let Some(bound) = bound.filter(|_| conversation.unanswered().is_some()) {
                return Ok(ConversationEnd::Asks(Box::new(
                    self.suspended.keep(conversation, bound),
                )));
            }
            let news = tokio::select! {
                biased;
                news = conversation.next() => news,
                // Dropping the conversation cancels the call.
                () = by.cancelled() => {
                    return Err(ErrorData::internal_error("the call was called off", None));
                }
            };
            // Rare branches are boxed, to keep the futures of all calls small.
            match news {
                None => return Err(ErrorData::internal_error("the call was lost", None)),
                Some(CallEvent::Progress(reported)) => {
                    if Box::pin(by.progress(&reported)).await {
                        deadline.progressed();
                    }
                }
                Some(CallEvent::Remark(remark)) => Box::pin(by.remark(remark)).await,
                Some(CallEvent::Asked { asked, mut reply }) => match &by.lifecycle {
                    Lifecycle::SelfContained(_) if bound.is_some() => {
                        conversation.wait_for(asking::requests(asked), reply);
                    }
                    Lifecycle::SelfContained(_) => {
                        let words = "the caller cannot be asked";
                        let _ = reply.send(Err(Stop::new(Code::ApprovalRequired, words)));
                    }
                    Lifecycle::Session(session) => {
                        let asked_at = Instant::now();
                        let asking = ask_unless_cancelled(session, asked, by, &mut reply);
                        let answers = Box::pin(asking).await?;
                        deadline.asked_for(asked_at.elapsed());
                        let _ = reply.send(answers);
                    }
                },
                Some(CallEvent::Left(envelope)) => {
                    return Ok(ConversationEnd::Left(Box::new((*envelope, conversation))));
                }
                Some(CallEvent::Done { envelope, left }) => {
                    // INVARIANT: noted before a byte of the result is sent, so that the client's
                    // next equal call is another intent. A client that left has not taken it, and
                    // one whose timeout is over no longer waits for it.
                    if !left && !deadline.is_over() {
                        self.runtime.mark_delivered(&envelope.invocation_id);
                    }
                    return Ok(ConversationEnd::Done(envelope));
                }
            }
        }
    }
}

/// Asks a client of 2025, unless it cancels the request meanwhile, or the call ends.
async fn ask_unless_cancelled(
    session: &ClientSession,
    asked: BTreeMap<String, Inquiry>,
    by: &Requester,
    reply: &mut oneshot::Sender<Answers>,
) -> Result<Answers, ErrorData> {
    tokio::select! {
        answers = asking::ask(session, &by.outbox, asked, reply.closed()) => Ok(answers),
        () = by.cancelled() => Err(ErrorData::internal_error("the call was called off", None)),
    }
}

/// The client, as drivers and approval questions see it.
struct ClientChannel {
    abilities: Abilities,
    actor: Arc<Actor>,
    sender: mpsc::Sender<CallEvent>,
    /// Sequence number of the last progress report sent.
    furthest: Mutex<u64>,
}

impl ClientChannel {
    /// Whether a person at the client may answer for themselves. Behind an agent's identity it is
    /// unknown who presses the button.
    fn can_ask_a_person(&self) -> bool {
        self.actor.may_answer() && self.abilities.kinds.contains(&InquiryKind::Form)
    }

    async fn inquire(&self, asked: BTreeMap<String, Inquiry>) -> Answers {
        let gone = || Stop::new(Code::ApprovalRequired, "the caller is gone");
        let (reply, answered) = oneshot::channel();
        self.sender.send(CallEvent::Asked { asked, reply }).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

impl Caller for ClientChannel {
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
            let _ = self.sender.try_send(CallEvent::Progress(Box::new(reported.clone())));
        }
    }

    fn remark(&self, remark: Remark) {
        let _ = self.sender.try_send(CallEvent::Remark(remark));
    }
}

impl Prompt for ClientChannel {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Reply>> {
        Box::pin(async move {
            let form = ApprovalForm::of(question);
            let answers = self.inquire(form.inquiry()).await.ok()?;
            form.reply(answers, Actor::clone(&self.actor))
        })
    }
}
