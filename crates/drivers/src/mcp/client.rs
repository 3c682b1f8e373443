//! MCP client: sends each request from the task of its caller, and serves what the server sends
//! meanwhile.
//!
//! INVARIANT: the submission of a call is recorded before its first byte is sent, and a call that
//! is cancelled before that is never sent. A request that its caller drops is cancelled.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use reqwest::header::HeaderMap;
use rmcp::model::{
    JsonObject, RequestId, ServerPeerInfo, SubscriptionFilter, SubscriptionsListenRequestParams,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::AsyncRead;
use tokio::task::AbortHandle;

use super::client_handler::ClientHandler;
use super::era::Era;
use super::fault::RequestFault;
use super::http_transport::{HttpTransport, Post, PostKind};
use super::in_flight::{CallContext, InFlight, Letter, Mailbox};
use super::message::{self, Incoming, RequestMeta, Response};
use super::request_headers::RepeatedParts;
use super::stderr_capture::LastWords;
use super::stdio_transport::{StdioTransport, StdoutLines};
use crate::web::SendStage;

/// Timeout of a message that no caller waits for: a cancellation, an answer, the end of a session.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);

/// The reason of a cancellation.
const UNWANTED: &str = "the caller does not wait for it any more";

/// The client of one connection; dropping it closes the connection.
pub(super) struct McpClient {
    pub(super) core: Arc<ClientCore>,
    /// The task that reads the stream of the connection, if there is one.
    reader: OnceLock<AbortHandle>,
}

/// What the client shares with the tasks that read and answer.
pub(super) struct ClientCore {
    pub(super) transport: ClientTransport,
    pub(super) handler: ClientHandler,
    pub(super) in_flight: InFlight,
    ids: AtomicI64,
    agreed: OnceLock<Agreement>,
    /// The requests of the server that are being answered.
    pub(super) serving: Mutex<HashMap<RequestId, AbortHandle>>,
}

pub(super) enum ClientTransport {
    Stdio(StdioTransport),
    Http(Box<HttpTransport>),
}

/// What the handshake agreed on.
pub(super) struct Agreement {
    pub(super) about: ServerPeerInfo,
    /// The `_meta` of every request; empty before protocol version 2026-07-28.
    pub(super) meta: JsonObject,
}

/// A request to the server.
pub(super) struct ClientRequest<'a, P> {
    pub(super) id: i64,
    pub(super) method: &'a str,
    pub(super) params: &'a P,
    /// The `_meta` of this request.
    pub(super) meta: JsonObject,
    pub(super) repeated: RepeatedParts,
    /// The call that the request belongs to.
    pub(super) call: Option<CallContext>,
}

/// A request as bytes.
pub(super) struct EncodedRequest {
    pub(super) id: i64,
    pub(super) kind: PostKind,
    pub(super) body: Vec<u8>,
    pub(super) headers: HeaderMap,
    pub(super) call: Option<CallContext>,
    /// Whether the server is told when the caller leaves.
    pub(super) is_cancellable: bool,
}

impl McpClient {
    /// A client of a program; reads its stdout.
    pub(super) fn of_program<R>(
        stdin: StdioTransport,
        stdout: R,
        words: LastWords,
        handler: ClientHandler,
    ) -> McpClient
    where
        R: AsyncRead + Send + Unpin + 'static,
    {
        let client = McpClient::new(ClientTransport::Stdio(stdin), handler);
        let (core, mut lines) = (client.core.clone(), StdoutLines::new(stdout, words));
        client.read_by(tokio::spawn(async move {
            while let Some(line) = lines.next().await {
                core.receive(Incoming::decode(line), None).await;
            }
            core.in_flight.end();
        }));
        client
    }

    /// A client of a remote server.
    pub(super) fn of_server(http: HttpTransport, handler: ClientHandler) -> McpClient {
        McpClient::new(ClientTransport::Http(Box::new(http)), handler)
    }

    fn new(transport: ClientTransport, handler: ClientHandler) -> McpClient {
        let core = ClientCore {
            transport,
            handler,
            in_flight: InFlight::default(),
            ids: AtomicI64::new(1),
            agreed: OnceLock::new(),
            serving: Mutex::default(),
        };
        McpClient { core: Arc::new(core), reader: OnceLock::new() }
    }

    /// Sets the task that ends with the connection.
    pub(super) fn read_by(&self, reader: tokio::task::JoinHandle<()>) {
        let _ = self.reader.set(reader.abort_handle());
    }

    /// Concludes the handshake.
    pub(super) fn agree(&self, agreement: Agreement) {
        if let ClientTransport::Http(http) = &self.core.transport {
            http.agree(&agreement.about.protocol_version);
        }
        let _ = self.core.agreed.set(agreement);
    }

    /// The server as the handshake found it; `None` before.
    pub(super) fn about(&self) -> Option<&ServerPeerInfo> {
        self.core.agreed.get().map(|agreed| &agreed.about)
    }

    pub(super) fn handler(&self) -> &ClientHandler {
        &self.core.handler
    }

    pub(super) fn is_closed(&self) -> bool {
        self.core.in_flight.is_over()
    }

    /// Whether requests repeat some of their arguments as headers.
    pub(super) fn repeats_arguments(&self) -> bool {
        matches!(self.core.transport, ClientTransport::Http(_)) && self.core.is_modern()
    }

    pub(super) fn next_id(&self) -> i64 {
        self.core.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Makes a request that belongs to no call, and decodes its result.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, RequestFault> {
        let (id, meta, repeated) = (self.next_id(), JsonObject::new(), RepeatedParts::default());
        let request = ClientRequest { id, method, params, meta, repeated, call: None };
        decode(&self.request(request).await?)
    }

    /// Makes a request, and returns its result as JSON text.
    pub(super) async fn request<P: Serialize>(&self, request: ClientRequest<'_, P>) -> Response {
        let ClientRequest { id, method, params, meta, repeated, call } = request;
        let empty = JsonObject::new();
        let agreed = self.core.agreed.get();
        let shared = agreed.map_or(&empty, |agreed| &agreed.meta);
        let body = message::request(id, method, params, RequestMeta { shared, own: &meta })?;
        let headers = match agreed {
            Some(agreed) if self.repeats_arguments() => {
                repeated.headers(&agreed.about.protocol_version, method)
            }
            _ => HeaderMap::new(),
        };
        let is_cancellable = call.is_some() || method == "subscriptions/listen";
        let kind = PostKind::Request;
        self.core.send(EncodedRequest { id, kind, body, headers, call, is_cancellable }).await
    }

    /// Subscribes to notifications of 2026-07-28, until the server ends the subscription. The
    /// client handler receives them.
    pub(super) async fn listen(&self, wish: SubscriptionFilter) {
        let params = SubscriptionsListenRequestParams::new(wish);
        let _ = self.ask::<Value>("subscriptions/listen", &params).await;
    }

    /// Closes the connection: its requests fail, and the server is told.
    pub(super) fn close(&self) {
        let was_open = self.core.in_flight.end();
        if let Some(reader) = self.reader.get() {
            reader.abort();
        }
        self.core.stop_serving();
        match &self.core.transport {
            ClientTransport::Stdio(stdio) => stdio.close(),
            ClientTransport::Http(http) if was_open && http.has_session() => {
                let Ok(here) = tokio::runtime::Handle::try_current() else { return };
                let core = self.core.clone();
                here.spawn(tokio::time::timeout(FAREWELL, async move {
                    if let ClientTransport::Http(http) = &core.transport {
                        http.delete().await;
                    }
                }));
            }
            ClientTransport::Http(_) => {}
        }
    }

    /// Sends a notification during the handshake.
    pub(super) async fn notify(&self, body: Vec<u8>) -> Result<(), RequestFault> {
        self.core.send_one_way(body).await
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        self.close();
    }
}

/// Decodes a result as the type that its request expects.
pub(super) fn decode<T: DeserializeOwned>(result: &RawValue) -> Result<T, RequestFault> {
    serde_json::from_str(result.get()).map_err(|_| RequestFault::Undecodable)
}

impl ClientCore {
    pub(super) fn is_modern(&self) -> bool {
        let agreed = self.agreed.get();
        agreed.is_some_and(|agreed| Era::of(&agreed.about.protocol_version) == Era::Modern)
    }

    /// Sends a request, and waits for its response in the task of its caller.
    pub(super) async fn send(self: &Arc<Self>, request: EncodedRequest) -> Response {
        let mut pending = PendingRequest::new(self, &request)?;
        if let Some(call) = &request.call {
            call.sending.begin().await.map_err(|_| RequestFault::Unsent)?;
        }
        let response = match &self.transport {
            ClientTransport::Stdio(stdio) => {
                let sending = request.call.map(|call| call.sending);
                // The write may wait minutes for the program, so it checks the clearance again.
                match stdio.write(request.body, sending).await {
                    Ok(()) => pending.response().await,
                    Err(_) => Err(RequestFault::Closed),
                }
            }
            ClientTransport::Http(http) => self.exchange(http, request).await,
        };
        pending.is_answered = true;
        response
    }

    /// Sends a message that has no response.
    pub(super) async fn send_one_way(&self, body: Vec<u8>) -> Result<(), RequestFault> {
        match &self.transport {
            ClientTransport::Stdio(stdio) => {
                stdio.write(body, None).await.map_err(|_| RequestFault::Closed)
            }
            ClientTransport::Http(http) => {
                let (kind, headers) = (PostKind::OneWay, HeaderMap::new());
                http.post(Post { kind, body, headers, sending: None }).await.map(drop)
            }
        }
    }

    /// Tells the server that a request is not wanted any more. Over HTTP of 2026-07-28 the closed
    /// connection says so.
    fn cancel(self: &Arc<Self>, id: i64) {
        let Ok(body) = message::cancelled(id, UNWANTED) else { return };
        match &self.transport {
            ClientTransport::Stdio(stdio) => stdio.post(body),
            ClientTransport::Http(_) if self.is_modern() => {}
            ClientTransport::Http(_) => {
                let core = self.clone();
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(FAREWELL, core.send_one_way(body)).await;
                });
            }
        }
    }
}

/// A request that awaits its response; dropping it before cancels the request.
struct PendingRequest<'a> {
    core: &'a Arc<ClientCore>,
    id: i64,
    call: Option<CallContext>,
    mailbox: Option<Arc<Mailbox>>,
    is_cancellable: bool,
    is_answered: bool,
}

impl<'a> PendingRequest<'a> {
    fn new(
        core: &'a Arc<ClientCore>,
        request: &EncodedRequest,
    ) -> Result<PendingRequest<'a>, RequestFault> {
        let (id, call) = (request.id, request.call.clone());
        let mailbox = match core.transport {
            ClientTransport::Stdio(_) => Some(Arc::<Mailbox>::default()),
            ClientTransport::Http(_) => None,
        };
        if !core.in_flight.register(id, call.clone(), mailbox.clone()) {
            return Err(RequestFault::Closed);
        }
        let is_cancellable = request.is_cancellable;
        Ok(PendingRequest { core, id, call, mailbox, is_cancellable, is_answered: false })
    }

    /// Delivers what the server reports, until it responds.
    async fn response(&self) -> Response {
        let Some(mailbox) = &self.mailbox else { return Err(RequestFault::Closed) };
        loop {
            match (mailbox.next().await, &self.call) {
                (Letter::Response(response), _) => return response,
                (Letter::Report(report), Some(call)) => call.deliver(report).await,
                (Letter::Report(_), None) => {}
            }
        }
    }
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        self.core.in_flight.remove(self.id);
        let is_sent = |call: &CallContext| call.sending.stage() == SendStage::Sent;
        if !self.is_answered && self.is_cancellable && self.call.as_ref().is_none_or(is_sent) {
            self.core.cancel(self.id);
        }
    }
}
