//! Bounded output capture: feeds a program's standard input and keeps the head of its outputs.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{Feed, ProgramOutput};

/// The head of an output.
pub(super) struct OutputHead {
    bytes: Vec<u8>,
    most: usize,
    cut: bool,
}

impl OutputHead {
    /// Keeps at most `most` bytes.
    pub(super) fn new(most: usize) -> OutputHead {
        OutputHead { bytes: Vec::new(), most, cut: false }
    }

    /// Reads to the end and keeps the head, so that a program never blocks on a full pipe.
    pub(super) async fn hear(&mut self, mut from: ProgramOutput) {
        let mut piece = vec![0; 16 * 1024];
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            let room = self.most.saturating_sub(self.bytes.len());
            self.cut |= length > room;
            self.bytes.extend(piece.iter().take(length.min(room)));
        }
    }

    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The last line that is not blank, as the reason of a broken launcher.
    pub(super) fn last_line(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let last = text.lines().rev().find(|line| !line.trim().is_empty());
        last.unwrap_or(super::running::WORDLESS).to_owned()
    }
}

/// Writes standard input. A program need not read it.
pub(super) async fn give(feed: Option<Feed>, stdin: Vec<u8>) {
    if let Some(mut feed) = feed {
        let _ = feed.write_all(&stdin).await;
    }
}
