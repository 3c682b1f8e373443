//! What passes between us and a server, whichever way it goes.
//!
//! A call is put on record between the moment it could be sent and its first byte. Whoever leaves
//! before that leaves nothing behind that is sent later. Progress is handed on in its order.

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

/// A call, for whoever carries its request.
#[derive(Clone, Debug)]
pub(super) struct Going {
    pub(super) sending: Arc<Sending>,
    pub(super) link: Link,
}

impl Going {
    /// A request that has no effect to submit.
    pub(super) fn read(link: Link) -> Going {
        Going { sending: Arc::new(Sending::silent()), link }
    }
}

/// A transport that knows which of its messages are calls.
pub(super) struct CallTransport<T> {
    inner: T,
    reports: Reports,
    /// The request by which a server was asked in the new way.
    probe: Option<RequestId>,
}

/// Where the progress of calls goes.
#[derive(Clone, Default)]
pub(super) struct Reports(Arc<Mutex<HashMap<ProgressToken, Reporting>>>);

/// Where the progress of one call goes, and how far it was when it was last heard of.
struct Reporting {
    to: Link,
    /// Gone when the call is over.
    call: Weak<Sending>,
    last: f64,
}

/// Why a message was not sent.
#[derive(Debug)]
pub(super) enum Unsent<E> {
    /// It was not to be sent any more, or could not be put on record.
    Withheld(String),
    /// The transport broke.
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

    /// A message as it is meant. Some servers answer what they do not know with something else, which
    /// means that they do not speak the new way.
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

    /// The call in a message, whose progress is listened for from now on.
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
    /// Listens for the progress of a call from now on.
    pub(super) fn listen(&self, token: ProgressToken, going: &Going) {
        let (to, call) = (going.link.clone(), Arc::downgrade(&going.sending));
        let reporting = Reporting { to, call, last: f64::NEG_INFINITY };
        let mut reports = self.all();
        reports.retain(|_, reporting| reporting.call.strong_count() > 0);
        reports.insert(token, reporting);
    }

    /// Hands progress to its call. What does not grow is no progress.
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
