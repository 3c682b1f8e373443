//! Terminal relay: shows a program's terminal here, and passes the keys typed here to it.
//!
//! It has a terminal of its own, so that it can neither read nor change anything of ours.

use std::os::fd::{AsFd, OwnedFd};

use haft_driver::BoxFuture;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read, write};
use rustix::stdio::{stderr, stdin};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};

/// The byte of Ctrl-C: the person gives up.
const CALLED_OFF: u8 = 3;

/// Relays this terminal to a program's until the program is gone. Returns whether the person
/// cancelled it.
pub(crate) fn attend(other: OwnedFd) -> BoxFuture<'static, bool> {
    Box::pin(async move {
        let attended = tokio::task::spawn_blocking(move || {
            let _raw = Raw::new();
            if let Ok(size) = tcgetwinsize(stdin()) {
                let _ = tcsetwinsize(&other, size);
            }
            // A terminal whose other end is gone cannot be read, and that is its end.
            relayed(&other).unwrap_or(false)
        });
        attended.await.unwrap_or(false)
    })
}

fn relayed(other: &OwnedFd) -> Result<bool, Errno> {
    let mut piece = [0; 4096];
    loop {
        let mut ends =
            [PollFd::from_borrowed_fd(stdin(), PollFlags::IN), PollFd::new(other, PollFlags::IN)];
        match poll(&mut ends, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(fault) => return Err(fault),
        }
        let [typed, said] = ends.map(|end| !end.revents().is_empty());
        if said {
            let length = read(other, &mut piece)?;
            written(stderr(), piece.get(..length).unwrap_or_default())?;
        }
        if typed {
            let length = read(stdin(), &mut piece)?;
            let keys = piece.get(..length).unwrap_or_default();
            if keys.is_empty() || keys.contains(&CALLED_OFF) {
                return Ok(true);
            }
            written(other, keys)?;
        }
    }
}

fn written(to: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let length = write(&to, bytes)?;
        bytes = bytes.get(length..).unwrap_or_default();
    }
    Ok(())
}

/// Our terminal, giving every key at once and showing none; as it was before once this is dropped.
struct Raw(Option<Termios>);

impl Raw {
    fn new() -> Raw {
        let before = tcgetattr(stdin()).ok();
        if let Some(mut raw) = before.clone() {
            raw.make_raw();
            let _ = tcsetattr(stdin(), OptionalActions::Now, &raw);
        }
        Raw(before)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(stdin(), OptionalActions::Now, before);
        }
    }
}
