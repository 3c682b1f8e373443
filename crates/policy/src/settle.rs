//! Answers: who may give one, and when those that were given amount to a permit.

use haft_model::{Actor, Answer, Bound, Plan, Question, Stop, Timestamp};

use crate::{Permit, Rulebook};

/// What the answers to a question amount to.
#[derive(Debug)]
pub enum Settlement {
    /// Everybody who had to said yes.
    Permitted(Permit),
    /// Others have to answer too; in words, who.
    Open(String),
    /// It will not run.
    Refused(Stop),
    /// What would run is not what was asked about: it has to be asked again; in words, why.
    Changed(String),
}

/// Why somebody may not answer a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// In one line.
    pub message: String,
    /// Who could.
    pub help: String,
}

/// Whether somebody may answer a question at all: never an agent, never twice, never too late, and
/// only one of those whom policy wants.
pub fn may_answer(
    rulebook: &Rulebook,
    question: &Question,
    earlier: &[Answer],
    actor: &Actor,
    now: Timestamp,
) -> Result<(), Objection> {
    let _ = (rulebook, question, earlier, actor, now);
    Err(Objection { message: "nobody may answer yet".into(), help: String::new() })
}

/// What the answers to a question amount to for the plan that would run now.
pub fn settle(
    rulebook: &Rulebook,
    question: &Question,
    answers: &[Answer],
    plan: &Plan,
    bound: &Bound,
    now: Timestamp,
) -> Settlement {
    let _ = (rulebook, answers, bound, now);
    Settlement::Permitted(Permit::of_answers(plan, question))
}
