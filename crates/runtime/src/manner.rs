//! How a caller waits: for people, and for the end.

use haft_driver::{BoxFuture, Cancel};
use haft_model::Question;

use crate::Reply;

/// How one call is made, beyond what it says.
#[derive(Clone, Default)]
pub struct Manner<'m> {
    /// What happens while a question is open.
    pub patience: Patience,
    /// Somebody who can be asked right here, beside the inbox.
    pub prompt: Option<&'m dyn Prompt>,
    /// Fires when the caller wants the call called off.
    pub cancel: Cancel,
    /// The surface it is made on; that of its actor where none is named.
    pub surface: Option<String>,
}

/// What a caller does while a question is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Patience {
    /// Waits for the answer.
    #[default]
    Wait,
    /// Leaves with a pending envelope; the call stays open.
    Leave,
}

/// Somebody at hand who can be asked: a person at a terminal, a form in a client.
pub trait Prompt: Send + Sync {
    /// Asks; no reply means that the inbox has to do.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Reply>>;
}
