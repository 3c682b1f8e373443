//! Calls of tools that go to a program as they are made.
//!
//! The library takes a request through a queue, a task that speaks for the connection and another one
//! that sends, and each may wake a thread that finds nothing to do. A call needs none of that: whoever
//! makes it writes its line, and whoever reads the lines of the program hands it its answer.

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

/// The id of the first call. The library counts its own requests from 0 on, and will not come this far;
/// both are numbers that every server can read.
const FIRST: i64 = 1_000_000_000;

/// What a call is answered with.
pub(super) type ResponseResult = Result<ServerResult, ErrorData>;

/// What a program hears.
type ProgramStdin = Box<dyn AsyncWrite + Send + Unpin>;

/// The way to a program, past the library.
#[derive(Clone)]
pub(super) struct Direct {
    /// None once nothing more is to be said.
    hears: Arc<tokio::sync::Mutex<Option<ProgramStdin>>>,
    calls: Arc<Mutex<Calls>>,
    reports: Reports,
}

/// The calls that have no answer yet.
#[derive(Default)]
struct Calls {
    made: i64,
    waiting: HashMap<i64, oneshot::Sender<ResponseResult>>,
    /// Whether nobody will be answered any more.
    over: bool,
}

/// A call as it goes out.
#[derive(Serialize)]
struct Message {
    jsonrpc: &'static str,
    id: i64,
    method: &'static str,
    params: CallToolRequestParams,
}

/// The answer of a call. Whoever drops it waits for it no more.
pub(super) struct ExpectedResponse {
    /// What the call is known by.
    pub(super) number: i64,
    /// Comes to nothing when the program is gone.
    pub(super) answer: oneshot::Receiver<ResponseResult>,
    direct: Direct,
}

impl ExpectedResponse {
    /// Tells the program that nobody waits for it any more, before anything that is said later.
    pub(super) fn call_off(&self, reason: &str) {
        let (id, reason) = (NumberOrString::Number(self.number), reason.to_owned());
        let over = CancelledNotificationParam::new(Some(id), Some(reason));
        let over = ClientNotification::CancelledNotification(CancelledNotification::new(over));
        let message: TxJsonRpcMessage<RoleClient> = JsonRpcMessage::notification(over);
        match (self.direct.hears.clone().try_lock_owned(), line(&message)) {
            // A program that does not hear it is gone.
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

    /// Where the answer of the next call will be; nowhere once the program is gone.
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

    /// Makes a call: it is put on record, and then its line is written.
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
        // The program may not have read for minutes, or others may speak to it before.
        self.write_checked(&message, Some(going.sending)).await
    }

    /// Whether somebody waits for an answer.
    pub(super) fn is_waiting(&self) -> bool {
        !self.calls().waiting.is_empty()
    }

    /// Hands a call its answer; gives it back where it is not to a call.
    pub(super) fn answered(
        &self,
        id: &RequestId,
        answer: ResponseResult,
    ) -> Option<ResponseResult> {
        let NumberOrString::Number(number) = id else { return Some(answer) };
        let waiting = self.calls().waiting.remove(number);
        match waiting {
            Some(waiting) => {
                // Nobody may wait for it any more.
                drop(waiting.send(answer));
                None
            }
            None => Some(answer),
        }
    }

    /// The program says nothing more.
    pub(super) fn end(&self) {
        let mut calls = self.calls();
        calls.over = true;
        calls.waiting.clear();
    }

    pub(super) fn is_over(&self) -> bool {
        self.calls().over
    }

    /// Nothing more is said to the program.
    pub(super) async fn close(&self) {
        self.hears.lock().await.take();
    }

    /// Says something to the program. Whoever leaves in the middle leaves a whole line all the same.
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

/// Writes what is taken at once, and leaves what is not to a task that does so whoever leaves.
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

/// Writes more of a line. The line of a call is withheld once its clearance has expired; where half of it
/// is written by then, nothing more is said to the program.
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
        // A caller that has left leaves a whole line behind.
        (Some(sending), _) => sending.check_clearance().is_ok(),
    };
    let done = ready!(poll_write_line(end, line, written, may_leave, context));
    if let Err(Unwritten::Torn) = done {
        *hears = None;
    }
    Poll::Ready(done.map_err(io::Error::from))
}
