//! Background calls: calls that run beside their requests.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_driver::Cancel;
use haft_ledger::Run;
use haft_model::{Actor, Call, EffectState, Envelope, InvocationId, Status, Timestamp};
use haft_runtime::{CallOptions, Leave, Patience, Receipt};
use tokio::sync::oneshot;

use crate::AppState;
use crate::session::Session;

/// Most ended calls that are remembered by the id that their callers got.
const MOST_OVER: usize = 1024;

/// A call that runs beside the request that made it.
pub(crate) struct Errand {
    /// Its id, unless deduplication answers it with another call.
    pub(crate) id: InvocationId,
    done: oneshot::Receiver<Envelope>,
    wish: Cancel,
}

/// Takes the sender for the result, unless it was used.
fn taken(sender: &Mutex<Option<oneshot::Sender<Envelope>>>) -> Option<oneshot::Sender<Envelope>> {
    sender.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Calls whose callers did not wait, until the ledger knows them.
#[derive(Default)]
pub(crate) struct Errands(Mutex<BackgroundCall>);

#[derive(Default)]
struct BackgroundCall {
    accepted: HashMap<InvocationId, Run>,
    /// Ended calls and the call that answered each, oldest first.
    over: VecDeque<(InvocationId, InvocationId)>,
}

impl Errand {
    /// Makes a call, in a session where its caller names one.
    pub(crate) fn begin(desk: &Arc<AppState>, call: Call, session: Session) -> Errand {
        let (id, wish) = (desk.runtime.new_id(), Cancel::new());
        let (sender, done) = oneshot::channel();
        let errand = Errand { id: id.clone(), done, wish: wish.clone() };
        let desk = desk.clone();
        tokio::spawn(async move {
            let sender = Arc::new(Mutex::new(Some(sender)));
            let told = sender.clone();
            let leave: Leave = Arc::new(move |envelope| {
                if let Some(sender) = taken(&told) {
                    let _ = sender.send(envelope);
                }
            });
            let options = CallOptions {
                leave: Some(leave),
                patience: Patience::Leave,
                cancel: wish,
                receipt: Receipt::Acknowledged,
                surface: session.0,
                ..CallOptions::default()
            };
            let envelope = desk.runtime.call_under(id.clone(), call, options).await;
            let answered = envelope.invocation_id.clone();
            desk.errands.ended(&id, &answered);
            // An undelivered result is kept for a repeat of the same call.
            if taken(&sender).is_some_and(|sender| sender.send(envelope).is_ok()) {
                desk.runtime.mark_delivered(&answered);
            }
        });
        errand
    }

    /// The result. Dropping the future cancels the call.
    pub(crate) async fn answer(self) -> Option<Envelope> {
        let interest = self.wish.drop_guard();
        let envelope = self.done.await.ok();
        interest.disarm();
        envelope
    }

    /// The result if it comes within a timeout; otherwise the call continues in the background.
    pub(crate) async fn answer_within(
        mut self,
        patience: Duration,
        desk: &AppState,
        run: Run,
    ) -> Result<Option<Envelope>, InvocationId> {
        let id = self.id.clone();
        desk.errands.accept(run);
        match tokio::time::timeout(patience, &mut self.done).await {
            Ok(answer) => Ok(answer.ok()),
            Err(_) => Err(id),
        }
    }

    /// The call's run before anything is on record.
    pub(crate) fn run(&self, actor: &Actor, tool: &str) -> Run {
        Run {
            invocation_id: self.id.clone(),
            tool_id: format!("unresolved:{tool}"),
            actor: actor.id.to_string(),
            tenant: actor.tenant.to_string(),
            status: Status::Planned,
            effect_state: EffectState::None,
            error_code: None,
            approval_id: None,
            created_at: Timestamp::now(),
            ended_at: None,
        }
    }
}

impl Errands {
    fn known(&self) -> MutexGuard<'_, BackgroundCall> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(&self, run: Run) {
        let mut known = self.known();
        if !known.over.iter().any(|(id, _)| *id == run.invocation_id) {
            known.accepted.insert(run.invocation_id.clone(), run);
        }
    }

    fn ended(&self, id: &InvocationId, answered: &InvocationId) {
        let mut known = self.known();
        known.accepted.remove(id);
        known.over.push_back((id.clone(), answered.clone()));
        if known.over.len() > MOST_OVER {
            known.over.pop_front();
        }
    }

    /// A call that was accepted and has not ended.
    pub(crate) fn accepted(&self, id: &InvocationId, by: &Actor) -> Option<Run> {
        let run = self.known().accepted.get(id).cloned()?;
        let theirs = run.tenant == *by.tenant && (by.sees_all() || run.actor == by.id.as_str());
        theirs.then_some(run)
    }

    /// The call whose result answered another one.
    pub(crate) fn stands_for(&self, id: &InvocationId) -> Option<InvocationId> {
        let known = self.known();
        let found = known.over.iter().find(|(accepted, answered)| accepted == id && answered != id);
        found.map(|(_, answered)| answered.clone())
    }
}
