//! Line reader: whole lines within a size limit, however the bytes arrive.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Longest line, in bytes; a longer one is skipped, and the connection goes on.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// UTF-8 byte order mark, which some clients put before their first line.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads lines that are not empty.
pub(super) struct LineReader<I> {
    input: BufReader<I>,
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is skipped.
    is_skipping: bool,
}

impl<I: AsyncRead + Unpin> LineReader<I> {
    pub(super) fn new(input: I) -> LineReader<I> {
        LineReader { input: BufReader::new(input), line: Vec::new(), is_skipping: false }
    }

    /// The next line without its end; `None` at the end of the input. A read that was not awaited
    /// to its end loses nothing.
    pub(super) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let piece = self.input.fill_buf().await?;
            if piece.is_empty() {
                // The last line may lack its line end.
                return Ok(self.take().filter(|line| !line.is_empty()));
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let text = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            let taken = text.len() + usize::from(end.is_some());
            if self.line.len() + text.len() > LONGEST_LINE {
                self.is_skipping = true;
                self.line = Vec::new();
            }
            if !self.is_skipping {
                self.line.extend_from_slice(text);
            }
            self.input.consume(taken);
            if end.is_some()
                && let Some(line) = self.take().filter(|line| !line.is_empty())
            {
                return Ok(Some(line));
            }
        }
    }

    /// The line that ended; `None` where it was too long.
    fn take(&mut self) -> Option<Vec<u8>> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_skipping) {
            return None;
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        match line.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => Some(rest.to_vec()),
            None => Some(line),
        }
    }
}

/// The lines of an input as the stdio transport reads them. For fuzzing.
pub async fn read_lines<I: AsyncRead + Unpin>(input: I) -> Vec<Vec<u8>> {
    let mut reader = LineReader::new(input);
    let mut lines = Vec::new();
    while let Ok(Some(line)) = reader.next().await {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[tokio::test]
    async fn lines_arrive_whole_whatever_the_read_sizes() {
        let long = "x".repeat(40_000);
        let text = format!("\u{feff}one\r\n\n{long}\nthree");
        for size in [1, 7, 4096, 100_000] {
            let (mut writer, reader) = tokio::io::duplex(size);
            let bytes = text.clone().into_bytes();
            let written = tokio::spawn(async move { writer.write_all(&bytes).await });
            let lines = read_lines(reader).await;
            written.await.unwrap().unwrap();
            assert_eq!(lines, [b"one".to_vec(), long.clone().into_bytes(), b"three".to_vec()]);
        }
    }

    #[tokio::test]
    async fn line_past_the_limit_is_skipped() {
        let text = format!("one\n{}\nthree\n", "x".repeat(LONGEST_LINE + 1));
        let lines = read_lines(text.as_bytes()).await;
        assert_eq!(lines, [b"one".to_vec(), b"three".to_vec()]);
    }
}
