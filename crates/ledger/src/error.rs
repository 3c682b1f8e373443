//! Store errors: refused guards, and faults of opening, writing and reading.

use crate::Guard;

/// Why the store could not write or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A guard does not hold: an earlier fact forbids this one.
    #[error("{}", .0.objection())]
    Forbidden(Guard),
    /// The store cannot be opened.
    #[error("cannot open the store `{place}`: {cause}")]
    Unopenable {
        /// Path of the store.
        place: String,
        /// Cause, in one line.
        cause: String,
    },
    /// The write failed: nothing of the entry was stored.
    #[error("cannot write to the store: {cause}")]
    Unwritable {
        /// Cause, in one line.
        cause: String,
    },
    /// Reading failed.
    #[error("cannot read from the store: {cause}")]
    Unreadable {
        /// Cause, in one line.
        cause: String,
    },
    /// A stored entry is damaged.
    #[error("the store is damaged at entry {seq}: {what}")]
    Damaged {
        /// Number of the entry.
        seq: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl Guard {
    /// The message for a guard that does not hold.
    pub fn objection(&self) -> String {
        match self {
            Guard::Fence(token) => {
                format!("another process took this call over; token {token} is not the last")
            }
            Guard::Unanswered { question, .. } => {
                format!("`{question}` is not open, or was answered by the same person already")
            }
            Guard::Free => "another process holds this call".to_owned(),
            Guard::NotEnded => "the call has ended".to_owned(),
            Guard::NewDeclaration { tool, .. } => format!("`{tool}` is declared already"),
            Guard::Stands(id) => format!("`{id}` is no standing answer that is in force"),
            Guard::Issued(id) => format!("`{id}` is no token that is in force"),
            Guard::Intent { .. } => "another call carries out the same intent".to_owned(),
            Guard::Unchanged(_) => "something else was put on record about the call".to_owned(),
        }
    }
}
