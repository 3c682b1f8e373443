//! Call transport: wraps a transport to record the submission of each call and to route its
//! progress.
//!
//! INVARIANT: the submission is recorded before the first byte of a call is sent, and a call that
//! is cancelled before that is never sent. Progress is passed on in order.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use haft_driver::Link;
use haft_model::Progress;
use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, ProgressNotificationParam, ProgressToken,
    RequestId, RequestMetaObject, ServerNotification, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use crate::web::Sending;

/// The submission and the link of a call, attached to its request.
#[derive(Clone, Debug)]
pub(super) struct Going {
    pub(super) sending: Arc<Sending>,
    pub(super) link: Link,
}

impl Going {
    /// A request without an effect, so without a submission.
    pub(super) fn read(link: Link) -> Going {
        Going { sending: Arc::new(Sending::silent()), link }
    }
}

/// A transport that recognizes calls among its messages.
pub(super) struct CallTransport<T> {
    inner: T,
    reports: Reports,
    /// The id of the `server/discover` request.
    probe: Option<RequestId>,
}

/// The links of calls by progress token; clones share them.
#[derive(Clone, Default)]
pub(super) struct Reports(Arc<Mutex<HashMap<ProgressToken, Reporting>>>);

/// The link of one call, and its last progress.
struct Reporting {
    to: Link,
    /// Dangling once the call has ended.
    call: Weak<Sending>,
    last: f64,
}

/// Why a message was not sent.
#[derive(Debug)]
pub(super) enum Unsent<E> {
    /// The call was cancelled, or its submission could not be recorded.
    Withheld(String),
    /// The transport failed.
    Broken(E),
}

impl<E: std::fmt::Display> std::fmt::Display for Unsent<E> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unsent::Withheld(why) => formatter.write_str(why),
            Unsent::Broken(fault) => fault.fmt(formatter),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Unsent<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Unsent::Withheld(_) => None,
            Unsent::Broken(fault) => Some(fault),
        }
    }
}

impl<T> CallTransport<T> {
    pub(super) fn new(inner: T, reports: Reports) -> CallTransport<T> {
        CallTransport { inner, reports, probe: None }
    }

    /// Normalizes a message. Some servers respond to `server/discover` with another result; that
    /// counts as an unknown method.
    fn meant(&self, message: RxJsonRpcMessage<RoleClient>) -> RxJsonRpcMessage<RoleClient> {
        match message {
            JsonRpcMessage::Response(answer)
                if self.probe.as_ref() == Some(&answer.id)
                    && !matches!(answer.result, ServerResult::DiscoverResult(_)) =>
            {
                let words = "it was answered with something else";
                let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, words, None);
                JsonRpcMessage::error(error, Some(answer.id))
            }
            other => other,
        }
    }

    /// The call in a message; subscribes to its progress.
    fn call_in(&self, message: &TxJsonRpcMessage<RoleClient>) -> Option<Going> {
        let JsonRpcMessage::Request(request) = message else { return None };
        let ClientRequest::CallToolRequest(call) = &request.request else { return None };
        let going = call.extensions.get::<Going>()?.clone();
        let meta = call.extensions.get::<RequestMetaObject>();
        if let Some(token) = meta.and_then(RequestMetaObject::get_progress_token) {
            self.reports.listen(token, &going);
        }
        Some(going)
    }
}

impl Reports {
    /// Subscribes a call to progress notifications with its token.
    pub(super) fn listen(&self, token: ProgressToken, going: &Going) {
        let (to, call) = (going.link.clone(), Arc::downgrade(&going.sending));
        let reporting = Reporting { to, call, last: f64::NEG_INFINITY };
        let mut reports = self.all();
        reports.retain(|_, reporting| reporting.call.strong_count() > 0);
        reports.insert(token, reporting);
    }

    /// Passes progress to its call. A value that does not increase is dropped.
    fn report(&self, said: &ProgressNotificationParam) {
        let mut reports = self.all();
        let Some(reporting) = reports.get_mut(&said.progress_token) else { return };
        if said.progress > reporting.last {
            reporting.last = said.progress;
            reporting.to.offer_progress(progress(said));
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<ProgressToken, Reporting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn progress(said: &ProgressNotificationParam) -> Progress {
    let total = said.total.filter(|total| *total > 0.0);
    let percent = total.map(|total| (said.progress / total * 100.0).clamp(0.0, 100.0));
    Progress { message: said.message.clone(), percent, ..Progress::default() }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for CallTransport<T> {
    type Error = Unsent<T::Error>;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &item
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
        {
            self.probe = Some(request.id.clone());
        }
        let going = self.call_in(&item);
        let send = self.inner.send(item);
        async move {
            if let Some(going) = going {
                let begun = going.sending.begin().await;
                begun.map_err(|why| Unsent::Withheld(why.to_string()))?;
            }
            send.await.map_err(Unsent::Broken)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.inner.receive().await?;
            let message = self.meant(message);
            let JsonRpcMessage::Notification(said) = &message else { return Some(message) };
            let ServerNotification::ProgressNotification(progress) = &said.notification else {
                return Some(message);
            };
            self.reports.report(&progress.params);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await.map_err(Unsent::Broken)
    }
}
