//! Answers: who may give one, and when those that were given amount to a permit.

mod bound;
mod count;
mod people;
#[cfg(test)]
mod tests;

use haft_model::{Actor, ApprovalAnswer, ApprovalBinding, Code, Plan, Question, Stop, Timestamp};

pub(crate) use people::in_words;

use crate::{Permit, Rulebook};
use people::Voter;

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

/// Whether somebody may answer a question at all: never an agent, never an auditor whatever the governance
/// lists, never twice, never too late, and only one of those whom policy wants.
///
/// Somebody whom the governance lists approves what it lists for them, and nothing where that list
/// is empty; whoever runs the workspace (`admin`) approves everything else too, and so does an
/// `approver` of whom the governance says nothing.
pub fn may_answer(
    rulebook: &Rulebook,
    question: &Question,
    earlier: &[ApprovalAnswer],
    actor: &Actor,
    now: Timestamp,
) -> Result<(), Objection> {
    let needs = count::needs(question);
    let help = || {
        let who: Vec<String> = needs.iter().map(in_words).collect();
        format!("it needs {}", who.join(", and "))
    };
    let object = |message: String, help: String| Err(Objection { message, help });
    let who = &actor.id;
    if !actor.is_person() {
        return object(format!("`{who}` is no person, and only a person answers"), help());
    }
    if !actor.may_change() {
        return object(format!("`{who}` is an auditor, who changes nothing"), help());
    }
    if *actor.tenant != *question.bound.tenant {
        return object(format!("`{who}` belongs to another tenant"), help());
    }
    if now > question.expires_at {
        let when = format!("it expired at {}", question.expires_at);
        return object("nobody may answer this question any more".to_owned(), when);
    }
    if rulebook.governance.signing_required {
        return object(
            UNSIGNED.to_owned(),
            "`signing.required` in GOVERNANCE.md asks for it".into(),
        );
    }
    let voter = Voter::of_actor(actor);
    let answered = earlier.iter().filter(|answer| answer.question == question.id);
    if answered.map(Voter::of_answer).any(|other| other.is_same_person(&voter)) {
        return object(format!("`{who}` has answered already"), help());
    }
    if !voter.may_approve(rulebook, question) {
        return object(format!("`{who}` may not answer questions about this tool"), help());
    }
    if !needs.iter().any(|needs| voter.counts_for(rulebook, needs, &question.bound)) {
        return object(format!("`{who}` is not among those who have to answer"), help());
    }
    Ok(())
}

/// What is said where the governance wants more than an answer.
const UNSIGNED: &str = "approvals have to be signed here, and this version makes no signatures";

/// What the answers to a question amount to for the plan that would run now.
///
/// A no ends it, then time does. What would run has to be what was asked about, except for an input
/// that everybody who counts put in its place. Answers are counted by the rules of this moment:
/// whoever may no longer approve does not count any more.
pub fn settle(
    rulebook: &Rulebook,
    question: &Question,
    answers: &[ApprovalAnswer],
    plan: &Plan,
    bound: &ApprovalBinding,
    now: Timestamp,
) -> Settlement {
    let answers: Vec<&ApprovalAnswer> = answers
        .iter()
        .filter(|answer| answer.question == question.id && answer.at <= question.expires_at)
        .filter(|answer| Voter::of_answer(answer).is_person())
        .filter(|answer| !Voter::of_answer(answer).only_audits())
        .collect();
    if let Some(no) = answers.iter().find(|answer| !answer.approves) {
        return Settlement::Refused(rejected(no));
    }
    if rulebook.governance.signing_required {
        return Settlement::Refused(Stop::new(Code::PolicyBlocked, UNSIGNED));
    }
    if now > question.expires_at {
        let message = format!("nobody may answer since {}", question.expires_at);
        return Settlement::Refused(Stop::new(Code::ApprovalExpired, message));
    }
    if let Some(why) = bound::difference(question, &answers, plan, bound) {
        return Settlement::Changed(why);
    }
    let approving: Vec<Voter<'_>> = answers
        .iter()
        .filter(|answer| bound::approved_input(question, answer) == &bound.call_input)
        .map(|answer| Voter::of_answer(answer))
        .filter(|voter| voter.may_approve(rulebook, question))
        .collect();
    match count::unmet(rulebook, question, &approving, plan) {
        Some(who) => Settlement::Open(who),
        None => Settlement::Permitted(Permit::of_answers(plan, question)),
    }
}

fn rejected(no: &ApprovalAnswer) -> Stop {
    let message = match no.reason.as_deref() {
        Some(reason) => format!("`{}` said no: {reason}", no.by),
        None => format!("`{}` said no", no.by),
    };
    Stop::new(Code::ApprovalRejected, message)
}
