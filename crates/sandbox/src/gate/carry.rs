//! Byte relay of the proxy: copies bytes and counts them.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

const PIECE: usize = 32 * 1024;

/// Copies until the source ends; the caller decides whether to shut the other side down.
pub(super) async fn carry(
    mut from: impl AsyncRead + Unpin,
    to: &mut (impl AsyncWrite + Unpin),
    count: &AtomicU64,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let length = from.read(&mut piece).await?;
        let Some(read) = piece.get(..length).filter(|read| !read.is_empty()) else { break };
        to.write_all(read).await?;
        count.fetch_add(length as u64, Ordering::Relaxed);
    }
    Ok(())
}
