//! Stdio transport: newline-delimited JSON-RPC with a program.
//!
//! Each caller writes its own line to the program's stdin. A line that the pipe takes in part is
//! finished by a task, so that a caller that leaves tears no line.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::JoinHandle;

use super::stderr_capture::{LONGEST, LastWords};
use crate::pipe::{Unwritten, poll_write_line};
use crate::web::Sending;

/// UTF-8 byte order mark, which some programs write first.
const MARK: &[u8] = b"\xEF\xBB\xBF";

type ProgramStdin = Box<dyn AsyncWrite + Send + Unpin>;

/// The stdin of a program; clones share it.
#[derive(Clone)]
pub(super) struct StdioTransport {
    /// `None` once stdin is closed.
    stdin: Arc<Mutex<Option<ProgramStdin>>>,
}

impl StdioTransport {
    pub(super) fn new(stdin: impl AsyncWrite + Send + Unpin + 'static) -> StdioTransport {
        let stdin: ProgramStdin = Box::new(stdin);
        StdioTransport { stdin: Arc::new(Mutex::new(Some(stdin))) }
    }

    /// Writes a message. A caller that leaves meanwhile still writes the whole line.
    pub(super) async fn write(
        &self,
        message: Vec<u8>,
        sending: Option<Arc<Sending>>,
    ) -> io::Result<()> {
        match begin(self.stdin.clone().lock_owned().await, message, sending)? {
            Some(rest) => rest.await.map_err(io::Error::other)?,
            None => Ok(()),
        }
    }

    /// Writes a message that no caller waits for, ahead of later ones where stdin is free.
    pub(super) fn post(&self, message: Vec<u8>) {
        match self.stdin.clone().try_lock_owned() {
            // A failed write means that the program is gone, so the error is dropped.
            Ok(stdin) => drop(begin(stdin, message, None)),
            Err(_) => {
                let transport = self.clone();
                tokio::spawn(async move { transport.write(message, None).await });
            }
        }
    }

    /// Closes the program's stdin, after the line that is being written.
    pub(super) fn close(&self) {
        if let Ok(mut stdin) = self.stdin.try_lock() {
            stdin.take();
        } else if let Ok(here) = tokio::runtime::Handle::try_current() {
            let stdin = self.stdin.clone();
            here.spawn(async move { drop(stdin.lock().await.take()) });
        }
    }
}

/// Writes what stdin takes at once; a task writes the rest, even after cancellation.
fn begin(
    mut stdin: OwnedMutexGuard<Option<ProgramStdin>>,
    mut line: Vec<u8>,
    sending: Option<Arc<Sending>>,
) -> io::Result<Option<JoinHandle<io::Result<()>>>> {
    line.push(b'\n');
    let (mut written, mut context) = (0, Context::from_waker(Waker::noop()));
    if let Poll::Ready(done) =
        poll_write(&mut stdin, &line, &mut written, sending.as_deref(), &mut context)
    {
        return done.map(|()| None);
    }
    Ok(Some(tokio::spawn(async move {
        let write = |context: &mut Context<'_>| {
            poll_write(&mut stdin, &line, &mut written, sending.as_deref(), context)
        };
        poll_fn(write).await
    })))
}

/// Writes more of a line. The line of a call is withheld once its clearance has expired; a line
/// that is half written by then closes stdin.
fn poll_write(
    stdin: &mut Option<ProgramStdin>,
    line: &[u8],
    written: &mut usize,
    sending: Option<&Sending>,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    let Some(pipe) = stdin else { return Poll::Ready(Err(io::ErrorKind::NotConnected.into())) };
    let may_leave = |written| match (sending, written) {
        (None, _) => true,
        (Some(sending), 0) => sending.check().is_ok(),
        // A cancelled call still finishes its line.
        (Some(sending), _) => sending.check_clearance().is_ok(),
    };
    let done = ready!(poll_write_line(pipe, line, written, may_leave, context));
    if let Err(Unwritten::Torn) = done {
        *stdin = None;
    }
    Poll::Ready(done.map_err(io::Error::from))
}

/// The stdout of a program, line by line.
pub(super) struct StdoutLines<R> {
    stdout: BufReader<R>,
    line: Vec<u8>,
    words: LastWords,
}

impl<R: AsyncRead + Unpin> StdoutLines<R> {
    pub(super) fn new(stdout: R, words: LastWords) -> StdoutLines<R> {
        StdoutLines { stdout: BufReader::new(stdout), line: Vec::new(), words }
    }

    /// Reads a line; `None` at end of stream. A line above the size limit ends the stream.
    pub(super) async fn next(&mut self) -> Option<&[u8]> {
        self.line.clear();
        loop {
            let read = self.stdout.fill_buf().await.ok().filter(|read| !read.is_empty())?;
            let end = read.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(read.len(), |end| end + 1);
            self.line.extend_from_slice(read.get(..taken)?);
            self.stdout.consume(taken);
            if self.line.len() > LONGEST {
                self.words.conclude(&format!("it sent a message of more than {LONGEST} bytes"));
                return None;
            }
            if end.is_some() {
                return Some(self.line.strip_prefix(MARK).unwrap_or(&self.line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::io::duplex;

    use super::*;

    #[tokio::test]
    async fn cancelled_write_still_sends_a_whole_line() {
        let (ours, theirs) = duplex(64);
        let transport = StdioTransport::new(ours);
        let message = |text: &str| json!({"name": text.repeat(200)}).to_string().into_bytes();
        let left =
            tokio::time::timeout(std::time::Duration::ZERO, transport.write(message("a"), None));
        assert!(left.await.is_err(), "it takes more than fits");
        let later = tokio::spawn(async move { transport.write(message("b"), None).await });
        let mut lines = BufReader::new(theirs).lines();
        for letter in ["a", "b"] {
            let line: Value =
                serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
            assert_eq!(line["name"], letter.repeat(200));
        }
        later.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn lines_end_at_newline_without_byte_order_mark() {
        let said = "\u{feff}{}\r\n\nhalf a line";
        let mut lines = StdoutLines::new(said.as_bytes(), LastWords::default());
        assert_eq!(lines.next().await, Some(&b"{}\r\n"[..]));
        assert_eq!(lines.next().await, Some(&b"\n"[..]));
        assert_eq!(lines.next().await, None);
    }
}
