//! Output capture: keeps a bounded part of a program's output and streams progress to the caller.

use std::time::Duration;

use haft_contract::driver::manifest::OutputStream;
use haft_driver::{Cancel, Link};
use haft_model::{Content, Progress};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::Instant;

use super::command::Command;
use crate::failure::last_words;

/// Shortest time between two progress reports, and between two streamed pieces.
const BETWEEN_NEWS: Duration = Duration::from_secs(1);
const BETWEEN_PIECES: Duration = Duration::from_millis(250);

/// Most bytes of a streamed piece; the rest is in the result.
const LARGEST_PIECE: usize = 16 * 1024;

/// Most bytes kept from the end of stderr.
const LONGEST_ERRORS: usize = 64 * 1024;

/// The captured output of a program.
#[derive(Debug, Default)]
pub(super) struct CapturedOutput {
    /// The beginning of its output.
    pub(super) output: Vec<u8>,
    /// Whether there was more.
    pub(super) cut: bool,
    /// The end of its stderr.
    pub(super) errors: Vec<u8>,
}

/// The capture of a running program's output.
pub(super) struct Listening<'a> {
    command: &'a Command,
    link: &'a Link,
    most: usize,
    said: CapturedOutput,
    /// Fires when the output exceeds the limit.
    flooded: Cancel,
    news: PendingOutput,
}

/// Output and progress that the caller has not received yet.
struct PendingOutput {
    /// Complete lines and the beginning of the next, where output is streamed.
    piece: Vec<u8>,
    last: Vec<u8>,
    lines: u64,
    bytes: u64,
    due: Option<Instant>,
    not_before: Instant,
}

impl<'a> Listening<'a> {
    pub(super) fn new(command: &'a Command, link: &'a Link, most: usize) -> Listening<'a> {
        let wait = if command.streaming { BETWEEN_PIECES } else { BETWEEN_NEWS };
        let not_before = Instant::now() + wait;
        let (piece, last) = (Vec::new(), Vec::new());
        let news = PendingOutput { piece, last, lines: 0, bytes: 0, due: None, not_before };
        Listening {
            command,
            link,
            most,
            said: CapturedOutput::default(),
            flooded: Cancel::new(),
            news,
        }
    }

    /// Fires when the output exceeds the limit.
    pub(super) fn flooded(&self) -> Cancel {
        self.flooded.clone()
    }

    /// The captured output.
    pub(super) fn said(self) -> CapturedOutput {
        self.said
    }

    /// Reads both streams to their end. Output over the limit is read and dropped, so that the
    /// program never blocks.
    pub(super) async fn listen(
        &mut self,
        mut stdout: impl AsyncRead + Unpin,
        mut stderr: impl AsyncRead + Unpin,
    ) {
        let (mut out, mut err) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
        let (mut out_open, mut err_open) = (true, true);
        while out_open || err_open {
            let due = self.news.due;
            tokio::select! {
                length = stdout.read(&mut out), if out_open => match length {
                    Ok(length @ 1..) => self.heard(OutputStream::Stdout, out.get(..length)),
                    Ok(_) | Err(_) => out_open = false,
                },
                length = stderr.read(&mut err), if err_open => match length {
                    Ok(length @ 1..) => self.heard(OutputStream::Stderr, err.get(..length)),
                    Ok(_) | Err(_) => err_open = false,
                },
                () = until(due), if due.is_some() => self.tell().await,
            }
        }
    }

    fn heard(&mut self, from: OutputStream, bytes: Option<&[u8]>) {
        let bytes = bytes.unwrap_or_default();
        let is_from = |wanted: OutputStream| wanted == from || wanted == OutputStream::Mixed;
        if is_from(self.command.stream) {
            self.keep(bytes);
        }
        if is_from(self.command.error_stream) {
            self.said.errors.extend_from_slice(bytes);
            let over = self.said.errors.len().saturating_sub(LONGEST_ERRORS);
            self.said.errors.drain(..over);
        }
        self.news.heard(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.most.saturating_sub(self.said.output.len());
        self.said.output.extend(bytes.iter().take(room));
        if bytes.len() > room {
            self.said.cut = true;
            self.flooded.cancel();
        }
        if self.command.streaming {
            self.news.show(bytes);
        }
    }

    /// Sends the caller what is new.
    async fn tell(&mut self) {
        let wait = if self.command.streaming { BETWEEN_PIECES } else { BETWEEN_NEWS };
        (self.news.due, self.news.not_before) = (None, Instant::now() + wait);
        match self.command.streaming {
            true => {
                if let Some(text) = self.news.whole_lines() {
                    self.link.partial(vec![Content::text(text)]).await;
                }
            }
            false => {
                let message = Some(last_words(&self.news.last)).filter(|text| !text.is_empty());
                let (lines, bytes) = (Some(self.news.lines), Some(self.news.bytes));
                let progress = Progress {
                    message,
                    line_count: lines,
                    bytes_read: bytes,
                    ..Progress::default()
                };
                self.link.progress(progress).await;
            }
        }
    }
}

impl PendingOutput {
    fn heard(&mut self, bytes: &[u8]) {
        self.lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.bytes += bytes.len() as u64;
        self.last.extend_from_slice(bytes);
        let over = self.last.len().saturating_sub(1024);
        self.last.drain(..over);
        self.due = Some(self.not_before);
    }

    /// Adds output to the next piece; what exceeds the piece is left out.
    fn show(&mut self, bytes: &[u8]) {
        let room = LARGEST_PIECE.saturating_sub(self.piece.len());
        self.piece.extend(bytes.iter().take(room));
    }

    /// Takes the complete lines, so that no line is shown in halves.
    fn whole_lines(&mut self) -> Option<String> {
        let end = self.piece.iter().rposition(|byte| *byte == b'\n');
        let full = self.piece.len() >= LARGEST_PIECE;
        let Some(end) = end else {
            // A line longer than a piece is not shown at all.
            if full {
                self.piece.clear();
            }
            return None;
        };
        let rest = self.piece.split_off(end + 1);
        let lines = std::mem::take(&mut self.piece);
        if !full {
            self.piece = rest;
        }
        Some(String::from_utf8_lossy(&lines).into_owned())
    }
}

async fn until(due: Option<Instant>) {
    if let Some(due) = due {
        tokio::time::sleep_until(due).await;
    }
}
