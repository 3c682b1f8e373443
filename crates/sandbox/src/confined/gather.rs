//! Everything that a program says until it is gone.

use std::process::ExitStatus;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::Child;

use super::{End, Ended, Refused};
use crate::launcher::Report;

/// How much the launcher may have to say.
const LONGEST_REPORT: usize = 64 * 1024;

/// What was heard of a program.
pub(super) struct Gathered {
    stdout: Kept,
    stderr: Kept,
    reports: Vec<u8>,
    status: Option<ExitStatus>,
    confined: bool,
}

/// The beginning of an output.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    cut: bool,
}

/// The ends of a process that is under way.
pub(super) struct Ends {
    pub(super) child: Child,
    pub(super) feed: pipe::Sender,
    pub(super) stdin: Vec<u8>,
    pub(super) control: Option<UnixStream>,
    pub(super) most: usize,
}

impl Gathered {
    /// What is known of a program that did not let itself be heard to the end.
    pub(super) fn nothing() -> Gathered {
        let (stdout, stderr) = (Kept::default(), Kept::default());
        Gathered { stdout, stderr, reports: Vec::new(), status: None, confined: true }
    }

    /// How it ended. Whoever ended it knows better than the process does.
    pub(super) fn ended(self, by: Option<End>) -> Result<Ended, Refused> {
        let mut layers = vec!["none".to_owned()];
        let mut own = self.status.filter(|_| !self.confined).map(end_of);
        for report in self.reports.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice(report) {
                Ok(Report::Unenforced(why)) => return Err(Refused::Unenforced(why)),
                Ok(Report::NoProgram(why)) => return Err(Refused::Program(why)),
                Ok(Report::Inside(enforced)) => layers = enforced,
                Ok(Report::Exited(code)) => own = Some(End::Exited(code)),
                Ok(Report::Killed(signal)) => own = Some(End::Killed(signal)),
                Err(fault) => return Err(Refused::Broken(fault.to_string())),
            }
        }
        let Some(end) = by.or(own) else {
            return Err(Refused::Broken(self.stderr.last_line()));
        };
        Ok(Ended {
            end,
            truncated: self.stdout.cut || self.stderr.cut,
            stdout: self.stdout.bytes,
            stderr: self.stderr.bytes,
            layers,
        })
    }
}

impl Kept {
    fn last_line(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let last = text.lines().rev().find(|line| !line.trim().is_empty());
        last.unwrap_or("it ended without a word").to_owned()
    }
}

fn end_of(status: ExitStatus) -> End {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, signal) => End::Killed(signal.unwrap_or_default()),
    }
}

/// Feeds a process and listens to it until it is gone.
pub(super) async fn gather(ends: Ends) -> Result<Gathered, Refused> {
    let Ends { mut child, feed, stdin, control, most } = ends;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let confined = control.is_some();
    let group = child.id();
    let waiting = async {
        let status = child.wait().await;
        if !confined {
            super::start::end_group(group);
        }
        status
    };
    let (stdout, stderr, reports, status, ()) = tokio::join!(
        beginning(out, most),
        beginning(err, most),
        beginning(control, LONGEST_REPORT),
        waiting,
        give(feed, stdin),
    );
    let status = status.map_err(|fault| Refused::Broken(fault.to_string()))?;
    Ok(Gathered { stdout, stderr, reports: reports.bytes, status: Some(status), confined })
}

/// Reads to the end and keeps the beginning, so that whoever talks too much is never stuck.
async fn beginning(from: Option<impl AsyncRead + Unpin>, most: usize) -> Kept {
    let mut kept = Kept::default();
    let Some(mut from) = from else { return kept };
    let mut piece = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        let room = most.saturating_sub(kept.bytes.len());
        kept.cut |= length > room;
        kept.bytes.extend(piece.iter().take(length.min(room)));
    }
    kept
}

/// A program need not read what it is given.
async fn give(mut feed: pipe::Sender, stdin: Vec<u8>) {
    let _ = feed.write_all(&stdin).await;
}
