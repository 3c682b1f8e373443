//! Checked write of one line to the pipe of a program: each write is preceded by a check.
//!
//! A full pipe may take a line minutes later, and in pieces. An incomplete line is no message, so
//! the check holds for every piece but the last byte.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

/// Why a line was not written.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// The check failed before the first byte.
    Withheld,
    /// The check failed in the middle of the line: the pipe must be closed, or the next line
    /// completes it.
    Torn,
    /// The program closed its end of the pipe.
    Broken(io::Error),
}

impl From<Unwritten> for io::Error {
    fn from(unwritten: Unwritten) -> io::Error {
        match unwritten {
            Unwritten::Withheld | Unwritten::Torn => io::Error::other("the line was withheld"),
            Unwritten::Broken(fault) => fault,
        }
    }
}

/// Writes the rest of a line, while `check` of the bytes written so far passes.
pub(crate) fn poll_write_line(
    pipe: &mut (impl AsyncWrite + Unpin),
    line: &[u8],
    written: &mut usize,
    check: impl Fn(usize) -> bool,
    context: &mut Context<'_>,
) -> Poll<Result<(), Unwritten>> {
    loop {
        let left = line.get(*written..).unwrap_or_default();
        if left.is_empty() {
            return Pin::new(pipe).poll_flush(context).map_err(Unwritten::Broken);
        }
        if left.len() > 1 && !check(*written) {
            let torn = *written > 0;
            return Poll::Ready(Err(if torn { Unwritten::Torn } else { Unwritten::Withheld }));
        }
        match ready!(Pin::new(&mut *pipe).poll_write(context, left)) {
            Ok(0) => return Poll::Ready(Err(Unwritten::Broken(io::ErrorKind::WriteZero.into()))),
            Ok(taken) => *written += taken,
            Err(fault) => return Poll::Ready(Err(Unwritten::Broken(fault))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::io::{AsyncReadExt as _, duplex};

    use super::*;

    fn poll(
        pipe: &mut (impl AsyncWrite + Unpin),
        written: &mut usize,
        may: bool,
    ) -> Poll<Result<(), Unwritten>> {
        let mut context = Context::from_waker(Waker::noop());
        poll_write_line(pipe, b"12345678\n", written, |_| may, &mut context)
    }

    #[tokio::test]
    async fn full_pipe_takes_no_byte_after_failed_check() {
        let (mut ours, mut theirs) = duplex(4);
        let mut filled = 0;
        assert!(poll(&mut ours, &mut filled, true).is_pending());
        let mut written = 0;
        assert!(poll(&mut ours, &mut written, true).is_pending());
        theirs.read_exact(&mut [0; 4]).await.unwrap();
        assert!(matches!(
            poll(&mut ours, &mut written, false),
            Poll::Ready(Err(Unwritten::Withheld))
        ));
        assert_eq!(written, 0);
    }

    #[tokio::test]
    async fn line_in_pieces_is_torn_by_failed_check() {
        let (mut ours, mut theirs) = duplex(4);
        let mut written = 0;
        assert!(poll(&mut ours, &mut written, true).is_pending());
        theirs.read_exact(&mut [0; 4]).await.unwrap();
        assert!(matches!(poll(&mut ours, &mut written, false), Poll::Ready(Err(Unwritten::Torn))));
        assert_eq!(written, 4);
    }

    #[tokio::test]
    async fn last_byte_is_written_without_check() {
        let (mut ours, mut theirs) = duplex(8);
        let mut written = 0;
        assert!(poll(&mut ours, &mut written, true).is_pending());
        theirs.read_exact(&mut [0; 8]).await.unwrap();
        assert!(matches!(poll(&mut ours, &mut written, false), Poll::Ready(Ok(()))));
    }
}
