//! What a program says beside its messages: words for people, within bounds.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};

use crate::web::MOST_BYTES;

/// The longest message, with room around the largest value for escapes and the envelope.
pub(super) const LONGEST: usize = 2 * MOST_BYTES;

/// How many of the last words for people are kept, and how long each may be.
const LINES: usize = 20;
const LONGEST_LINE: usize = 500;

/// What is known of why a server went silent.
#[derive(Clone, Debug, Default)]
pub(super) struct LastWords(Arc<Mutex<Words>>);

#[derive(Debug, Default)]
struct Words {
    lines: VecDeque<String>,
    /// Why we stopped listening, if it was us.
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

    /// Says why we stopped listening.
    pub(super) fn conclude(&self, why: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).ours = Some(why.to_owned());
    }

    /// The last of them, as the end of a sentence.
    pub(super) fn last(&self) -> String {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = words.ours.as_ref().or(words.lines.back());
        last.map(|line| format!(": {line}")).unwrap_or_default()
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<String> {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.lines.iter().cloned().collect()
    }

    /// Hears somebody out. A line without an end is heard in pieces.
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
