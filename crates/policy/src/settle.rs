//! Approval answers: checks who may answer a question, and turns sufficient answers into a permit.

mod bound;
mod count;
mod people;
#[cfg(test)]
mod tests;

use haft_model::{Actor, ApprovalAnswer, ApprovalBinding, Code, Plan, Question, Stop, Timestamp};

pub(crate) use people::in_words;

use crate::{Permit, Rulebook};
use people::Voter;

/// Result of the answers to a question.
#[derive(Debug)]
pub enum Settlement {
    /// Every required approver approved.
    Permitted(Permit),
    /// Further approvers are required; the text says which.
    Open(String),
    /// The call will not run.
    Refused(Stop),
    /// The call differs from the question and needs a new one; the text says why.
    Changed(String),
}

/// Reason why an actor may not answer a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// Reason, in one line.
    pub message: String,
    /// Who may answer, or when it expired.
    pub help: String,
}

/// Checks whether an actor may answer a question: never an agent, an auditor, twice or after
/// expiry, and only an actor that the policies require.
///
/// An approver in the governance's list approves what the list states, and nothing where that is
/// empty. An `admin` with a non-empty list entry, or without one, approves everything; so does an
/// `approver` without an entry.
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
        return object("this question takes no more answers".to_owned(), when);
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

/// Refusal where the governance requires signatures.
const UNSIGNED: &str = "approvals have to be signed here, and this version makes no signatures";

/// Evaluates the answers to a question for the plan that would run now.
///
/// A rejection ends it, then expiry does. The plan has to be the one in question, except for an
/// input that every counted approver substituted. The current rules count the answers: an approver
/// who has lost the right does not count any more.
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
        let message = format!("the question expired at {}", question.expires_at);
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
