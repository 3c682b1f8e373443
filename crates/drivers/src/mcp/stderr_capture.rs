//! Stderr capture: keeps the last lines of a program's stderr, bounded in count and length.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};

use crate::web::MOST_BYTES;

/// Size limit of a message in bytes: twice the largest value, for escapes and the envelope.
pub(super) const LONGEST: usize = 2 * MOST_BYTES;

/// How many lines of stderr are kept, and how many characters of each.
const LINES: usize = 20;
const LONGEST_LINE: usize = 500;

/// The last lines of a server's stderr; clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct LastWords(Arc<Mutex<Words>>);

#[derive(Debug, Default)]
struct Words {
    lines: VecDeque<String>,
    /// Why we closed the connection, if we did; takes precedence over stderr.
    ours: Option<String>,
}

impl LastWords {
    fn add(&self, line: &str) {
        let plain = line.trim().chars().filter(|letter| !letter.is_control());
        let short: String = plain.take(LONGEST_LINE).collect();
        if short.is_empty() {
            return;
        }
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if words.lines.len() == LINES {
            words.lines.pop_front();
        }
        words.lines.push_back(short);
    }

    /// Records why we closed the connection.
    pub(super) fn conclude(&self, why: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).ours = Some(why.to_owned());
    }

    /// The last line, as the end of a sentence.
    pub(super) fn last(&self) -> String {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = words.ours.as_ref().or(words.lines.back());
        last.map(|line| format!(": {line}")).unwrap_or_default()
    }

    /// All lines, oldest first.
    pub(super) fn all(&self) -> Vec<String> {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.lines.iter().cloned().collect()
    }

    /// Reads a stream to its end. A line that is too long is split.
    pub(super) async fn hear(&self, said: impl AsyncRead + Unpin) {
        let mut said = BufReader::new(said);
        let mut line = Vec::new();
        loop {
            line.clear();
            let most = (LONGEST_LINE * 4) as u64;
            match (&mut said).take(most).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => self.add(&String::from_utf8_lossy(&line)),
            }
        }
    }
}
