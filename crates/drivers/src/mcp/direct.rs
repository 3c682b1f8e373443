//! Direct path for `tools/call` over stdio: bypasses the MCP library's queue.
//!
//! The library passes each request through a queue and two tasks, and each hop may wake an idle
//! thread. Here the call writes its own line to the program's stdin, and the reader of stdout hands
//! it the response.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, CancelledNotification, CancelledNotificationParam, ClientNotification,
    ErrorData, JsonRpcMessage, NumberOrString, ProgressToken, RequestId, RequestMetaObject,
    ServerResult,
};
use rmcp::service::TxJsonRpcMessage;
use serde::Serialize;
use tokio::io::AsyncWrite;
use tokio::sync::{OwnedMutexGuard, oneshot};
use tokio::task::JoinHandle;

use super::wire::{Going, Reports};
use crate::pipe::{Unwritten, poll_write_line};
use crate::web::Sending;

/// The id of the first call. The library counts its own ids from 0 and never gets this far; every
/// server can represent both.
const FIRST: i64 = 1_000_000_000;

/// The response of a call: a result or a JSON-RPC error.
pub(super) type ResponseResult = Result<ServerResult, ErrorData>;

/// The stdin of a program.
type ProgramStdin = Box<dyn AsyncWrite + Send + Unpin>;

/// The direct path to a program; clones share it.
#[derive(Clone)]
pub(super) struct Direct {
    /// `None` once stdin is closed.
    hears: Arc<tokio::sync::Mutex<Option<ProgramStdin>>>,
    calls: Arc<Mutex<Calls>>,
    reports: Reports,
}

/// The calls that await a response.
#[derive(Default)]
struct Calls {
    made: i64,
    waiting: HashMap<i64, oneshot::Sender<ResponseResult>>,
    /// Whether stdout has ended, so that no response can arrive.
    over: bool,
}

/// A `tools/call` request as JSON-RPC.
#[derive(Serialize)]
struct Message {
    jsonrpc: &'static str,
    id: i64,
    method: &'static str,
    params: CallToolRequestParams,
}

/// A response that a call awaits; dropping it unregisters the call.
pub(super) struct ExpectedResponse {
    /// The JSON-RPC id of the call.
    pub(super) number: i64,
    /// Fails when the program's stdout ends.
    pub(super) answer: oneshot::Receiver<ResponseResult>,
    direct: Direct,
}

impl ExpectedResponse {
    /// Sends the cancellation notice, ahead of later messages where stdin is free.
    pub(super) fn call_off(&self, reason: &str) {
        let (id, reason) = (NumberOrString::Number(self.number), reason.to_owned());
        let over = CancelledNotificationParam::new(Some(id), Some(reason));
        let over = ClientNotification::CancelledNotification(CancelledNotification::new(over));
        let message: TxJsonRpcMessage<RoleClient> = JsonRpcMessage::notification(over);
        match (self.direct.hears.clone().try_lock_owned(), line(&message)) {
            // A failed write means that the program is gone, so the error is dropped.
            (Ok(hears), Ok(line)) => drop(begin(hears, line, None)),
            _ => {
                let direct = self.direct.clone();
                tokio::spawn(async move { direct.write(&message).await });
            }
        }
    }
}

impl Drop for ExpectedResponse {
    fn drop(&mut self) {
        self.direct.calls().waiting.remove(&self.number);
    }
}

impl Direct {
    pub(super) fn new(hears: impl AsyncWrite + Send + Unpin + 'static, reports: Reports) -> Direct {
        let end: ProgramStdin = Box::new(hears);
        let hears = Arc::new(tokio::sync::Mutex::new(Some(end)));
        Direct { hears, calls: Arc::default(), reports }
    }

    /// Registers the next call; `None` once the program is gone.
    pub(super) fn expect(&self) -> Option<ExpectedResponse> {
        let mut calls = self.calls();
        if calls.over {
            return None;
        }
        let (sender, answer) = oneshot::channel();
        let number = FIRST + calls.made;
        calls.made += 1;
        calls.waiting.insert(number, sender);
        Some(ExpectedResponse { number, answer, direct: self.clone() })
    }

    /// Makes a call: records the submission, then writes the line.
    pub(super) async fn call(
        &self,
        number: i64,
        mut params: CallToolRequestParams,
        mut meta: RequestMetaObject,
        going: Going,
    ) -> io::Result<()> {
        let token = ProgressToken(NumberOrString::Number(number));
        meta.set_progress_token(token.clone());
        params.meta = Some(meta);
        self.reports.listen(token, &going);
        let message = Message { jsonrpc: "2.0", id: number, method: "tools/call", params };
        going.sending.begin().await.map_err(|why| io::Error::other(why.to_string()))?;
        // The write may wait minutes for the program, so each write checks the clearance again.
        self.write_checked(&message, Some(going.sending)).await
    }

    /// Whether a call awaits a response.
    pub(super) fn is_waiting(&self) -> bool {
        !self.calls().waiting.is_empty()
    }

    /// Hands a call its response; returns a response that belongs to no call.
    pub(super) fn answered(
        &self,
        id: &RequestId,
        answer: ResponseResult,
    ) -> Option<ResponseResult> {
        let NumberOrString::Number(number) = id else { return Some(answer) };
        let waiting = self.calls().waiting.remove(number);
        match waiting {
            Some(waiting) => {
                // The call may have been dropped meanwhile.
                drop(waiting.send(answer));
                None
            }
            None => Some(answer),
        }
    }

    /// Fails all waiting calls: the program's stdout ended.
    pub(super) fn end(&self) {
        let mut calls = self.calls();
        calls.over = true;
        calls.waiting.clear();
    }

    pub(super) fn is_over(&self) -> bool {
        self.calls().over
    }

    /// Closes the program's stdin.
    pub(super) async fn close(&self) {
        self.hears.lock().await.take();
    }

    /// Writes a message. A cancelled write still writes the whole line.
    pub(super) async fn write<M: Serialize>(&self, message: &M) -> io::Result<()> {
        self.write_checked(message, None).await
    }

    async fn write_checked<M: Serialize>(
        &self,
        message: &M,
        sending: Option<Arc<Sending>>,
    ) -> io::Result<()> {
        let line = line(message)?;
        match begin(self.hears.clone().lock_owned().await, line, sending)? {
            Some(rest) => rest.await.map_err(io::Error::other)?,
            None => Ok(()),
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn line<M: Serialize>(message: &M) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Writes what stdin takes at once; a task writes the rest, even after cancellation.
fn begin(
    mut hears: OwnedMutexGuard<Option<ProgramStdin>>,
    line: Vec<u8>,
    sending: Option<Arc<Sending>>,
) -> io::Result<Option<JoinHandle<io::Result<()>>>> {
    let (mut written, mut context) = (0, Context::from_waker(Waker::noop()));
    if let Poll::Ready(done) =
        poll_write(&mut hears, &line, &mut written, sending.as_deref(), &mut context)
    {
        return done.map(|()| None);
    }
    Ok(Some(tokio::spawn(async move {
        let write = |context: &mut Context<'_>| {
            poll_write(&mut hears, &line, &mut written, sending.as_deref(), context)
        };
        poll_fn(write).await
    })))
}

/// Writes more of a line. The line of a call is withheld once its clearance has expired; a line
/// that is half written by then closes stdin.
fn poll_write(
    hears: &mut Option<ProgramStdin>,
    line: &[u8],
    written: &mut usize,
    sending: Option<&Sending>,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    let Some(end) = hears else { return Poll::Ready(Err(io::ErrorKind::NotConnected.into())) };
    let may_leave = |written| match (sending, written) {
        (None, _) => true,
        (Some(sending), 0) => sending.check().is_ok(),
        // A cancelled call still finishes its line.
        (Some(sending), _) => sending.check_clearance().is_ok(),
    };
    let done = ready!(poll_write_line(end, line, written, may_leave, context));
    if let Err(Unwritten::Torn) = done {
        *hears = None;
    }
    Poll::Ready(done.map_err(io::Error::from))
}
