//! Messages of a server: hands responses and reports to the requests in flight, answers requests,
//! and passes changes on.

use std::sync::{Arc, PoisonError};

use rmcp::model::{
    CancelledNotificationParam, ErrorData, NumberOrString, ProgressNotificationParam, RequestId,
};
use serde_json::{Value, json};

use super::client::ClientCore;
use super::client_handler::remark;
use super::fault::RequestFault;
use super::in_flight::CallContext;
use super::message::{self, Incoming, ServerMessage};

impl ClientCore {
    /// Handles a message of the server. `call` is the call on whose stream it came.
    pub(super) async fn receive(
        self: &Arc<Self>,
        message: Option<Incoming<'_>>,
        call: Option<&CallContext>,
    ) {
        match message {
            Some(Incoming::Response(Some(id), response)) => {
                self.in_flight.answer(id, response.map(ToOwned::to_owned));
            }
            Some(Incoming::Request(id, asked)) => self.serve(id, &asked, call),
            Some(Incoming::Notification(told)) => self.notified(&told, call).await,
            Some(Incoming::Response(None, _)) | None => {}
        }
    }

    async fn notified(self: &Arc<Self>, told: &ServerMessage<'_>, call: Option<&CallContext>) {
        let report = match &*told.method {
            "notifications/progress" => {
                let said = told.params::<ProgressNotificationParam>();
                said.and_then(|said| self.in_flight.progress(&said))
            }
            "notifications/message" => {
                remark(told).and_then(|remark| self.in_flight.log(call, remark))
            }
            "notifications/cancelled" => return self.cancelled(told),
            _ => return self.handler.notified(told),
        };
        if let Some(report) = report {
            report.deliver().await;
        }
    }

    /// The server does not want an answer any more, or ends a subscription of ours.
    fn cancelled(&self, told: &ServerMessage<'_>) {
        let Some(id) = told.params::<CancelledNotificationParam>().and_then(|said| said.request_id)
        else {
            return;
        };
        let mut serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        match (serving.remove(&id), id) {
            (Some(task), _) => task.abort(),
            (None, NumberOrString::Number(id)) => {
                self.in_flight.answer(id, Err(RequestFault::Closed));
            }
            (None, NumberOrString::String(_)) => {}
        }
    }

    /// Answers a request of the server in a task of its own, since a person may have to answer.
    fn serve(
        self: &Arc<Self>,
        id: RequestId,
        asked: &ServerMessage<'_>,
        call: Option<&CallContext>,
    ) {
        let (core, call, key) = (self.clone(), call.cloned(), id.clone());
        let (method, params) = (asked.method.to_string(), asked.params::<Value>());
        // Held until the task is listed, so that a task that ends at once finds itself.
        let mut serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        let task = tokio::spawn(async move {
            let answer = core.answer(&method, params.unwrap_or_else(|| json!({})), call).await;
            if let Ok(body) = message::answer(&id, answer) {
                let _ = core.send_one_way(body).await;
            }
            core.serving.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        });
        serving.insert(key, task.abort_handle());
    }

    pub(super) fn stop_serving(&self) {
        let mut serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        serving.drain().for_each(|(_, task)| task.abort());
    }

    async fn answer(
        &self,
        method: &str,
        params: Value,
        call: Option<CallContext>,
    ) -> Result<Value, ErrorData> {
        // From 2026-07-28 on a server asks inside of results; a request beside all calls is refused.
        if self.is_modern() && call.is_none() && self.in_flight.newest().is_none() {
            let words = "a request of the server must belong to a call";
            return Err(ErrorData::invalid_params(words, None));
        }
        self.handler.serve(method, params, call, &self.in_flight).await
    }
}
