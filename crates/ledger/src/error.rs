//! What can go wrong with a store.

use crate::Guard;

/// Why something could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An earlier fact forbids this one.
    #[error("{}", .0.objection())]
    Forbidden(Guard),
    /// The store cannot be opened.
    #[error("cannot open the store `{place}`: {cause}")]
    Unopenable {
        /// Where.
        place: String,
        /// Why.
        cause: String,
    },
    /// Writing failed: nothing of the entry was kept.
    #[error("cannot write to the store: {cause}")]
    Unwritable {
        /// Why.
        cause: String,
    },
    /// Reading failed.
    #[error("cannot read from the store: {cause}")]
    Unreadable {
        /// Why.
        cause: String,
    },
    /// What is stored is not what was stored.
    #[error("the store is damaged at entry {seq}: {what}")]
    Damaged {
        /// Which entry.
        seq: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl Guard {
    /// What to say when it does not hold.
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
