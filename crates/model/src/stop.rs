//! Refusal: why a call goes no further, as a value.

use serde::Serialize;
use serde_json::{Value, json};

use crate::{Cause, Code, RejectedDriver};

/// Why a call stops here. A refusal is an answer, not an exception.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stop {
    /// The code, with its projections.
    pub code: Code,
    /// What happened, in one line.
    pub message: String,
    /// JSON pointer into the input, or `context`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What the caller can do about it, as text that the reader can type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Structured facts behind it, such as schema violations.
    #[serde(skip_serializing_if = "Cause::is_empty")]
    pub cause: Cause,
    /// The drivers that could not serve the call, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<RejectedDriver>,
    /// Whose failure it is, for circuit breakers.
    #[serde(skip)]
    pub blame: Blame,
}

/// Whose failure a refusal is, where its code alone does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Blame {
    /// The code says.
    #[default]
    ByCode,
    /// The request's: it asked for what is not there, such as a host name that does not exist.
    Request,
    /// An earlier attempt's: this one was refused during a backoff and reached no backend.
    Backoff,
}

impl Stop {
    /// A refusal with a code and a sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Stop {
        Stop {
            code,
            message: message.into(),
            field: None,
            help: None,
            cause: Cause::default(),
            rejected: Vec::new(),
            blame: Blame::ByCode,
        }
    }

    /// Names the place in the input.
    pub fn at(self, field: impl Into<String>) -> Stop {
        Stop { field: Some(field.into()), ..self }
    }

    /// Says what to do.
    pub fn help(self, help: impl Into<String>) -> Stop {
        Stop { help: Some(help.into()), ..self }
    }

    /// Adds the drivers that could not serve the call.
    pub fn without(self, rejected: Vec<RejectedDriver>) -> Stop {
        Stop { rejected, ..self }
    }

    /// Adds the structured facts behind the refusal.
    pub fn because(self, cause: impl Into<Cause>) -> Stop {
        Stop { cause: cause.into(), ..self }
    }

    /// Sets whose failure it is, where the code alone would say otherwise.
    pub fn blaming(self, blame: Blame) -> Stop {
        Stop { blame, ..self }
    }

    /// The refusal as JSON, in all three vocabularies.
    pub fn told(&self) -> Value {
        let mut cause = self.cause.to_object();
        if !self.rejected.is_empty() {
            cause.insert("rejected".into(), json!(self.rejected));
        }
        json!({
            "error_code": self.code,
            "error_class": self.code.class(),
            "code": self.code.aip(),
            "aruntime_code": self.code.aruntime(),
            "message": self.message,
            "field": self.field,
            "help": self.help,
            "cause": cause,
        })
    }
}
