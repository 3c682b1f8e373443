//! Notation faults: mistakes in a text of one of our languages.

/// A mistake, where it is, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NotationFault {
    /// JSON pointer into the value that holds the text; empty for the value itself.
    pub pointer: String,
    /// The mistake, in one line.
    pub message: String,
    /// The fix, where one is known.
    pub help: Option<String>,
}

impl NotationFault {
    /// A mistake in the value itself.
    pub fn new(message: impl Into<String>) -> NotationFault {
        NotationFault { pointer: String::new(), message: message.into(), help: None }
    }

    /// Says where inside the value.
    pub fn at(self, pointer: impl Into<String>) -> NotationFault {
        NotationFault { pointer: pointer.into(), ..self }
    }

    /// Says what to do.
    pub fn help(self, help: impl Into<String>) -> NotationFault {
        NotationFault { help: Some(help.into()), ..self }
    }
}
