//! Elicitations of tasks: open inquiries, until their clients answer.
//!
//! The process that runs a call asks its questions, so no other process knows them; a proxy finds
//! the way back by the header that repeats the id of the task.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_model::InvocationId;
use rmcp::model::{InputRequests, InputResponses};
use serde_json::Value;
use tokio::sync::oneshot;

use super::asking;
use super::conversation::{Answers, CallEvent, Conversation};
use crate::AppState;

/// Open inquiries of tasks.
#[derive(Default)]
pub(crate) struct Inquiries {
    open: Mutex<HashMap<InvocationId, Vec<Inquiry>>>,
    count: AtomicU64,
}

/// Inquiries that were asked together.
struct Inquiry {
    /// The unanswered ones, under unique names.
    requests: InputRequests,
    /// The asker's own name of each.
    names: BTreeMap<String, String>,
    answers: BTreeMap<String, Value>,
    reply: oneshot::Sender<Answers>,
}

/// Follows a call whose client continues without it.
pub(super) fn follow(desk: &Arc<AppState>, id: InvocationId, mut conversation: Conversation) {
    let desk = desk.clone();
    tokio::spawn(async move {
        while let Some(news) = conversation.next().await {
            match news {
                CallEvent::Asked { asked, reply } => {
                    let requests = asking::requests(asked).into_iter();
                    let requests = requests
                        .filter_map(|(name, request)| Some((name, asking::task_request(request)?)));
                    desk.inquiries.ask(&id, requests.collect(), reply);
                }
                // The ledger has the progress and the result.
                CallEvent::Progress(_) | CallEvent::Remark(_) | CallEvent::Left(_) => {}
                CallEvent::Done { .. } => break,
            }
        }
        desk.inquiries.open().remove(&id);
    });
}

impl Inquiries {
    fn ask(&self, id: &InvocationId, asked: InputRequests, reply: oneshot::Sender<Answers>) {
        if asked.is_empty() {
            let _ = reply.send(Ok(BTreeMap::new()));
            return;
        }
        let (mut requests, mut names) = (InputRequests::new(), BTreeMap::new());
        for (name, request) in asked {
            let key = format!("{name}-{}", self.count.fetch_add(1, Ordering::Relaxed));
            requests.insert(key.clone(), request);
            names.insert(key, name);
        }
        let inquiry = Inquiry { requests, names, answers: BTreeMap::new(), reply };
        self.open().entry(id.clone()).or_default().push(inquiry);
    }

    /// The unanswered inquiries of a task; `None` where it waits for nothing.
    pub(super) fn unanswered(&self, id: &InvocationId) -> Option<InputRequests> {
        let open = self.open();
        // The asker may have stopped waiting meanwhile.
        let waiting = open.get(id)?.iter().filter(|inquiry| !inquiry.reply.is_closed());
        let requests: InputRequests =
            waiting.flat_map(|inquiry| inquiry.requests.clone()).collect();
        (!requests.is_empty()).then_some(requests)
    }

    /// Takes a client's answers. The asker gets them once all are there.
    pub(super) fn answer(&self, id: &InvocationId, mut given: InputResponses) {
        let mut open = self.open();
        let Some(inquiries) = open.get_mut(id) else { return };
        for mut inquiry in std::mem::take(inquiries) {
            inquiry.take(&mut given);
            match inquiry.requests.is_empty() {
                true => drop(inquiry.reply.send(Ok(inquiry.answers))),
                false => inquiries.push(inquiry),
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<InvocationId, Vec<Inquiry>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inquiry {
    fn take(&mut self, given: &mut InputResponses) {
        for (key, name) in &self.names {
            if let Some(answer) = given.remove(key)
                && self.requests.remove(key).is_some()
            {
                self.answers.insert(name.clone(), answer);
            }
        }
    }
}
