//! The line to a launcher, from our end: everything that it tells until it is gone.

use std::io;
use std::os::unix::net;

use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

use super::running::Told;
use super::{End, Refused};
use crate::launcher::Report;

/// How much the launcher may have to say.
const LONGEST: usize = 256 * 1024;

/// Somebody who listens to the line, whether or not anybody asks what was heard.
#[derive(Debug)]
pub(super) struct Listening(JoinHandle<Result<Told, Refused>>);

impl Listening {
    pub(super) fn to(line: net::UnixStream) -> io::Result<Listening> {
        line.set_nonblocking(true)?;
        let line = UnixStream::from_std(line)?;
        Ok(Listening(tokio::spawn(async move { told(&heard(line).await) })))
    }

    /// Waits until the line ends. Must not be asked again once it answered.
    pub(super) async fn told(&mut self) -> Result<Told, Refused> {
        let told = (&mut self.0).await;
        told.unwrap_or_else(|fault| Err(Refused::Broken(fault.to_string())))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn heard(line: UnixStream) -> Vec<u8> {
    let mut text = Vec::new();
    let _ = line.take(LONGEST as u64).read_to_end(&mut text).await;
    text
}

/// What the reports come to.
fn told(reports: &[u8]) -> Result<Told, Refused> {
    let mut told = Told::default();
    for report in reports.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice(report) {
            Ok(Report::Unenforced(why)) => return Err(Refused::Unenforced(why)),
            Ok(Report::NoProgram(why)) => return Err(Refused::Program(why)),
            Ok(Report::Inside(enforced)) => told.layers = enforced,
            Ok(Report::Exited(code)) => told.end = Some(End::Exited(code)),
            Ok(Report::Killed(signal)) => told.end = Some(End::Killed(signal)),
            Err(fault) => return Err(Refused::Broken(fault.to_string())),
        }
    }
    Ok(told)
}
