//! Stdio transport: newline-delimited JSON, each request in a task of its own.

mod line_reader;

use std::sync::Arc;
use std::time::Duration;

use haft_driver::Cancel;
use haft_model::Actor;
use rmcp::model::{ErrorCode, InitializeRequestParams, ServerJsonRpcMessage, ServerResult};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::change_feed::ChangeFeed;
use super::client_session::ClientSession;
use super::dispatch::Dispatcher;
use super::exchange::{Exchange, ExchangeStep};
use super::in_flight::{InFlightRequest, InFlightRequests};
use super::listing::LastSeenList;
use super::message::{ClientMessage, NotificationFrame, RequestFrame};
use super::protocol::{self, SelfContained};
use super::requester::{Lifecycle, RequestOrigin, Requester};
use crate::AppState;
use line_reader::LineReader;
#[doc(hidden)]
pub use line_reader::read_lines;

/// Most lines buffered for a slow client.
const MOST_WAITING: usize = 64;

/// How long running requests may take once the client closed its end.
const FAREWELL: Duration = Duration::from_secs(5);

/// Serves stdio until the client closes it.
pub async fn stdio(desk: Arc<AppState>, actor: Actor) -> Result<(), String> {
    lines(desk, actor, tokio::io::stdin(), tokio::io::stdout()).await
}

/// Serves newline-delimited JSON for an authenticated actor, until the client closes it.
pub async fn lines(
    desk: Arc<AppState>,
    actor: Actor,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), String> {
    let (sender, written) = mpsc::channel(MOST_WAITING);
    let writing = tokio::spawn(write_lines(output, written));
    let closing = Cancel::new();
    let mut connection = StdioConnection {
        dispatcher: Dispatcher { desk, closing: closing.clone() },
        actor: Arc::new(actor),
        session: None,
        in_flight: InFlightRequests::default(),
        client: LineSender(sender),
        running: JoinSet::new(),
    };
    let read = connection.serve(LineReader::new(input)).await;
    closing.cancel();
    connection.end().await;
    let wrote = writing.await.map_err(|fault| fault.to_string());
    read.and(wrote?).map_err(|fault| fault.to_string())
}

/// The way to the client.
#[derive(Clone)]
struct LineSender(mpsc::Sender<Vec<u8>>);

impl LineSender {
    /// Sends a message; false where the client is gone.
    async fn send(&self, message: &ServerJsonRpcMessage) -> bool {
        let Ok(mut line) = serde_json::to_vec(message) else { return true };
        line.push(b'\n');
        self.0.send(line).await.is_ok()
    }
}

async fn write_lines(
    mut output: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<Vec<u8>>,
) -> std::io::Result<()> {
    while let Some(line) = lines.recv().await {
        output.write_all(&line).await?;
        output.flush().await?;
    }
    Ok(())
}

/// A connection with one client.
struct StdioConnection {
    dispatcher: Dispatcher,
    actor: Arc<Actor>,
    /// The session of a client of 2025, from its `initialize` on.
    session: Option<Arc<ClientSession>>,
    in_flight: InFlightRequests,
    client: LineSender,
    running: JoinSet<()>,
}

impl StdioConnection {
    /// Reads messages until the client closes its end, or stops reading.
    async fn serve(
        &mut self,
        mut input: LineReader<impl AsyncRead + Unpin>,
    ) -> std::io::Result<()> {
        loop {
            let client = self.client.clone();
            let line = tokio::select! {
                line = input.next() => line?,
                () = client.0.closed() => None,
            };
            let Some(line) = line else { return Ok(()) };
            while self.running.try_join_next().is_some() {}
            match ClientMessage::read(&line) {
                Ok(ClientMessage::Request(frame)) => self.request(frame).await,
                Ok(ClientMessage::Notification(told)) => self.notification(&told),
                Ok(ClientMessage::Response(answer)) => {
                    if let Some(session) = &self.session {
                        session.take_answer(answer);
                    }
                }
                // An answer to a line that is not JSON may come back as another such line.
                Err(malformed) if malformed.code == ErrorCode::PARSE_ERROR => {}
                Err(malformed) => {
                    self.client.send(&malformed.answer()).await;
                }
            }
        }
    }

    async fn request(&mut self, frame: RequestFrame) {
        let is_self_contained = protocol::named_version(&frame.meta).is_some();
        let lifecycle = match &self.session {
            _ if frame.is_handshake() => return self.initialize(&frame).await,
            Some(session) if !is_self_contained && frame.method != "server/discover" => {
                Ok(Lifecycle::Session(session.clone()))
            }
            None if frame.method == "ping" && !is_self_contained => {
                let pong = ServerJsonRpcMessage::response(ServerResult::empty(()), frame.id);
                self.client.send(&pong).await;
                return;
            }
            Some(_) | None => SelfContained::read(&frame.meta).map(Lifecycle::SelfContained),
        };
        match lifecycle {
            Ok(lifecycle) => self.begin(frame, lifecycle),
            Err(error) => {
                self.client.send(&ServerJsonRpcMessage::error(error, Some(frame.id))).await;
            }
        }
    }

    /// Opens the session of a client of 2025.
    async fn initialize(&mut self, frame: &RequestFrame) {
        let answer = match frame.read_params::<InitializeRequestParams>() {
            Ok(opening) => {
                let result = protocol::initialize(&opening);
                let session = ClientSession::new(opening, result.protocol_version.clone());
                self.session = Some(Arc::new(session));
                ServerJsonRpcMessage::response(
                    ServerResult::InitializeResult(result),
                    frame.id.clone(),
                )
            }
            Err(error) => ServerJsonRpcMessage::error(error, Some(frame.id.clone())),
        };
        self.client.send(&answer).await;
    }

    fn begin(&mut self, mut frame: RequestFrame, lifecycle: Lifecycle) {
        let request = self.in_flight.add(&frame.id);
        let origin = RequestOrigin::default();
        let by = Requester::new(&mut frame, self.actor.clone(), lifecycle, origin);
        let exchange = self.dispatcher.begin(frame, by.with_cancel(request.cancel.clone()));
        self.running.spawn(run(exchange, request, self.client.clone()));
    }

    fn notification(&mut self, told: &NotificationFrame) {
        if let Some(request) = told.cancelled_request() {
            self.in_flight.cancel(&request);
        }
        if told.method == "notifications/initialized"
            && let Some(session) = &self.session
            && !session.is_ready()
        {
            session.set_ready();
            self.feed(session.clone());
        }
    }

    /// Sends changes to a client of 2025, until the connection closes.
    fn feed(&mut self, session: Arc<ClientSession>) {
        let seen = LastSeenList::new(&self.dispatcher.desk, self.actor.clone(), None);
        let mut feed = ChangeFeed::new(&self.dispatcher.desk, seen);
        let (client, closing) = (self.client.clone(), self.dispatcher.closing.clone());
        self.running.spawn(async move {
            loop {
                let told = tokio::select! {
                    told = feed.next_for(&session) => told,
                    () = closing.cancelled() => None,
                };
                let Some(told) = told else { break };
                if !client.send(&ServerJsonRpcMessage::notification(told)).await {
                    break;
                }
            }
        });
    }

    /// Lets running requests end, then cancels the rest.
    async fn end(mut self) {
        if let Some(session) = &self.session {
            session.hang_up();
        }
        let all = async { while self.running.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(FAREWELL, all).await;
        self.running.shutdown().await;
    }
}

/// Answers one request. A cancelled one gets no response.
async fn run(mut exchange: Exchange, request: InFlightRequest, client: LineSender) {
    loop {
        let is_sent = match exchange.next().await {
            ExchangeStep::Message(message) => client.send(&message).await,
            ExchangeStep::Response(response) => {
                if !request.cancel.is_cancelled() {
                    client.send(&response).await;
                }
                return;
            }
        };
        if !is_sent {
            return;
        }
    }
}
