//! Requests in flight: route each response, progress report and log message of a server to the
//! call that it belongs to.
//!
//! INVARIANT: what a server reports before a result reaches the caller before that result. Progress
//! that does not increase is dropped.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_driver::{Link, Remark};
use haft_model::Progress;
use rmcp::model::{NumberOrString, ProgressNotificationParam};
use tokio::sync::Notify;

use super::fault::RequestFault;
use super::message::Response;
use crate::web::Sending;

/// Reports that a call keeps until it reads them; beyond that the oldest are dropped.
const MOST_REPORTS: usize = 1024;

/// How long a form waits for other calls to end, where the server does not name its call.
const ALONE: Duration = Duration::from_secs(30);

/// The submission of a call, and the link to its caller.
#[derive(Clone, Debug)]
pub(super) struct CallContext {
    pub(super) sending: Arc<Sending>,
    pub(super) link: Link,
}

impl CallContext {
    /// A request without an effect, so without a submission.
    pub(super) fn read(link: Link) -> CallContext {
        CallContext { sending: Arc::new(Sending::silent()), link }
    }

    pub(super) async fn deliver(&self, report: CallReport) {
        match report {
            CallReport::Progress(progress) => self.link.progress(progress).await,
            CallReport::Log(remark) => self.link.remark(remark).await,
        }
    }
}

/// What a server reports about a call before its result.
#[derive(Debug)]
pub(super) enum CallReport {
    Progress(Progress),
    Log(Remark),
}

/// The requests of one connection that have no response yet.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    state: Mutex<InFlightState>,
    /// Notified whenever a request ends or asks.
    ended: Notify,
}

#[derive(Debug, Default)]
struct InFlightState {
    is_over: bool,
    /// By id, so the newest is the last.
    requests: BTreeMap<i64, RequestEntry>,
}

#[derive(Debug)]
struct RequestEntry {
    call: Option<CallContext>,
    /// Where the reader of a shared stream leaves messages; `None` where the request has a stream
    /// of its own.
    mailbox: Option<Arc<Mailbox>>,
    /// The last progress.
    progress: f64,
    /// Whether its caller has an open question.
    is_asking: bool,
}

/// A report and the call that it goes to.
pub(super) struct AddressedReport {
    call: CallContext,
    mailbox: Option<Arc<Mailbox>>,
    report: CallReport,
}

impl AddressedReport {
    /// Delivers the report. The reader of a shared stream leaves it with the call, and never waits
    /// for a caller.
    pub(super) async fn deliver(self) {
        match self.mailbox {
            Some(mailbox) => mailbox.report(self.report),
            None => self.call.deliver(self.report).await,
        }
    }
}

impl InFlight {
    /// Registers a request before it is sent; `false` once the connection is closed.
    pub(super) fn register(
        &self,
        id: i64,
        call: Option<CallContext>,
        mailbox: Option<Arc<Mailbox>>,
    ) -> bool {
        let mut state = self.state();
        if state.is_over {
            return false;
        }
        let progress = f64::NEG_INFINITY;
        let entry = RequestEntry { call, mailbox, progress, is_asking: false };
        state.requests.insert(id, entry);
        true
    }

    pub(super) fn remove(&self, id: i64) {
        self.state().requests.remove(&id);
        self.ended.notify_waiters();
    }

    /// Hands a request its response; one that belongs to no request is dropped.
    pub(super) fn answer(&self, id: i64, response: Response) {
        let state = self.state();
        if let Some(mailbox) = state.requests.get(&id).and_then(|entry| entry.mailbox.as_ref()) {
            mailbox.answer(response);
        }
    }

    /// Closes the connection: fails the requests that wait for a shared stream, and all later ones.
    /// Returns whether it was open.
    pub(super) fn end(&self) -> bool {
        let mut state = self.state();
        let was_over = std::mem::replace(&mut state.is_over, true);
        for mailbox in state.requests.values().filter_map(|entry| entry.mailbox.as_ref()) {
            mailbox.answer(Err(RequestFault::Closed));
        }
        !was_over
    }

    pub(super) fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// Addresses progress to the call with its token.
    pub(super) fn progress(&self, said: &ProgressNotificationParam) -> Option<AddressedReport> {
        let NumberOrString::Number(id) = said.progress_token.0 else { return None };
        let mut state = self.state();
        let entry = state.requests.get_mut(&id)?;
        if said.progress <= entry.progress {
            return None;
        }
        let (call, mailbox) = (entry.call.clone()?, entry.mailbox.clone());
        entry.progress = said.progress;
        Some(AddressedReport { call, mailbox, report: CallReport::Progress(progress(said)) })
    }

    /// Addresses a log message to the call on whose stream it came, else to the newest.
    pub(super) fn log(
        &self,
        call: Option<&CallContext>,
        remark: Remark,
    ) -> Option<AddressedReport> {
        let report = CallReport::Log(remark);
        if let Some(call) = call {
            return Some(AddressedReport { call: call.clone(), mailbox: None, report });
        }
        let state = self.state();
        let mut calls = state.requests.values().rev().filter(|entry| entry.call.is_some());
        let newest = calls.next()?;
        let (call, mailbox) = (newest.call.clone()?, newest.mailbox.clone());
        Some(AddressedReport { call, mailbox, report })
    }

    /// The newest call.
    pub(super) fn newest(&self) -> Option<CallContext> {
        self.state().requests.values().rev().find_map(|entry| entry.call.clone())
    }

    /// The only call without an open question, once all other calls ended or ask; `None` after a
    /// while. A call whose form is open waits for it, so another form is another call's.
    pub(super) async fn only(&self) -> Option<AskingCall<'_>> {
        let alone = async {
            loop {
                let mut changed = std::pin::pin!(self.ended.notified());
                changed.as_mut().enable();
                if let Ok(found) = self.alone() {
                    return found;
                }
                changed.await;
            }
        };
        tokio::time::timeout(ALONE, alone).await.ok().flatten()
    }

    /// Marks the one call that may ask; an error where there are several.
    fn alone(&self) -> Result<Option<AskingCall<'_>>, ()> {
        let mut state = self.state();
        let calls = state.requests.values().filter(|entry| entry.call.is_some());
        let idle = calls.filter(|entry| !entry.is_asking).count();
        if idle > 1 {
            return Err(());
        }
        let mut newest = state.requests.iter_mut().rev();
        let found =
            newest.find(|(_, entry)| entry.call.is_some() && (idle == 0 || !entry.is_asking));
        let Some((id, entry)) = found else { return Ok(None) };
        entry.is_asking = true;
        // Other forms may have waited for this one to have a call.
        self.ended.notify_waiters();
        let (id, call) = (*id, entry.call.clone());
        Ok(call.map(|call| AskingCall { in_flight: self, id, call }))
    }

    fn state(&self) -> MutexGuard<'_, InFlightState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call with an open question; dropping it closes the question.
pub(super) struct AskingCall<'a> {
    in_flight: &'a InFlight,
    id: i64,
    pub(super) call: CallContext,
}

impl Drop for AskingCall<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.in_flight.state().requests.get_mut(&self.id) {
            entry.is_asking = false;
        }
    }
}

fn progress(said: &ProgressNotificationParam) -> Progress {
    let total = said.total.filter(|total| *total > 0.0);
    let percent = total.map(|total| (said.progress / total * 100.0).clamp(0.0, 100.0));
    Progress { message: said.message.clone(), percent, ..Progress::default() }
}

/// The messages for one request, in order; the response is the last.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    mail: Mutex<Mail>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Mail {
    reports: VecDeque<CallReport>,
    response: Option<Response>,
}

/// A message for one request.
pub(super) enum Letter {
    Report(CallReport),
    Response(Response),
}

impl Mailbox {
    fn report(&self, report: CallReport) {
        let mut mail = self.mail();
        if mail.reports.len() == MOST_REPORTS {
            mail.reports.pop_front();
        }
        mail.reports.push_back(report);
        drop(mail);
        self.arrived.notify_one();
    }

    fn answer(&self, response: Response) {
        let mut mail = self.mail();
        // A duplicate response changes nothing.
        mail.response.get_or_insert(response);
        drop(mail);
        self.arrived.notify_one();
    }

    /// Waits for the next message.
    pub(super) async fn next(&self) -> Letter {
        loop {
            if let Some(letter) = self.take() {
                return letter;
            }
            self.arrived.notified().await;
        }
    }

    fn take(&self) -> Option<Letter> {
        let mut mail = self.mail();
        let report = mail.reports.pop_front().map(Letter::Report);
        report.or_else(|| mail.response.take().map(Letter::Response))
    }

    fn mail(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> Option<CallContext> {
        Some(CallContext::read(Link::new().0))
    }

    #[tokio::test(start_paused = true)]
    async fn open_form_holds_up_no_other_form() {
        let in_flight = InFlight::default();
        in_flight.register(1, call(), None);
        let first = in_flight.only().await.unwrap();
        in_flight.register(2, call(), None);
        let second = in_flight.only().await.unwrap();
        assert_eq!((first.id, second.id), (1, 2));
        // Neither of two calls without a form is known to be the one that asks.
        in_flight.register(3, call(), None);
        in_flight.register(4, call(), None);
        assert!(in_flight.only().await.is_none());
        in_flight.remove(3);
        assert_eq!(in_flight.only().await.unwrap().id, 4);
    }
}
